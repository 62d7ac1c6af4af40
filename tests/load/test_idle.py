"""Lanes of idle connections, without connections."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.load.idle import IdleLane, IdleWork
from broker_lite.load.lane import Request
from broker_lite.load.recorder import Recorder
from broker_lite.wire import DecodeError, messages
from tests.load.lanes import MS, SECOND, TOPIC, Spoken, recorder

VERSION = 12


class Case:
    """One connection that asks every second, and fetches every 0.4 s or never."""

    def __init__(
        self, fetch_every_ns: int | None = None, version: int = VERSION, *, topic: bool = True
    ) -> None:
        self.metadata, self.fetches = recorder(), recorder()
        self.work = IdleWork(
            topic=TOPIC,
            ends={3: 7},
            client_id="me",
            ask_every_ns=SECOND,
            fetch_every_ns=fetch_every_ns,
            metadata=self.metadata,
            fetches=self.fetches,
            asks_for_topic=topic,
        )
        self.lane = IdleLane(self.work, 3)
        self.lane.speak_to(Spoken(version))

    def take(self) -> Request:
        due_ns = self.lane.next_due_ns()
        assert due_ns is not None
        return self.lane.take(due_ns, 1)


def metadata_answer(code: int = 0, *, partitions: int = 2, version: int = VERSION) -> memoryview:
    make = messages.MetadataResponse
    told = [
        make.MetadataResponsePartition(partition_index=number, leader_id=1)
        for number in range(partitions)
    ]
    topic = make.MetadataResponseTopic(name=TOPIC, error_code=code, partitions=told)
    return memoryview(b"\0" + make.encode(make(topics=[topic]), version))


def fetch_answer(code: int = 0, *, throttle_ms: int = 0) -> memoryview:
    make = messages.FetchResponse
    partition = make.PartitionData(
        partition_index=3, error_code=code, high_watermark=-1 if code else 50
    )
    topic = make.FetchableTopicResponse(topic=TOPIC, partitions=[partition])
    value = make(responses=[topic], throttle_time_ms=throttle_ms)
    return memoryview(b"\0" + make.encode(value, VERSION))


def test_each_has_a_turn_of_its_own() -> None:
    case = Case()
    case.lane.begin(SECOND, 0.25)
    assert [case.take().due_ns for _ in range(3)] == [
        SECOND + SECOND // 4 + n * SECOND for n in range(3)
    ]


def test_metadata_of_the_topic_is_asked_for() -> None:
    case = Case()
    case.lane.begin(SECOND, 0)
    frame = b"".join(case.take().parts)
    assert frame[4:8] == b"\x00\x03\x00\x0c"
    assert TOPIC.encode() in frame


@pytest.mark.parametrize("version", [4, 9, VERSION])
def test_or_that_of_the_brokers_only(version: int) -> None:
    case = Case(version=version, topic=False)
    case.lane.begin(SECOND, 0)
    body = bytes(case.take().parts[1])
    asked, _ = messages.MetadataRequest.decode(body, version)
    assert asked.topics == []


def test_an_answer_counts_from_when_it_was_due() -> None:
    case = Case()
    case.lane.begin(SECOND, 0)
    for now_ns in (SECOND + 5 * MS, 2 * SECOND + 9 * MS):
        case.lane.on_answer(case.take(), metadata_answer(), now_ns)
    case.metadata.finish(4 * SECOND)
    assert case.metadata.measured.requests == 2
    assert case.metadata.measured.latencies_ns.max == 9 * MS
    assert case.work.partitions_told == 2


def test_an_answer_of_another_size_is_read_again() -> None:
    case = Case()
    case.lane.begin(SECOND, 0)
    case.lane.on_answer(case.take(), metadata_answer(), SECOND)
    case.lane.on_answer(case.take(), metadata_answer(partitions=5), SECOND)
    assert case.work.partitions_told == 5
    refusal = metadata_answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partitions=0)
    case.lane.on_answer(case.take(), refusal, SECOND)
    assert case.metadata.errors == {"UNKNOWN_TOPIC_OR_PARTITION": 1}
    with pytest.raises(DecodeError):
        case.lane.on_answer(case.take(), metadata_answer()[:20], SECOND)


def test_fetches_come_between() -> None:
    case = Case(fetch_every_ns=SECOND * 2 // 5)
    case.lane.begin(0, 0)
    apis = [bytes(case.take().parts[0])[5] for _ in range(6)]
    assert apis == [3, 1, 1, 1, 3, 1]


def test_a_fetch_goes_on_at_the_end() -> None:
    case = Case(fetch_every_ns=SECOND)
    case.lane.begin(SECOND, 0)
    case.take()
    case.lane.on_answer(case.take(), fetch_answer(throttle_ms=3000), SECOND + MS)
    assert case.work.ends == {3: 50}
    assert (case.metadata.throttled_ms, case.lane.next_due_ns()) == (3000, 4 * SECOND + MS)
    case.take()
    case.lane.on_answer(case.take(), fetch_answer(ErrorCode.OFFSET_OUT_OF_RANGE), 2 * SECOND)
    assert case.metadata.errors == {"OFFSET_OUT_OF_RANGE": 1}
    assert case.work.ends == {3: 50}
    case.fetches.finish(3 * SECOND)
    assert case.fetches.measured.requests == 1


def test_the_requests_of_a_lost_connection_count() -> None:
    case = Case(fetch_every_ns=SECOND)
    case.lane.begin(SECOND, 0)
    lost = [case.take(), case.take()]
    case.lane.on_lost(lost, 3 * SECOND)
    counted: list[Recorder] = [case.metadata, case.fetches]
    assert [each.measured.latencies_ns.max for each in counted] == [2 * SECOND] * 2


def test_what_was_due_and_never_sent_counts() -> None:
    case = Case(fetch_every_ns=SECOND // 2)
    case.lane.begin(SECOND, 0)
    case.take()
    case.lane.end(4 * SECOND)
    assert (case.metadata.unsent, case.fetches.unsent) == (2, 6)
    assert case.metadata.measured.latencies_ns.max == 2 * SECOND
    assert case.fetches.measured.latencies_ns.max == 3 * SECOND
    again = Case()
    again.lane.begin(SECOND, 0.5)
    again.lane.end(SECOND)
    assert again.metadata.unsent == 0

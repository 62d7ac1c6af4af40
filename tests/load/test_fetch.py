"""Lanes of consumers, without connections: positions, loops, errors."""

from collections.abc import Sequence

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.load.fetch import FetchLane, FetchWork
from broker_lite.load.lane import RETRY_AFTER_NS, Request
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import DecodeError, messages
from tests.load.lanes import MS, SECOND, TOPIC, Spoken, recorder

VERSION = 12
END = 100
OLD_MESSAGE = bytes((0, 0, 0, 0, 0, 0, 0, 9)) + bytes((0, 0, 0, 14)) + bytes(4) + b"\x00" + bytes(9)
Partition = messages.FetchResponse.PartitionData


def work_of(
    counts: Recorder,
    positions: dict[int, int],
    *,
    per_second: float | None = None,
    loops: bool = False,
) -> FetchWork:
    schedule = Schedule(per_second)
    schedule.begin(SECOND)
    return FetchWork(
        topic=TOPIC,
        positions=positions,
        max_bytes=1000,
        loops=loops,
        client_id="me",
        schedule=schedule,
        recorder=counts,
    )


def lanes_of(work: FetchWork, shares: Sequence[Sequence[int]]) -> list[FetchLane]:
    lanes = [work.make_lane() for _ in shares]
    for lane in lanes:
        lane.speak_to(Spoken(VERSION))
    work.assign(shares)
    return lanes


def batch(base_offset: int, records: int) -> bytes:
    builder = BatchBuilder(base_offset=base_offset)
    builder.append_values(0, [b"value"] * records)
    return builder.build()


def partition(index: int, records: bytes = b"", *, error_code: int = 0, start: int = 0) -> object:
    return Partition(
        partition_index=index,
        error_code=error_code,
        high_watermark=END,
        log_start_offset=start,
        records=records,
    )


def answer(*partitions: object, error_code: int = 0, throttle_ms: int = 0) -> memoryview:
    make = messages.FetchResponse
    topics = [make.FetchableTopicResponse(topic=TOPIC, partitions=list(partitions))]
    value = make(
        error_code=error_code,
        responses=topics if partitions else [],
        throttle_time_ms=throttle_ms,
    )
    return memoryview(b"\x00" + make.encode(value, VERSION))


def asked(request: Request) -> list[tuple[int, int]]:
    """The partitions of a request with their offsets."""
    body, _ = messages.FetchRequest.decode(bytes(request.parts[1]), VERSION)
    assert (body.max_bytes, body.session_epoch) == (1000, -1)
    return [
        (each.partition, each.fetch_offset) for topic in body.topics for each in topic.partitions
    ]


def test_the_next_request_goes_on_behind_the_answer() -> None:
    counts = recorder()
    work = work_of(counts, {0: 5, 1: 7})
    (lane,) = lanes_of(work, [[0, 1]])
    request = lane.take(SECOND, 1)
    assert asked(request) == [(1, 7), (0, 5)]
    data = batch(5, 3) + batch(8, 4)
    lane.on_answer(request, answer(partition(0, data + batch(12, 5)[:-1])), SECOND + MS)
    assert asked(lane.take(SECOND, 2)) == [(0, 12), (1, 7)]
    counts.finish(2 * SECOND)
    measured = counts.measured
    assert (measured.requests, measured.records, measured.bytes) == (1, 7, len(data))
    assert measured.latencies_ns.max == MS


def test_records_before_the_position_do_not_count() -> None:
    counts = recorder()
    work = work_of(counts, {0: 7})
    (lane,) = lanes_of(work, [[0]])
    lane.on_answer(lane.take(SECOND, 1), answer(partition(0, batch(5, 4))), SECOND)
    assert counts.accepted_records == 2
    assert work.positions == {0: 9}


@pytest.mark.parametrize(("loops", "position"), [(True, 3), (False, END)])
def test_the_end_of_a_partition(loops: bool, position: int) -> None:
    work = work_of(recorder(), {0: 90}, loops=loops)
    (lane,) = lanes_of(work, [[0]])
    lane.on_answer(lane.take(SECOND, 1), answer(partition(0, batch(90, 10), start=3)), SECOND)
    assert work.positions == {0: position}


def test_a_message_of_an_older_format_is_one_record() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0})
    (lane,) = lanes_of(work, [[0]])
    lane.on_answer(lane.take(SECOND, 1), answer(partition(0, OLD_MESSAGE)), SECOND)
    assert (work.positions[0], counts.accepted_records) == (10, 1)


def test_requests_of_all_lanes_are_one_schedule() -> None:
    work = work_of(recorder(), {0: 0, 1: 0}, per_second=4)
    first, idle, second = lanes_of(work, [[0], [], [1]])
    assert idle.next_due_ns() is None
    dues_ns = [lane.take(9 * SECOND, 1).due_ns for lane in (first, first, second, second)]
    quarter = SECOND // 4
    assert dues_ns == [SECOND, SECOND + 2 * quarter, SECOND + quarter, SECOND + 3 * quarter]


def test_an_error_is_asked_again_after_a_pause() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0}, per_second=1)
    (lane,) = lanes_of(work, [[0]])
    request = lane.take(SECOND, 1)
    refusal = partition(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    lane.on_answer(request, answer(refusal), SECOND + MS)
    assert work.is_stale
    assert lane.next_due_ns() == SECOND + MS + RETRY_AFTER_NS
    assert lane.take(2 * SECOND, 2).due_ns == request.due_ns
    assert (counts.errors, counts.retries) == ({"NOT_LEADER_OR_FOLLOWER": 1},) * 2


def test_an_answer_with_an_error_and_with_records_counts() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0, 1: 0})
    (lane,) = lanes_of(work, [[0, 1]])
    refusal = partition(1, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    lane.on_answer(lane.take(SECOND, 1), answer(partition(0, batch(0, 2)), refusal), SECOND)
    assert (counts.accepted_records, counts.retries) == (2, {})


def test_an_error_of_the_whole_answer() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0})
    (lane,) = lanes_of(work, [[0]])
    lane.on_answer(lane.take(SECOND, 1), answer(error_code=ErrorCode.INVALID_REQUEST), SECOND)
    assert (counts.errors, counts.retries) == ({"INVALID_REQUEST": 1},) * 2


def test_an_offset_that_is_gone_is_asked_for() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0, 1: 5})
    (lane,) = lanes_of(work, [[0, 1]])
    refusal = partition(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    lane.on_answer(lane.take(SECOND, 1), answer(refusal), SECOND)
    assert work.is_stale
    assert work.missing() == [0]
    assert asked(lane.take(SECOND, 2)) == [(1, 5)]
    lane.on_answer(lane.take(SECOND, 3), answer(partition(0, batch(0, 1))), SECOND)  # of before
    work.set_starts({0: 40})
    assert work.missing() == []
    assert sorted(asked(lane.take(SECOND, 4))) == [(0, 40), (1, 5)]


def test_all_offsets_are_gone() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0})
    (lane,) = lanes_of(work, [[0]])
    refusal = partition(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    lane.on_answer(lane.take(SECOND, 1), answer(refusal), SECOND)
    request = lane.take(2 * SECOND, 2)
    assert asked(request) == []
    lane.on_answer(request, answer(), 2 * SECOND)
    assert lane.next_due_ns() == 2 * SECOND + RETRY_AFTER_NS
    assert counts.retries == {"OFFSET_OUT_OF_RANGE": 2}
    assert counts.errors == {"OFFSET_OUT_OF_RANGE": 1}


def test_a_lost_request_keeps_its_time() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0}, per_second=1)
    (lane,) = lanes_of(work, [[0]])
    lane.on_lost([lane.take(SECOND, 1)], 3 * SECOND)
    assert lane.next_due_ns() == SECOND
    assert lane.take(3 * SECOND, 2).due_ns == SECOND
    assert lane.take(3 * SECOND, 3).due_ns == 2 * SECOND


def test_what_never_left_counts_until_the_end() -> None:
    counts = recorder()
    work = work_of(counts, {0: 0}, per_second=2)
    (lane,) = lanes_of(work, [[0]])
    lane.on_lost([lane.take(SECOND, 1)], SECOND)
    counts.finish(4 * SECOND)
    work.end(4 * SECOND)
    assert counts.unsent == counts.measured.latencies_ns.count == 6
    assert counts.measured.latencies_ns.max == 3 * SECOND


def test_bytes_that_are_no_batch() -> None:
    work = work_of(recorder(), {0: 0})
    (lane,) = lanes_of(work, [[0]])
    with pytest.raises(DecodeError, match="records of a fetch"):
        lane.on_answer(lane.take(SECOND, 1), answer(partition(0, bytes(100))), SECOND)


@pytest.mark.parametrize(("per_second", "max_wait_ms"), [(None, 500), (10, 0)])
def test_a_request_that_is_due_by_a_rate_does_not_wait(
    per_second: float | None, max_wait_ms: int
) -> None:
    (lane,) = lanes_of(work_of(recorder(), {0: 0}, per_second=per_second), [[0]])
    body = bytes(lane.take(SECOND, 1).parts[1])
    value, _ = messages.FetchRequest.decode(body, VERSION)
    assert value.max_wait_ms == max_wait_ms


def test_a_fetch_is_always_answered() -> None:
    work = work_of(recorder(), {0: 0})
    (lane,) = lanes_of(work, [[0]])
    lane.on_sent(lane.take(SECOND, 1), SECOND)
    assert lane.is_answered


def test_a_broker_that_throttles() -> None:
    counts = recorder()
    (lane,) = lanes_of(work_of(counts, {0: 5}), [[0]])
    lane.on_answer(lane.take(SECOND, 1), answer(partition(0), throttle_ms=250), SECOND)
    assert lane.next_due_ns() == SECOND + 250 * MS
    assert (counts.throttles, counts.throttled_ms) == (1, 250)


class Watching:
    """Notes what it sees."""

    is_waiting = True

    def __init__(self) -> None:
        self.seen: list[tuple[bytes, int, int]] = []

    def see(self, batch: memoryview, records: int, now_ns: int) -> None:
        self.seen.append((bytes(batch), records, now_ns))


def test_a_watcher_sees_each_batch() -> None:
    counts = recorder()
    watcher = Watching()
    work = work_of(counts, {0: 5})
    work.watcher = watcher
    (lane,) = lanes_of(work, [[0]])
    batches = [batch(2, 3), batch(5, 4), batch(9, 1)]
    request = lane.take(SECOND, 1)
    lane.on_answer(request, answer(partition(0, b"".join(batches))), 2 * SECOND)
    # the first one ends before the position
    assert watcher.seen == [(batches[1], 4, 2 * SECOND), (batches[2], 1, 2 * SECOND)]
    work.unanswered(lane.take(2 * SECOND, 2), 3 * SECOND)
    work.end(3 * SECOND)
    counts.finish(3 * SECOND)
    assert counts.measured.latencies_ns.count == counts.unanswered == 0
    assert work.reads_on
    watcher.is_waiting = False
    assert not work.reads_on

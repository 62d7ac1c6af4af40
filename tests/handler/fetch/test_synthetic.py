"""F-16: a synthetic topic seen by its clients, from request bytes to response bytes."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import InvalidConfig
from broker_lite.log.canned.run import make_run
from broker_lite.log.canned.runs import RunPlace
from broker_lite.log.read import seen_offsets
from broker_lite.record.batch import ATTRIBUTES_OFFSET, RecordBatch
from broker_lite.record.canned import START_MS, CannedShape
from broker_lite.record.control import EndTransactionMarker
from broker_lite.record.crc import crc32c
from broker_lite.record.framing import walk
from broker_lite.wire import messages
from tests.handler.data_apis import (
    DELETE_RECORDS,
    FETCH,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    TOPIC,
    Handlers,
    fetched,
    outcome,
    size,
    wanted,
)
from tests.handler.fetch.old_client_requests import fetch as fetch_as_old_client
from tests.handler.fetch.old_client_requests import stand_in_for_3_9
from tests.handler.fetch.test_long_poll import waiting_request, waits_until
from tests.log.batches import batch, record

BATCH = batch(record())
END = 10_000
RUN_RECORDS = CannedShape(1000, 1000).record_count
REFUSED = "The topic is synthetic (broker.lite.load.mode)"
TOPIC_RESOURCE = 2


def alter(handlers: Handlers, topic: str = TOPIC, **parameters: object) -> None:
    texts = {name.replace("_", "."): str(value) for name, value in parameters.items()}
    changed = {f"broker.lite.load.{name}": text for name, text in texts.items()}
    handlers.cluster.alter_configs([(TOPIC_RESOURCE, topic, changed)])


@pytest.fixture
def synthetic(handlers: Handlers) -> Handlers:
    """Topic "t" has 10,000 synthetic records in each partition."""
    alter(handlers, mode="synthetic", end=END)
    return handlers


def batches_of(answer: Any) -> list[RecordBatch]:
    """The whole batches of an answer, with their checksums checked."""
    data = memoryview(bytes(answer.records or b""))
    found = [RecordBatch(data, e.position, e.size_bytes) for e in walk(data)]
    for each in found:
        end = each.position + each.size_bytes
        assert each.crc == crc32c(data[each.position + ATTRIBUTES_OFFSET : end])
    return found


def offsets(answer: Any) -> tuple[int, int, int]:
    return answer.high_watermark, answer.last_stable_offset, answer.log_start_offset


@pytest.mark.parametrize("version", range(4, 19))
def test_f16_every_version(synthetic: Handlers, version: int) -> None:
    synthetic.elect(3)
    request = synthetic.fetch_request(wanted(offset=1500, max_bytes=2_500_000))
    (answer,) = fetched(synthetic.now(FETCH, version, request))
    assert answer.error_code == 0
    assert offsets(answer) == (END, END, 0 if version >= 5 else -1)
    assert size(answer) == 2_500_000  # F-11: the range ends inside a batch
    assert answer.aborted_transactions is None
    assert [(b.base_offset, b.leader_epoch) for b in batches_of(answer)] == [(1000, 3), (2000, 3)]


def test_f06_isolation_levels(synthetic: Handlers) -> None:
    for level, aborted in ((0, None), (1, [])):
        (answer,) = synthetic.fetch(wanted(), isolation_level=level)
        assert answer.aborted_transactions == aborted
        assert offsets(answer) == (END, END, 0)
        assert size(answer) > 1_000_000


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({"offset": END + 1}, 1, id="F-05 above the log end"),
        pytest.param({"offset": -1}, 1, id="F-05 below the log start"),
        pytest.param({"max_bytes": -1}, -1, id="F-05 negative size"),
        pytest.param({"current_leader_epoch": 1}, 75, id="F-20 newer epoch"),
        pytest.param({"last_fetched_epoch": 1}, 1, id="F-21 unknown epoch"),
    ],
)
def test_f05_errors(synthetic: Handlers, fields: dict[str, int], code: int) -> None:
    (answer,) = synthetic.fetch(wanted(**fields))
    assert (answer.error_code, size(answer)) == (code, 0)
    assert offsets(answer) == (-1, -1, -1)


def test_f21_only_behind_the_end_a_log_diverges(synthetic: Handlers) -> None:
    synthetic.elect(2)
    (answer,) = synthetic.fetch(wanted(offset=500, last_fetched_epoch=1))
    assert size(answer) > 1_000_000
    (answer,) = synthetic.fetch(wanted(offset=END + 5, last_fetched_epoch=1))
    diverging = answer.diverging_epoch
    assert (diverging.epoch, diverging.end_offset, size(answer)) == (1, END, 0)


def test_f11_the_limit_of_the_request_and_the_first_batch(synthetic: Handlers) -> None:
    whole = batches_of(synthetic.fetch(wanted())[0])[0].size_bytes
    first, second = synthetic.fetch(wanted(0, max_bytes=10), wanted(1, max_bytes=10))
    assert (size(first), size(second)) == (whole, 0)
    first, second = synthetic.fetch(wanted(0), wanted(1), max_bytes=whole + 1000)
    assert (size(first), size(second)) == (whole + 1000, 0)
    first, second = synthetic.fetch(wanted(0, max_bytes=whole), wanted(1), max_bytes=whole * 2)
    assert (size(first), size(second)) == (whole, whole)
    assert offsets(second) == (END, END, 0)


@pytest.mark.parametrize(
    ("max_bytes", "aborted"),
    [
        pytest.param(10, None, id="F-06 a fragment is dropped"),
        pytest.param(0, [], id="F-06 no try"),
    ],
)
def test_f06_the_list_beside_no_records(
    synthetic: Handlers, max_bytes: int, aborted: list[object] | None
) -> None:
    handlers = synthetic
    handlers.create("stored")
    handlers.produce(BATCH, topic="stored")
    request = handlers.fetch_request(wanted(), topic="stored", isolation_level=1)
    request.topics += handlers.fetch_request(wanted(max_bytes=max_bytes)).topics
    _, answer = fetched(handlers.now(FETCH, 12, request))
    assert (size(answer), answer.aborted_transactions) == (0, aborted)
    # as of a stored one
    (one,) = handlers.produce(batch(record(value=bytes(500))), topic="stored")
    assert one.error_code == 0
    request.topics[1] = handlers.fetch_request(
        wanted(offset=1, max_bytes=max_bytes), topic="stored"
    ).topics[0]
    request.topics[0] = handlers.fetch_request(wanted(0, 9999)).topics[0]
    _, same = fetched(handlers.now(FETCH, 12, request))
    assert (size(same), same.aborted_transactions) == (0, aborted)


def test_f16_synthetic_and_stored_partitions_in_one_answer(synthetic: Handlers) -> None:
    synthetic.create("stored")
    synthetic.produce(BATCH, topic="stored")
    request = synthetic.fetch_request(wanted(0), wanted(1))
    request.topics += synthetic.fetch_request(wanted(), topic="stored").topics
    answers = fetched(synthetic.now(FETCH, 12, request))
    assert [size(each) for each in answers] == [1_048_576, 1_048_576, len(BATCH)]


def test_f43_f44_a_session(synthetic: Handlers) -> None:
    request = synthetic.fetch_request(wanted(0, 9000), wanted(1, END), session_epoch=0)
    begun = synthetic.now(FETCH, 12, request)
    assert [size(each) > 0 for each in fetched(begun)] == [True, False]
    fields = {"session_id": begun.session_id, "session_epoch": 1}
    again = synthetic.now(FETCH, 12, synthetic.fetch_request(**fields))
    assert [each.partition_index for each in fetched(again)] == [0]
    fields["session_epoch"] = 2
    drained = synthetic.now(FETCH, 12, synthetic.fetch_request(wanted(0, END), **fields))
    assert fetched(drained) == []
    alter(synthetic, end=END + 1000)
    fields["session_epoch"] = 3
    more = fetched(synthetic.now(FETCH, 12, synthetic.fetch_request(**fields)))
    assert [(each.high_watermark, size(each) > 0) for each in more] == [(END + 1000, True)] * 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda handlers: alter(handlers, end=END + 1), id="the end moves"),
        pytest.param(lambda handlers: alter(handlers, mode="stored"), id="stored again"),
    ],
)
async def test_f31_a_wait_at_the_end(synthetic: Handlers, step: Callable[[Handlers], None]) -> None:
    request = waiting_request(synthetic, wanted(0, END))
    (answer,) = await waits_until(synthetic, request, lambda: step(synthetic))
    is_stored = synthetic.log().visibility.synthetic is None
    assert (answer.error_code, size(answer) > 0) == ((1, False) if is_stored else (0, True))


@pytest.mark.anyio
async def test_f31_min_bytes_above_what_is_left(synthetic: Handlers) -> None:
    request = waiting_request(synthetic, wanted(0, END - 1, 50 << 20), min_bytes=2_500_000)
    steps = [lambda: alter(synthetic, end=END + 1000), lambda: alter(synthetic, end=END + 2000)]
    (answer,) = await waits_until(synthetic, request, *steps)
    assert size(answer) > 2_500_000


@pytest.mark.anyio
async def test_f16_a_fetch_waits_until_the_run_is_made(synthetic: Handlers) -> None:
    runs = synthetic.cluster.canned_runs
    started: list[RunPlace] = []
    runs.start = started.append
    request = waiting_request(synthetic, wanted(0), wanted(1))

    def make() -> None:
        (place,) = started
        runs.ended(place, make_run(place.shape))

    answers = await waits_until(synthetic, request, make)
    assert [size(each) for each in answers] == [1_048_576, 1_048_576]


@pytest.mark.anyio
async def test_f16_without_a_wait_the_answer_is_empty_until_then(synthetic: Handlers) -> None:
    synthetic.cluster.canned_runs.start = lambda place: None
    request = synthetic.fetch_request(wanted(0))
    with anyio.fail_after(10):
        (answer,) = fetched(await synthetic.answer(FETCH, 12, request))
    assert (answer.error_code, size(answer)) == (0, 0)
    assert offsets(answer) == (END, END, 0)


def listed(handlers: Handlers, timestamp: int, version: int = 9) -> tuple[int, int, int]:
    request = messages.ListOffsetsRequest
    asked = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = request.ListOffsetsTopic(name=TOPIC, partitions=[asked])
    value = request(replica_id=-1, topics=[topic])
    (answer,) = handlers.now(LIST_OFFSETS, version, value).topics[0].partitions
    assert answer.error_code == 0
    return answer.timestamp, answer.offset, answer.leader_epoch


def test_f71_f72_offsets_by_time(synthetic: Handlers) -> None:
    synthetic.elect(2)
    last = RUN_RECORDS - 1
    assert listed(synthetic, -1) == (-1, END, 2)
    assert listed(synthetic, -2) == listed(synthetic, -4) == (-1, 0, 2)
    assert listed(synthetic, -3) == (START_MS + last, last, 2)
    assert listed(synthetic, -5) == (-1, -1, -1)
    assert listed(synthetic, START_MS + 1234) == (START_MS + 1234, 1234, 2)
    assert listed(synthetic, 0) == (START_MS, 0, 2)
    assert listed(synthetic, START_MS + last + 1) == (-1, -1, -1)


@pytest.mark.parametrize(("epoch", "found"), [(0, (0, END)), (2, (2, END)), (3, (-1, -1))])
def test_f81_epochs(synthetic: Handlers, epoch: int, found: tuple[int, int]) -> None:
    synthetic.elect(2)
    request = messages.OffsetForLeaderEpochRequest
    asked = request.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=-1, leader_epoch=epoch
    )
    topic = request.OffsetForLeaderTopic(topic=TOPIC, partitions=[asked])
    response = synthetic.now(OFFSET_FOR_LEADER_EPOCH, 4, request(replica_id=-1, topics=[topic]))
    (answer,) = response.topics[0].partitions
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, *found)


def test_f16_nothing_is_produced_or_deleted(synthetic: Handlers) -> None:
    (answer,) = synthetic.produce(BATCH)
    code, base_offset, *_, message = outcome(answer)
    assert (code, base_offset) == (44, -1)
    assert message is not None
    assert message.startswith(REFUSED)
    request = messages.DeleteRecordsRequest
    topic = request.DeleteRecordsTopic(
        name=TOPIC, partitions=[request.DeleteRecordsPartition(partition_index=0, offset=5)]
    )
    response = synthetic.now(DELETE_RECORDS, 2, request(topics=[topic], timeout_ms=1000))
    (refused,) = response.topics[0].partitions
    assert (refused.error_code, refused.low_watermark) == (44, -1)
    assert synthetic.log().log_end_offset == 0


def test_f16_what_was_stored_is_there_again(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    alter(handlers, mode="synthetic", end=END)
    assert offsets(handlers.fetch(wanted(0, END))[0]) == (END, END, 0)
    assert seen_offsets(handlers.log()) == (0, END, END, END)
    # the broker itself may still write, as for a transaction that was open
    handlers.log().append_control(1, 0, EndTransactionMarker(True, 0), now_ms=0)
    alter(handlers, mode="stored")
    (answer,) = handlers.fetch(wanted())
    assert offsets(answer) == (2, 2, 0)
    assert [each.base_offset for each in batches_of(answer)] == [0, 1]
    assert handlers.produce(BATCH)[0].error_code == 0
    assert seen_offsets(handlers.log()) == (0, 3, 3, 3)


def test_f16_at_creation(handlers: Handlers) -> None:
    handlers.create("made", broker_lite_load_mode="synthetic", broker_lite_load_keys="10")
    (answer,) = handlers.fetch(wanted(), topic="made")
    assert answer.high_watermark == 1 << 62
    config = ("broker.lite.load.mode", "synthetic"), ("broker.lite.load.keys", "900000")
    with pytest.raises(InvalidConfig):
        handlers.cluster.plan_topic(NewTopic("other", configs=config))


def test_f16_a_topic_of_kafka_is_always_stored(handlers: Handlers) -> None:
    handlers.create("__consumer_offsets", broker_lite_load_mode="synthetic")
    assert handlers.log(topic="__consumer_offsets").visibility.synthetic is None


def test_f16_partitions_share_a_run_and_it_goes_with_them(synthetic: Handlers) -> None:
    runs = synthetic.cluster.canned_runs
    for answer in synthetic.fetch(wanted(0), wanted(1)):
        assert size(answer) > 1_000_000
    assert 8_000_000 < runs.size_bytes < 9_000_000
    alter(synthetic, mode="stored")
    assert runs.size_bytes == 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("version", "codec", "code"),
    [(0, "none", 35), (3, "none", 35), (4, "none", 0), (9, "lz4", 0), (9, "zstd", 76)],
)
async def test_f16_old_clients(handlers: Handlers, version: int, codec: str, code: int) -> None:
    handlers = stand_in_for_3_9(handlers)
    alter(handlers, mode="synthetic", compression=codec)
    answer = await fetch_as_old_client(handlers, version)
    assert answer.error_code == code
    assert (size(answer) > 0) == (code == 0)


def test_f74_the_oldest_list_offsets(handlers: Handlers) -> None:
    handlers = stand_in_for_3_9(handlers)
    alter(handlers, mode="synthetic", end=END)
    request = messages.ListOffsetsRequest
    for timestamp, found in ((-1, [END, 0]), (-2, [0])):
        asked = request.ListOffsetsPartition(
            partition_index=0, timestamp=timestamp, max_num_offsets=5
        )
        topic = request.ListOffsetsTopic(name=TOPIC, partitions=[asked])
        response = handlers.now(LIST_OFFSETS, 0, request(replica_id=-1, topics=[topic]))
        (answer,) = response.topics[0].partitions
        assert answer.old_style_offsets == found

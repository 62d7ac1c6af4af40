"""Produce from request bytes to response bytes, over a real cluster: V-01 to V-14, V-60, V-9x."""

import gzip
import os
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.produce import api as produce
from broker_lite.handler.produce.append import INLINE_BYTES_MAX
from broker_lite.log.log import Log
from broker_lite.wire import messages
from broker_lite.wire.primitives import DecodeError
from tests.handler.data_apis import PRODUCE, TOPIC, Handlers, outcome, plain, size, wanted
from tests.log.batches import batch, record, records

GOOD = batch(record())
TRANSACTIONAL = 0x10
GZIP, ZSTD = 1, 4


@pytest.mark.parametrize("version", range(3, 14))
def test_v01_every_version_appends_and_answers(handlers: Handlers, version: int) -> None:
    (answer,) = handlers.produce(GOOD, version=version)
    assert answer.error_code == 0
    assert answer.base_offset == 0
    assert answer.log_append_time_ms == -1
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert handlers.log().log_end_offset == 1


def test_v01_what_is_not_a_request_closes(handlers: Handlers) -> None:
    waiting = produce.handle(handlers.context, handlers.request(PRODUCE, 9, b"\0\1"))
    with pytest.raises(DecodeError):
        waiting.send(None)  # type: ignore[attr-defined]


def test_v02_null_records_are_answered_with_87(handlers: Handlers) -> None:
    (answer,) = handlers.produce(None)
    assert outcome(answer) == plain(87)


def test_v03_the_last_entry_of_a_partition_counts(handlers: Handlers) -> None:
    answers = handlers.produce(
        batch(record(value=b"first")), batch(records(3), count=3), partitions=[0, 0]
    )
    assert [each.base_offset for each in answers] == [0]
    assert handlers.log().log_end_offset == 3


def test_v03_the_refusal_of_an_earlier_entry_stays(handlers: Handlers) -> None:
    (answer,) = handlers.produce(b"", GOOD, partitions=[0, 0])
    assert answer.error_code == 87
    assert handlers.log().log_end_offset == 1


def test_v04_acks_are_not_looked_at_when_nothing_is_left(handlers: Handlers) -> None:
    (answer,) = handlers.produce(b"", acks=7)
    assert answer.error_code == 87


@pytest.mark.parametrize(
    ("bad", "code", "message"),
    [
        pytest.param(
            batch(record(), length=13),
            2,
            "Record size 13 is less than the minimum record overhead (14)",
            id="V-06 length",
        ),
        pytest.param(
            batch(record(), magic=3), 2, "Invalid magic found in record: 3", id="V-06 magic"
        ),
        pytest.param(batch(record(), length=0x7FFFFFF4), -1, None, id="V-06 overflow"),
        pytest.param(
            batch(b"")[:40][:8] + struct.pack(">i", 28) + batch(b"")[12:40], -1, None, id="V-21"
        ),
    ],
)
def test_v06_a_malformed_first_header_fails_all(
    handlers: Handlers, bad: bytes, code: int, message: str | None
) -> None:
    answers = handlers.produce(GOOD, bad)
    assert [outcome(each) for each in answers] == [(code, -1, -1, -1, 0, message)] * 2
    assert handlers.log().log_end_offset == 0


def test_v07_a_transactional_batch_without_id_fails_all(handlers: Handlers) -> None:
    answers = handlers.produce(GOOD, batch(record(), attributes=TRANSACTIONAL), topic="unknown")
    assert [outcome(each) for each in answers] == [plain(53)] * 2


def test_v08_unknown_topics_and_partitions(handlers: Handlers) -> None:
    assert [outcome(a) for a in handlers.produce(GOOD, GOOD, partitions=[2, -1])] == [plain(3)] * 2
    assert outcome(handlers.produce(GOOD, topic="unknown")[0]) == plain(3)
    assert outcome(handlers.produce(GOOD, version=13, topic_id=b"\7" * 16)[0]) == plain(100)
    assert outcome(handlers.produce(GOOD, version=13, partitions=[9])[0]) == plain(3)


def test_v09_before_version_7_zstd_is_refused(handlers: Handlers) -> None:
    zstd = batch(record(), attributes=ZSTD)
    assert outcome(handlers.produce(zstd, version=6)[0])[0] == 76
    # a codec id that does not exist fails the whole request there
    odd = batch(record(), attributes=5)
    assert [a.error_code for a in handlers.produce(GOOD, odd, version=6)] == [-1, -1]
    assert handlers.log().log_end_offset == 0


def test_v10_transactional_batches_of_two_producers_fail_all(handlers: Handlers) -> None:
    sets = [batch(record(), attributes=TRANSACTIONAL, producer=(number, 0, 0)) for number in (1, 2)]
    answers = handlers.produce(*sets, transactional_id="x")
    text = "Transactional records contained more than one producer ID"
    assert [outcome(each) for each in answers] == [(49, -1, -1, -1, 0, text)] * 2


@pytest.mark.parametrize("acks", [2, -2])
def test_v11_other_acks_are_refused(handlers: Handlers, acks: int) -> None:
    answers = handlers.produce(GOOD, b"", acks=acks)
    assert [outcome(each) for each in answers] == [plain(21), plain(87)]
    assert handlers.log().log_end_offset == 0


def test_c53_only_acks_of_all_need_replicas_in_sync(handlers: Handlers) -> None:
    handlers.log().lacks_replicas = True
    codes = [handlers.produce(GOOD, acks=acks)[0].error_code for acks in (-1, 1)]
    assert codes == [19, 0]


def test_v11_p07_acks_0_answers_nothing_and_closes_after_a_failure(handlers: Handlers) -> None:
    assert handlers.produce(GOOD, acks=0) is None
    with pytest.raises(CloseConnection):
        handlers.produce(GOOD, b"", acks=0)
    assert handlers.log().log_end_offset == 2


def test_v12_internal_topics_are_for_the_admin_client(handlers: Handlers) -> None:
    handlers.create("__consumer_offsets")
    assert outcome(handlers.produce(GOOD, topic="__consumer_offsets")[0]) == plain(17)
    (answer,) = handlers.produce(GOOD, topic="__consumer_offsets", client_id="__admin_client")
    assert answer.error_code == 0
    assert handlers.produce(GOOD, topic="__transaction_state")[0].error_code == 3


def test_v60_no_transactional_id_is_known(handlers: Handlers) -> None:
    transactional = batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0))
    answers = handlers.produce(GOOD, transactional, transactional_id="x")
    assert outcome(answers[0])[:2] == (0, 0)
    assert outcome(answers[1]) == plain(49)
    assert handlers.log(1).log_end_offset == 0


def test_v61_a_verification_that_was_begun_bars_higher_sequences(handlers: Handlers) -> None:
    """V-57 row 1: also for plain batches, and whatever the verification ended in."""
    transactional = batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 3))
    assert outcome(handlers.produce(transactional, transactional_id="x")[0]) == plain(49)
    assert handlers.produce(batch(record(), producer=(1, 0, 4)))[0].error_code == 45
    assert handlers.produce(batch(record(), producer=(1, 0, 3)))[0].error_code == 0


def test_v61_an_older_epoch_is_not_verified(handlers: Handlers) -> None:
    handlers.produce(batch(record(), producer=(1, 5, 0)))
    older = batch(record(), attributes=TRANSACTIONAL, producer=(1, 4, 0))
    assert outcome(handlers.produce(older, transactional_id="x")[0]) == plain(47)
    newer = batch(record(), attributes=TRANSACTIONAL, producer=(1, 6, 0))
    assert outcome(handlers.produce(newer, transactional_id="x")[0]) == plain(49)


def test_v60_an_open_transaction_needs_no_verification(handlers: Handlers) -> None:
    log = handlers.log()
    log.append_batch(batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0)), now_ms=1)
    second = batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 1))
    (answer,) = handlers.produce(second, transactional_id="x")
    assert outcome(answer)[:2] == (0, 1)
    other_epoch = batch(record(), attributes=TRANSACTIONAL, producer=(1, 1, 0))
    assert outcome(handlers.produce(other_epoch, transactional_id="x")[0]) == plain(49)


def test_v60_without_verification_the_batch_is_taken(tmp_path: Path) -> None:
    handlers = Handlers(
        tmp_path / "data", settings={"transaction.partition.verification.enable": "false"}
    )
    transactional = batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0))
    assert handlers.produce(transactional, transactional_id="x")[0].error_code == 0
    assert handlers.log().last_stable_offset == 0
    handlers.cluster.close()


def test_v72_a_failing_disk_is_56_and_works_again_with_room(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    handlers.produce(GOOD)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(GOOD) + 10, hard))
    try:
        assert outcome(handlers.produce(GOOD)[0]) == plain(56)
        assert outcome(handlers.produce(GOOD)[0]) == plain(56)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert size(handlers.fetch(wanted())[0]) == len(GOOD)
    assert outcome(handlers.produce(GOOD)[0])[:2] == (0, 1)
    assert [each.levelname for each in caplog.records] == ["ERROR", "WARNING"]


@pytest.mark.as_written
def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[type, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(Log, "append")
    assert outcome(handlers.produce(GOOD)[0]) == plain(-1)
    assert "a bug" in caplog.text


def test_v14_log_append_time_and_log_start_offset(handlers: Handlers) -> None:
    handlers.create("stamped", message_timestamp_type="LogAppendTime")
    (answer,) = handlers.produce(GOOD, topic="stamped")
    assert outcome(answer) == (0, 0, handlers.clock.now_ms(), 0, 0, None)
    handlers.produce(GOOD, topic="stamped")
    handlers.log(0, "stamped").delete_records_before(1)
    assert outcome(handlers.produce(batch(record(), base_offset=5), topic="stamped")[0]) == plain(
        87, start=1
    )


@pytest.mark.parametrize("version", [8, 9, 13])
def test_v44_record_errors_are_listed(handlers: Handlers, version: int) -> None:
    handlers.create("compacted", cleanup_policy="compact")
    bad = batch(record(None) + record(offset_delta=1) + record(None, offset_delta=2), count=3)
    (answer,) = handlers.produce(bad, topic="compacted", version=version)
    assert outcome(answer)[:5] == (87, -1, -1, 0, 2)
    assert [each.batch_index for each in answer.record_errors] == [0, 2]
    assert answer.record_errors[0].batch_index_error_message == (
        "Compacted topic cannot accept message without key in topic partition compacted-0"
    )
    assert answer.error_message.startswith("One or more records have been rejected due to 2")


@pytest.mark.anyio
async def test_v44_an_answer_lists_a_limited_number_of_bad_records(handlers: Handlers) -> None:
    """300 bytes for each of many partitions would else become gigabytes."""
    handlers.create("compacted", 3, cleanup_policy="compact")
    count = 4_000
    content = b"".join(record(None, offset_delta=index) for index in range(count))
    data = batch(gzip.compress(content), attributes=GZIP, count=count)
    request = messages.ProduceRequest
    partitions = [request.PartitionProduceData(index=index, records=data) for index in range(3)]
    topic = request.TopicProduceData(name="compacted", partition_data=partitions)
    value = request(acks=1, timeout_ms=1, topic_data=[topic])
    (answered,) = (await handlers.answer(PRODUCE, 9, value)).responses
    answers = answered.partition_responses
    assert [each.error_code for each in answers] == [ErrorCode.INVALID_RECORD] * 3
    assert [len(each.record_errors) for each in answers] == [4000, 4000, 2000]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("data", "turns_min", "turns_max"),
    [(GOOD, 1, 9), (batch(gzip.compress(record()), attributes=GZIP), 20, 99)],
    ids=["plain", "compressed"],
)
async def test_p04_others_have_their_turn_within_a_large_request(
    handlers: Handlers, data: bytes, turns_min: int, turns_max: int
) -> None:
    """A compressed batch counts for much more than its bytes."""
    handlers.create("wide", 300)
    request = messages.ProduceRequest
    partitions = [request.PartitionProduceData(index=index, records=data) for index in range(300)]
    topic = request.TopicProduceData(name="wide", partition_data=partitions)
    value = request(acks=1, timeout_ms=1, topic_data=[topic])
    turns = 0
    is_answered = False

    async def count_turns() -> None:
        nonlocal turns
        while not is_answered:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count_turns)
        (answered,) = (await handlers.answer(PRODUCE, 9, value)).responses
        is_answered = True
    assert all(each.error_code == 0 for each in answered.partition_responses)
    assert turns_min <= turns <= turns_max


@pytest.mark.anyio
@pytest.mark.parametrize(("version", "code"), [(9, 3), (13, 100)])
async def test_p92_a_topic_made_anew_meanwhile_is_another_one(
    handlers: Handlers, version: int, code: int
) -> None:
    content = gzip.compress(record(value=os.urandom(2 * INLINE_BYTES_MAX)))
    request = messages.ProduceRequest
    topic = request.TopicProduceData(
        name=TOPIC,
        topic_id=handlers.topic_id(),
        partition_data=[
            request.PartitionProduceData(index=0, records=batch(content, attributes=GZIP)),
            request.PartitionProduceData(index=1, records=GOOD),
        ],
    )
    value = request(acks=1, timeout_ms=1, topic_data=[topic])
    codes: list[int] = []

    async def produce_it() -> None:
        (answered,) = (await handlers.answer(PRODUCE, version, value)).responses
        codes.extend(each.error_code for each in answered.partition_responses)

    async with anyio.create_task_group() as group:
        group.start_soon(produce_it)
        await anyio.lowlevel.checkpoint()
        handlers.delete(TOPIC)
        handlers.create(TOPIC, 2)
    assert codes == [code, code]
    assert [handlers.log(partition).log_end_offset for partition in (0, 1)] == [0, 0]


@pytest.mark.anyio
async def test_p07_what_was_sent_before_the_client_left_is_appended(handlers: Handlers) -> None:
    content = gzip.compress(record(value=os.urandom(2 * INLINE_BYTES_MAX)))
    data = messages.ProduceRequest.PartitionProduceData(
        index=0, records=batch(content, attributes=GZIP)
    )
    topic = messages.ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
    value = messages.ProduceRequest(acks=0, timeout_ms=1, topic_data=[topic])
    with anyio.CancelScope() as client:
        client.cancel()
        await handlers.answer(PRODUCE, 9, value)
    assert handlers.log().log_end_offset == 1


@pytest.mark.anyio
async def test_a_large_compressed_batch_is_validated_in_a_thread(handlers: Handlers) -> None:
    content = gzip.compress(record(value=os.urandom(2 * INLINE_BYTES_MAX)))
    request = messages.ProduceRequest
    value = request(
        acks=1,
        timeout_ms=1,
        topic_data=[
            request.TopicProduceData(
                name=TOPIC,
                partition_data=[
                    request.PartitionProduceData(index=0, records=batch(content, attributes=GZIP)),
                    request.PartitionProduceData(
                        index=1, records=batch(content[:-9], attributes=GZIP)
                    ),
                ],
            )
        ],
    )
    answer = await handlers.answer(PRODUCE, 9, value)
    codes = [each.error_code for each in answer.responses[0].partition_responses]
    assert codes == [0, -1]
    assert handlers.log().log_end_offset == 1


def test_v93_idempotent_sequences(handlers: Handlers) -> None:
    def send(first: int, count: int = 1, epoch: int = 0) -> tuple[int, int]:
        data = batch(records(count), count=count, producer=(7, epoch, first))
        answer = handlers.produce(data)[0]
        return answer.error_code, answer.base_offset

    assert send(5) == (0, 0)
    assert send(6, 3) == (0, 1)
    again = handlers.produce(batch(records(3), count=3, producer=(7, 0, 6), timestamp=9))[0]
    assert outcome(again) == (0, 1, 1_700_000_000_000, 0, 0, None)
    assert send(6, 2) == (45, -1)
    assert send(5) == (0, 0)
    assert send(8) == (45, -1)
    assert send(10) == (45, -1)
    assert [send(sequence)[1] for sequence in (9, 10, 11)] == [4, 5, 6]
    assert send(6, 3) == (0, 1)
    assert [send(sequence)[1] for sequence in (12, 13)] == [7, 8]
    assert send(6, 3) == (45, -1)
    assert send(3, epoch=1) == (45, -1)
    assert send(0, epoch=1) == (0, 9)
    assert send(14) == (47, -1)
    assert send(13) == (47, -1)


def test_v93_sequences_wrap(handlers: Handlers) -> None:
    for first, count in ((2147483646, 4), (2, 1)):
        data = batch(records(count), count=count, producer=(7, 0, first))
        assert handlers.produce(data)[0].error_code == 0
    for first in (2147483647, 0):
        data = batch(record(), producer=(8, 0, first))
        assert handlers.produce(data)[0].error_code == ErrorCode.NONE

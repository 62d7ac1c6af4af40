"""Which batches are validated in the event loop: V-45."""

import gzip
import os
import threading
from typing import Any

import pytest

from broker_lite import errors
from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.produce import append as produce_append
from broker_lite.handler.produce.append import (
    INLINE_BYTES_MAX,
    INLINE_OLD_BYTES_MAX,
    INLINE_PLAIN_BYTES_MAX,
    answers_log_start_offset,
    validate_at_once,
    validate_in_thread,
)
from broker_lite.log.validate.old_messages import NothingToAppend
from broker_lite.log.validate.produced_batch import AT_ONCE_BYTES_MAX, validate_records
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.stopping import Stop
from broker_lite.wire import messages
from tests.handler.data_apis import PRODUCE, TOPIC, Handlers
from tests.handler.fetch.old_client_requests import message
from tests.log.batches import batch, record, records, writable

NOW_MS = 1_700_000_000_000
PRODUCERS = ValidationConfig(topic="t", max_message_bytes=10_000_000)
ZSTD = ValidationConfig(topic="t", codec=4, max_message_bytes=10_000_000)
GZIP = 1


def plain(size_bytes: int) -> bytes:
    return batch(record(value=os.urandom(size_bytes)))


def packed(size_bytes: int) -> bytes:
    return batch(gzip.compress(record(value=os.urandom(size_bytes))), attributes=GZIP)


@pytest.mark.parametrize(
    ("data", "config", "is_done"),
    [
        pytest.param(plain(INLINE_BYTES_MAX + 1), PRODUCERS, True, id="plain"),
        pytest.param(plain(INLINE_PLAIN_BYTES_MAX), PRODUCERS, False, id="large-plain"),
        pytest.param(packed(1000), PRODUCERS, True, id="packed"),
        pytest.param(packed(INLINE_BYTES_MAX), PRODUCERS, False, id="large-packed"),
        pytest.param(plain(1000), ZSTD, True, id="plain-to-be-packed"),
        pytest.param(plain(INLINE_BYTES_MAX), ZSTD, False, id="large-plain-to-be-packed"),
    ],
)
def test_v45_what_takes_long_is_left_to_a_thread(
    data: bytes, config: ValidationConfig, is_done: bool
) -> None:
    validated = validate_at_once(writable(data), config, NOW_MS, 0, is_old=False)
    assert (validated is not None) is is_done


@pytest.mark.parametrize(
    ("data", "is_done"),
    [
        pytest.param(message(), True, id="message"),
        pytest.param(message() * (INLINE_OLD_BYTES_MAX // 20), False, id="many-messages"),
        pytest.param(batch(records(3), count=3), True, id="batch"),
        pytest.param(packed(10), False, id="packed-batch"),
    ],
)
def test_v92_old_sets_are_converted_at_once_when_they_are_small(data: bytes, is_done: bool) -> None:
    validated = validate_at_once(writable(data), PRODUCERS, NOW_MS, 0, is_old=True)
    assert (validated is not None) is is_done


def test_v22_an_old_set_without_a_message() -> None:
    with pytest.raises(NothingToAppend):
        validate_at_once(writable(b""), PRODUCERS, NOW_MS, 0, is_old=True)


@pytest.mark.anyio
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_thread_that_is_stopped_closes_the_connection(is_old: bool) -> None:
    data, stop = writable(packed(100)), Stop()
    found = await validate_in_thread(data, PRODUCERS, NOW_MS, 0, stop, is_old=is_old)
    assert found.record_count == 1
    stop.set()
    with pytest.raises(CloseConnection, match="stopped"):
        await validate_in_thread(data, PRODUCERS, NOW_MS, 0, stop, is_old=is_old)


@pytest.mark.as_written
@pytest.mark.anyio
async def test_v45_a_small_batch_that_becomes_large_is_validated_in_a_thread(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noting(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return validate_records(*arguments, **options)

    monkeypatch.setattr(produce_append, "validate_records", noting)
    for size_bytes, thread_count in ((1000, 1), (AT_ONCE_BYTES_MAX, 2)):
        threads.clear()
        content = gzip.compress(record(value=bytes(size_bytes)))
        data = messages.ProduceRequest.PartitionProduceData(
            index=0, records=batch(content, attributes=GZIP)
        )
        topic = messages.ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
        value = messages.ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic])
        answer = await handlers.answer(PRODUCE, 9, value)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert len(set(threads)) == thread_count


@pytest.mark.anyio
async def test_work_in_a_thread_ends_by_closing_the_connection(handlers: Handlers) -> None:
    """Nothing of the batch is appended, so the client may send it again."""
    content = gzip.compress(record(value=os.urandom(2 * INLINE_BYTES_MAX)))
    data = messages.ProduceRequest.PartitionProduceData(
        index=0, records=batch(content, attributes=GZIP)
    )
    topic = messages.ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
    value = messages.ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic])
    handlers.context.stop.set()
    with pytest.raises(CloseConnection, match="stopped"):
        await handlers.answer(PRODUCE, 9, value)
    assert handlers.log().log_end_offset == 0


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.CorruptMessage(), False),
        (errors.UnknownTopicOrPartition(), False),
        (errors.NotLeaderOrFollower(), False),
        (errors.MessageTooLarge(), False),
        (errors.RecordListTooLarge(), False),
        (errors.KafkaStorageError(), False),
        (errors.InvalidRecord(), True),
        (errors.UnknownServerError(), True),
        (errors.OutOfOrderSequenceNumber(), True),
        (errors.InvalidProducerEpoch(), True),
        (errors.InvalidTxnState(), True),
    ],
    ids=lambda value: f"V-14-{value.code}" if isinstance(value, BrokerError) else "",
)
def test_log_start_offset_of_a_failure(error: BrokerError, expected: bool) -> None:
    assert answers_log_start_offset(error) is expected

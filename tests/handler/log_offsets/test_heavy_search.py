"""F-72: large batches are searched beside the event loop, and give the answers of small ones."""

import os
from typing import Any

import pytest

from broker_lite.errors import ErrorCode, InvalidRecord
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.log_offsets.heavy_search import search_heavy
from broker_lite.log import timestamps
from broker_lite.log.timestamps import AT_ONCE_FILE_BYTES_MAX, HeavyBatch
from broker_lite.log.validate.produced_batch import AT_ONCE_BYTES_MAX
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.stopping import Stop
from broker_lite.wire import messages
from tests.handler.data_apis import LIST_OFFSETS, PRODUCE, TOPIC, Handlers
from tests.log.batches import BASE_TIMESTAMP, batch, record

pytestmark = pytest.mark.anyio
T0 = BASE_TIMESTAMP
MAX_TIMESTAMP = -3


def large(*deltas: int) -> bytes:
    """A batch that is too large as it is."""
    values = (os.urandom(AT_ONCE_FILE_BYTES_MAX) if index == 0 else b"" for index in range(99))
    content = b"".join(
        record(b"k", value, timestamp_delta=delta, offset_delta=index)
        for index, (delta, value) in enumerate(zip(deltas, values, strict=False))
    )
    return batch(content, count=len(deltas), max_timestamp=T0 + max(deltas))


def growing(*deltas: int) -> bytes:
    """A small batch that becomes too large."""
    content = b"".join(
        record(b"k", bytes(AT_ONCE_BYTES_MAX), timestamp_delta=delta, offset_delta=index)
        for index, delta in enumerate(deltas)
    )
    data = compress(Codec.ZSTD, content)
    top = T0 + max(deltas)
    return batch(data, count=len(deltas), attributes=Codec.ZSTD, max_timestamp=top)


async def produce(handlers: Handlers, records: bytes) -> None:
    request = messages.ProduceRequest
    data = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(name=TOPIC, partition_data=[data])
    value = request(acks=1, timeout_ms=1, topic_data=[topic])
    (answer,) = (await handlers.answer(PRODUCE, 9, value)).responses[0].partition_responses
    assert answer.error_code == 0


async def found(handlers: Handlers, timestamp: int) -> tuple[int, int, int]:
    request = messages.ListOffsetsRequest
    wanted = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = request.ListOffsetsTopic(name=TOPIC, partitions=[wanted])
    value = request(timeout_ms=1000, topics=[topic])
    (answer,) = (await handlers.answer(LIST_OFFSETS, 11, value)).topics[0].partitions
    return answer.error_code, answer.timestamp, answer.offset


@pytest.mark.parametrize("make", [large, growing])
async def test_f72_the_first_record_of_a_large_batch(handlers: Handlers, make: Any) -> None:
    await produce(handlers, batch(record(), timestamp=T0 - 5))
    await produce(handlers, make(0, 10, 3))
    await produce(handlers, make(1, 20, 2))
    assert await found(handlers, T0) == (0, T0, 1)
    assert await found(handlers, T0 + 4) == (0, T0 + 10, 2)
    assert await found(handlers, T0 + 11) == (0, T0 + 20, 5)
    assert await found(handlers, T0 + 21) == (0, -1, -1)
    assert await found(handlers, MAX_TIMESTAMP) == (0, T0 + 20, 5)


@pytest.mark.parametrize("make", [large, growing])
async def test_f72_the_search_goes_on_behind_a_large_batch(handlers: Handlers, make: Any) -> None:
    """What is below the log start offset does not count, though it is in the same batch."""
    await produce(handlers, make(0, 10, 3))
    await produce(handlers, make(5, 7, 6))
    handlers.log().delete_records_before(2)
    assert await found(handlers, T0 + 4) == (0, T0 + 5, 3)


def heavy_of(handlers: Handlers) -> HeavyBatch:
    with pytest.raises(HeavyBatch) as raised:
        timestamps.offset_for_timestamp(handlers.log(), T0, at_once=True)
    return raised.value


async def test_what_a_search_gives(handlers: Handlers) -> None:
    await produce(handlers, large(0, 1))
    searched = await search_heavy(heavy_of(handlers), Stop())
    assert (searched.from_offset, searched.error) == (2, None)
    assert searched.found == (T0, 0, 0)


async def test_a_search_that_is_stopped_closes_the_connection(handlers: Handlers) -> None:
    await produce(handlers, growing(0, 1))
    heavy, stop = heavy_of(handlers), Stop()
    stop.set()
    with pytest.raises(CloseConnection, match="stopped"):
        await search_heavy(heavy, stop)


class Failing:
    """In place of a batch in a file that cannot be read."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def search_within(self, bounds: Bounds) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(InvalidRecord(), ErrorCode.INVALID_RECORD, id="F-73-damaged"),
        pytest.param(OSError(), ErrorCode.KAFKA_STORAGE_ERROR, id="F-73-unreadable"),
    ],
)
async def test_errors_of_a_search_are_values(error: Exception, code: ErrorCode) -> None:
    candidate: Any = Failing(error)
    searched = await search_heavy(HeavyBatch(candidate, 2), Stop())
    assert searched.found is None
    assert searched.error is not None
    assert searched.error.code == code


async def test_f73_an_error_of_a_search_is_the_answer(handlers: Handlers) -> None:
    await produce(handlers, large(0, 1))
    handlers.log().segments.active.file().write(bytes(8), 61)
    assert await found(handlers, T0) == (ErrorCode.INVALID_RECORD, -1, -1)

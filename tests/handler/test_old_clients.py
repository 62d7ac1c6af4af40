"""Produce 0-2 and Fetch 0-3 of a broker that stands in for one before 4.0: V-92, F-60 to F-63."""

import gzip
import os
from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.emulate import max_versions
from broker_lite.handler.produce_append import INLINE_OLD_BYTES_MAX
from broker_lite.handler.table import APIS, OLD_MESSAGES_MIN_VERSIONS, offered
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.framing import walk
from broker_lite.record.legacy import LegacyMessage, iterate_legacy
from broker_lite.record.legacy_builder import encode_message
from broker_lite.wire import messages
from tests.handler.data_apis import FETCH, PRODUCE, TOPIC, Handlers, fetched, size, wanted
from tests.log.batches import batch, record, records

pytestmark = pytest.mark.anyio
T0 = 1_700_000_000_000


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough: nothing here waits."""
    return "asyncio"


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    handlers.context.apis = offered(APIS, max_versions("3.9"), OLD_MESSAGES_MIN_VERSIONS)
    return handlers


def message(value: bytes = b"v", *, magic: int = 1, bits: int = 0, offset: int = 0) -> bytes:
    return encode_message(offset, magic, bits, T0, b"k", value)


async def produce(
    handlers: Handlers, data: bytes | None, version: int = 2, topic: str = TOPIC, acks: int = -1
) -> Any:
    kind = messages.ProduceRequest
    partition = kind.PartitionProduceData(index=0, records=data)
    value = kind(
        acks=acks,
        timeout_ms=1000,
        topic_data=[kind.TopicProduceData(name=topic, partition_data=[partition])],
    )
    answer = await handlers.answer(PRODUCE, version, value)
    return answer if answer is None else answer.responses[0].partition_responses[0]


async def fetch(handlers: Handlers, version: int, *, topic: str = TOPIC, **fields: Any) -> Any:
    limits = {} if version >= 3 else {"max_bytes": 2**31 - 1}
    request = handlers.fetch_request(wanted(**fields), topic=topic, **limits)
    (answer,) = fetched(await handlers.answer(FETCH, version, request))
    return answer


def read(answer: Any) -> list[tuple[int, int, bytes | None]]:
    """Offset, magic and value of the records of an answer."""
    view = memoryview(bytes(answer.records))
    return [
        (each.offset, entry.magic, each.value)
        for entry in walk(view)
        for each in iterate_legacy(LegacyMessage(view, entry.position, entry.size_bytes))
    ]


# -- produce


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1])
async def test_v92_messages_are_stored_as_one_batch(
    handlers: Handlers, magic: int, version: int
) -> None:
    data = message(b"a", magic=magic) + message(b"b", magic=magic, offset=1)
    for base_offset in (0, 2):
        answer = await produce(handlers, data, version)
        assert (answer.error_code, answer.base_offset) == (0, base_offset)
        assert answer.log_append_time_ms == -1
    (answer,) = handlers.fetch(wanted())
    batches = list(walk(bytes(answer.records)))
    assert [entry.magic for entry in batches] == [2, 2]


async def test_v92_large_and_compressed_sets_are_converted_in_a_thread(handlers: Handlers) -> None:
    many = b"".join(message(b"v" * 100, offset=number) for number in range(200))
    assert len(many) > INLINE_OLD_BYTES_MAX
    packed = encode_message(1, 1, 1, T0, None, gzip.compress(message() + message(offset=1)))
    for data, base_offset in ((many, 0), (packed, 200), (batch(records(3), count=3), 202)):
        answer = await produce(handlers, data)
        assert (answer.error_code, answer.base_offset) == (0, base_offset)
    assert handlers.log(0).log_end_offset == 205


async def test_v92_a_compressed_v2_batch_in_an_old_request(handlers: Handlers) -> None:
    builder = BatchBuilder(codec=4)
    builder.append(T0, b"k", b"v")
    assert (await produce(handlers, builder.build())).error_code == 0


async def test_v14_append_time_is_told_from_version_2_on(handlers: Handlers) -> None:
    handlers.create("stamped", message_timestamp_type="LogAppendTime")
    answer = await produce(handlers, message(), 2, "stamped")
    assert answer.log_append_time_ms == handlers.clock.now_ms()


@pytest.mark.parametrize("data", [b"", message()[:-1]], ids=["empty", "cut"])
async def test_v22_nothing_to_append_is_a_success(handlers: Handlers, data: bytes) -> None:
    answer = await produce(handlers, data)
    assert (answer.error_code, answer.base_offset) == (0, -1)
    assert handlers.log(0).log_end_offset == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(message() + message(magic=0), 87, id="V-92 v1 then v0"),
        pytest.param(message(bits=5), -1, id="V-20 codec"),
        pytest.param(message() + bytes(12), 2, id="V-06"),
        pytest.param(batch(b"", length=38)[:50], -1, id="V-21"),
        pytest.param(batch(record(), attributes=0x10), 53, id="V-07"),
        pytest.param(None, 87, id="V-02"),
    ],
)
async def test_v92_rejected(handlers: Handlers, data: bytes | None, code: int) -> None:
    answer = await produce(handlers, data)
    assert (answer.error_code, answer.base_offset) == (code, -1)


async def test_p07_acks_0_are_not_answered(handlers: Handlers) -> None:
    assert await produce(handlers, message(), acks=0) is None
    assert await produce(handlers, b"", acks=0) is None
    with pytest.raises(CloseConnection):
        await produce(handlers, message(bits=5), acks=0)
    assert handlers.log(0).log_end_offset == 1


# -- fetch


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1)])
async def test_f60_records_of_today_for_old_clients(
    handlers: Handlers, version: int, magic: int, codec: int
) -> None:
    builder = BatchBuilder(codec=codec)
    for value in (b"a", b"b", None):
        builder.append(T0, b"k", value, [(b"lost", b"header")])
    handlers.produce(builder.build())
    answer = await fetch(handlers, version)
    assert (answer.error_code, answer.high_watermark) == (0, 3)
    assert read(answer) == [(0, magic, b"a"), (1, magic, b"b"), (2, magic, None)]


async def test_f60_newer_versions_get_the_file(handlers: Handlers) -> None:
    data = batch(record())
    handlers.produce(data)
    answer = await fetch(handlers, 4)
    assert bytes(answer.records)[16] == 2
    assert len(answer.records) == len(data)


async def test_f11_before_version_3_a_batch_above_the_limit_is_not_given(
    handlers: Handlers,
) -> None:
    handlers.produce(batch(record()))
    assert size(await fetch(handlers, 2, max_bytes=10)) == 0
    assert read(await fetch(handlers, 3, max_bytes=10)) == [(0, 1, b"v")]


@pytest.mark.parametrize("version", [0, 3])
async def test_f04_f05_errors(handlers: Handlers, version: int) -> None:
    answer = await fetch(handlers, version, offset=9)
    assert (answer.error_code, answer.high_watermark, size(answer)) == (1, -1, 0)
    answer = await fetch(handlers, version, topic="unknown")
    assert (answer.error_code, answer.high_watermark, size(answer)) == (3, -1, 0)


async def test_f60_zstd_batches(handlers: Handlers) -> None:
    builder = BatchBuilder(codec=4)
    builder.append(T0, b"k", b"v")
    handlers.produce(batch(record()), version=8)
    handlers.produce(builder.build(), version=8)
    answer = await fetch(handlers, 2)
    assert read(answer) == [(0, 1, b"v")]
    answer = await fetch(handlers, 2, offset=1)
    assert (answer.error_code, answer.high_watermark, answer.records) == (76, -1, None)
    assert (await fetch(handlers, 4, offset=1)).error_code == 0


@pytest.mark.parametrize(("version", "code"), [(0, 76), (3, 76), (4, 76), (9, 76), (10, 0)])
async def test_f60_f63_topics_that_store_zstd(handlers: Handlers, version: int, code: int) -> None:
    handlers.create("zstd", compression_type="zstd")
    for offset in (0, 5):
        answer = await fetch(handlers, version, topic="zstd", offset=offset)
        assert answer.error_code == (code or (1 if offset else 0))
    answer = await fetch(handlers, version, topic="zstd", partition=7)
    assert answer.error_code == 3


async def test_f60_a_broker_of_today_gives_zstd(handlers: Handlers) -> None:
    handlers.context.apis = APIS
    handlers.create("zstd", compression_type="zstd")
    handlers.produce(batch(record()), topic="zstd")
    assert (await fetch(handlers, 4, topic="zstd")).error_code == 0


@pytest.mark.parametrize("magic", [0, 1])
async def test_old_segments_for_every_client(handlers: Handlers, magic: int) -> None:
    """F-10, F-61: what is stored in an old format is copied, or converted further down."""
    handlers.produce(batch(record()))
    log = handlers.log(0)
    data = message(b"old", magic=magic, offset=1)
    log.active.append(data, 1, 1, T0 if magic else -1, 4096)
    log.log_end_offset = log.high_watermark = 2
    for version in (2, 4, 12):
        assert bytes((await fetch(handlers, version, offset=1)).records) == data
    assert read(await fetch(handlers, 0, offset=1)) == [(1, 0, b"old")]


async def test_damage_is_told(handlers: Handlers) -> None:
    handlers.produce(batch(records(2), count=2))
    os.pwrite(handlers.log(0).active.file().fd, b"\xff", 61)
    answer = await fetch(handlers, 2)
    assert (answer.error_code, answer.records) == (87, None)


async def test_p10_p50_a_broker_of_today_closes_the_connection(handlers: Handlers) -> None:
    handlers.context.apis = APIS
    for api_key, version in ((PRODUCE, 2), (FETCH, 3)):
        with pytest.raises(CloseConnection):
            await dispatch(handlers.context, handlers.request(api_key, version, b""))

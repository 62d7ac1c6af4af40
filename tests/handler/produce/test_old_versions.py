"""Produce 0-2 of a broker that stands in for one before 4.0: V-92."""

import gzip

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.produce.append import INLINE_OLD_BYTES_MAX
from broker_lite.handler.table import APIS
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.framing import walk
from broker_lite.record.legacy.message_builder import encode_message
from tests.handler.data_apis import FETCH, PRODUCE, Handlers, wanted
from tests.handler.fetch.old_client_requests import T0, message, produce, stand_in_for_3_9
from tests.log.batches import batch, record, records

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough: nothing here waits."""
    return "asyncio"


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    return stand_in_for_3_9(handlers)


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


async def test_p10_p50_a_broker_of_today_closes_the_connection(handlers: Handlers) -> None:
    handlers.context.apis = APIS
    for api_key, version in ((PRODUCE, 2), (FETCH, 3)):
        with pytest.raises(CloseConnection):
            await dispatch(handlers.context, handlers.request(api_key, version, b""))

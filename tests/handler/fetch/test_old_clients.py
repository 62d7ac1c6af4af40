"""Fetch 0-3 of a broker that stands in for one before 4.0: F-60 to F-63."""

import os

import pytest

from broker_lite.handler.table import APIS
from broker_lite.record.builder import BatchBuilder
from tests.handler.data_apis import Handlers, size
from tests.handler.fetch.old_client_requests import T0, fetch, message, read, stand_in_for_3_9
from tests.log.batches import batch, record, records

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough: nothing here waits."""
    return "asyncio"


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    return stand_in_for_3_9(handlers)


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
    log.segments.active.append(data, 1, 1, T0 if magic else -1, 4096)
    log.log_end_offset = log.visibility.high_watermark = 2
    for version in (2, 4, 12):
        assert bytes((await fetch(handlers, version, offset=1)).records) == data
    assert read(await fetch(handlers, 0, offset=1)) == [(1, 0, b"old")]


async def test_damage_is_told(handlers: Handlers) -> None:
    handlers.produce(batch(records(2), count=2))
    os.pwrite(handlers.log(0).segments.active.file().fd, b"\xff", 61)
    answer = await fetch(handlers, 2)
    assert (answer.error_code, answer.records) == (87, None)

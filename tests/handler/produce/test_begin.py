"""Produce requests that are answered without a coroutine, and those that are not: V-01, V-23."""

import gzip
import os
from typing import Any

import anyio
import pytest

from broker_lite.handler.context import Rest
from broker_lite.handler.produce import api as produce
from broker_lite.handler.produce.append import INLINE_BYTES_MAX
from broker_lite.wire import messages
from tests.handler.data_apis import PRODUCE, Handlers, outcome, partition_answers
from tests.log.batches import batch, record
from tests.support.handler_broker import join

GOOD = batch(record())
GZIP = 1


def begun(handlers: Handlers, *record_sets: bytes | None, version: int = 9, **fields: Any) -> Any:
    value = handlers.produce_request(*record_sets, version=version, **fields)
    body = messages.ProduceRequest.encode(value, version)
    return produce.begin(handlers.context, handlers.request(PRODUCE, version, body))


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("version", range(3, 14))
def test_v01_one_partition_is_answered_without_a_coroutine(
    handlers: Handlers, version: int, acks: int
) -> None:
    first = begun(handlers, GOOD, version=version, acks=acks)
    again = messages.ProduceResponse.decode(b"".join(first), version)[0]
    (answer,) = partition_answers(again)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert handlers.log().log_end_offset == 1


@pytest.mark.parametrize(
    ("record_sets", "fields", "end_offset"),
    [
        pytest.param([GOOD], {"acks": 0}, 0, id="P-07"),
        pytest.param([GOOD], {"acks": 7}, 0, id="V-11"),
        pytest.param([GOOD, GOOD], {}, 0, id="two partitions"),
        pytest.param([GOOD], {"transactional_id": "x"}, 0, id="V-07"),
        pytest.param([GOOD], {"topic": "unknown"}, 0, id="V-08"),
        pytest.param([b""], {}, 0, id="V-21"),
        pytest.param([batch(record(), crc=1)], {}, 0, id="V-31"),
    ],
)
def test_what_needs_more_is_left(
    handlers: Handlers, record_sets: list[bytes], fields: dict[str, Any], end_offset: int
) -> None:
    rest = begun(handlers, *record_sets, **fields)
    assert callable(rest)
    assert handlers.log().log_end_offset == end_offset


def test_a_refused_batch_is_answered_once(handlers: Handlers) -> None:
    rest = begun(handlers, batch(record(), crc=1))
    (answer,) = partition_answers(messages.ProduceResponse.decode(joined(rest), 9)[0])
    assert outcome(answer)[0] == 2


def test_v23_a_large_compressed_batch_is_left_to_a_thread(handlers: Handlers) -> None:
    large = batch(gzip.compress(record(value=os.urandom(2 * INLINE_BYTES_MAX))), attributes=GZIP)
    rest = begun(handlers, large)
    assert handlers.log().log_end_offset == 0
    (answer,) = partition_answers(messages.ProduceResponse.decode(joined(rest), 9)[0])
    assert answer.error_code == 0
    assert handlers.log().log_end_offset == 1


def joined(rest: Rest) -> bytes:
    """Do what is left of a request, and return its answer."""

    async def finish() -> bytes:
        parts = await rest()
        assert parts is not None
        return join(parts)

    return anyio.run(finish)

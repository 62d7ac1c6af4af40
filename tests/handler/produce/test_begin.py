"""Produce requests that are answered without a coroutine, and those that are not: V-01, V-23."""

import gzip
import os
from functools import partial
from typing import Any

import anyio
import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.handler.context import CloseConnection, HandlerContext, Request, Rest
from broker_lite.handler.produce import api as produce
from broker_lite.handler.produce.append import INLINE_BYTES_MAX
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.produce import decode_produce_request
from tests.handler.data_apis import PRODUCE, Handlers, outcome, partition_answers
from tests.log.batches import batch, record, records
from tests.support.handler_broker import join

GOOD = batch(record())
ODD_COUNT = batch(record(), count=2)
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


EDITS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    version=st.integers(3, 13),
    acks=st.sampled_from([1, -1]),
    good=st.sampled_from([GOOD, batch(records(3), count=3), batch(record(None)), ODD_COUNT]),
    edits=EDITS,
    mended=st.booleans(),
)
def test_begin_and_the_general_way_give_the_same(
    handlers: Handlers,
    version: int,
    acks: int,
    good: bytes,
    edits: list[tuple[int, int]],
    mended: bool,
) -> None:
    """V-01 to V-59: of whole and damaged frames, also of those with a checksum that is right."""
    data = bytearray(good)
    if mended:
        for position, byte in edits:
            data[position % len(data)] = byte
        data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    value = handlers.produce_request(bytes(data), version=version, acks=acks)
    body = bytearray(messages.ProduceRequest.encode(value, version))
    if not mended:
        for position, byte in edits:
            body[position % len(body)] = byte
    ways: list[Any] = []
    for way in (produce.begin, general):
        log_end = handlers.log().log_end_offset
        answer = answered(handlers, way, version, bytes(body))
        grown = handlers.log().log_end_offset - log_end
        ways.append((as_if_first(answer, version, log_end), grown))
    assert ways[0] == ways[1]


def general(context: HandlerContext, request: Request) -> Rest:
    """What begin() leaves a request to, whatever it is."""
    decoded = decode_produce_request(request.body, request.api_version, request.position)
    return partial(produce._append_all, context, request, decoded)


def answered(handlers: Handlers, way: Any, version: int, body: bytes) -> bytes | str | None:
    """The answer; or the name of the error that closes the connection."""
    try:
        begun = way(handlers.context, handlers.request(PRODUCE, version, body))
        parts = begun if isinstance(begun, list) else anyio.run(begun)
    except (CloseConnection, DecodeError) as error:
        return type(error).__name__
    return None if parts is None else join(parts)


def as_if_first(answer: bytes | str | None, version: int, log_end: int) -> Any:
    """An answer with base offsets counted from the end of the log."""
    if not isinstance(answer, bytes):
        return answer
    decoded, end = messages.ProduceResponse.decode(answer, version)
    assert end == len(answer)
    for each in partition_answers(decoded) or ():
        if each.error_code == 0:
            each.base_offset -= log_end
    return decoded

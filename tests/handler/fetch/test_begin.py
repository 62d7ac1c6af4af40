"""Fetch requests that are answered without a coroutine, and those that are not: F-03, F-30.

Also tests: broker_lite.handler.fetch.answer, broker_lite.handler.fetch.look.
"""

from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.handler.context import HandlerContext, Request, Rest
from broker_lite.handler.fetch import api as fetch
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.fetch_request import decode_fetch_request
from tests.handler.data_apis import FETCH, Handlers, fetched, size, wanted
from tests.log.batches import batch, record, records
from tests.support.handler_broker import join

BATCH = batch(record(value=bytes(100)))
REPLICA_STATE_FROM = 15
EDITS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=2)


@pytest.fixture
def filled(handlers: Handlers) -> Handlers:
    """Partition 0 has three batches, partition 1 has one, partition 2 none."""
    handlers.produce(BATCH)
    handlers.produce(batch(records(3), count=3))
    handlers.produce(BATCH, BATCH)
    return handlers


def begun(handlers: Handlers, version: int, value: Any) -> Any:
    body = messages.FetchRequest.encode(value, version)
    return fetch.begin(handlers.context, handlers.request(FETCH, version, body))


@pytest.mark.parametrize("version", range(4, 19))
def test_f03_what_is_there_is_answered_without_a_coroutine(filled: Handlers, version: int) -> None:
    value = filled.fetch_request(wanted(), wanted(1), max_wait_ms=500)
    parts = begun(filled, version, value)
    assert isinstance(parts, list)
    answers = fetched(messages.FetchResponse.decode(join(parts), version)[0])
    assert [each.error_code for each in answers] == [0, 0]
    assert size(answers[1]) == len(BATCH)
    assert not filled.log().visibility.is_watched


@pytest.mark.parametrize(
    ("offset", "fields"),
    [
        pytest.param(5, {"max_wait_ms": 500}, id="F-30"),
        pytest.param(0, {"max_wait_ms": 500, "min_bytes": 10**6}, id="F-30, too few bytes"),
        pytest.param(99, {}, id="F-05"),
        pytest.param(0, {"session_epoch": 0}, id="F-42"),
        pytest.param(0, {"session_id": 7, "session_epoch": 3}, id="F-41"),
        pytest.param(0, {"session_id": 7}, id="F-41, a session that ends"),
        pytest.param(0, {"isolation_level": 2}, id="F-02"),
    ],
)
def test_what_needs_more_is_left(filled: Handlers, offset: int, fields: dict[str, Any]) -> None:
    value = filled.fetch_request(wanted(offset=offset), **fields)
    assert callable(begun(filled, 12, value))


def test_a_request_that_is_not_short_is_left(filled: Handlers) -> None:
    value = filled.fetch_request(*(wanted(n) for n in range(40)))
    assert begun(filled, 12, value) is None


def test_f30_what_was_begun_waits_for_records(filled: Handlers) -> None:
    rest = begun(filled, 12, filled.fetch_request(wanted(offset=5), max_wait_ms=60_000))

    async def poll() -> Any:
        answers: list[Any] = []

        async def wait() -> None:
            answers.append(await rest())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while not filled.log().visibility.is_watched:
                await anyio.lowlevel.checkpoint()
            filled.log().append_batch(BATCH, now_ms=filled.clock.now_ms())
        return answers[0]

    (answer,) = fetched(messages.FetchResponse.decode(join(anyio.run(poll)), 12)[0])
    assert size(answer) == len(BATCH)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    version=st.integers(4, 18),
    offsets=st.lists(st.integers(-1, 6), min_size=1, max_size=4),
    sizes=st.sampled_from([(-1, 10), (0, 10**6), (50, 10**6), (10**6, 0), (10**6, 10**6)]),
    fields=st.fixed_dictionaries(
        {
            "isolation_level": st.integers(0, 2),
            "replica_id": st.sampled_from([-1, -2, 3]),
            "min_bytes": st.sampled_from([0, 1, 10**6]),
            "session_id": st.sampled_from([0, 9]),
            "session_epoch": st.sampled_from([-1, 4]),
            "rack_id": st.sampled_from(["", "a"]),
            "forgotten": st.sampled_from([(), (0,)]),
        }
    ),
    edits=EDITS,
)
def test_begin_and_the_general_way_give_the_same(
    filled: Handlers,
    version: int,
    offsets: list[int],
    sizes: tuple[int, int],
    fields: dict[str, Any],
    edits: list[tuple[int, int]],
) -> None:
    """F-01 to F-48: also of damaged requests, which may wait for nothing."""
    partition_bytes, max_bytes = sizes
    for name, first in (("session_id", 7), ("session_epoch", 7), ("forgotten", 7), ("rack_id", 11)):
        if version < first:
            fields.pop(name)
    if version >= REPLICA_STATE_FROM:
        state = messages.FetchRequest.ReplicaState(replica_id=fields.pop("replica_id"))
        fields["replica_state"] = state
    wants = [wanted(n, offset, partition_bytes) for n, offset in enumerate(offsets)]
    value = filled.fetch_request(*wants, max_bytes=max_bytes, **fields)
    body = bytearray(messages.FetchRequest.encode(value, version))
    for position, byte in edits:
        body[position % len(body)] = byte
    ways = [answered(filled, way, version, bytes(body)) for way in (fetch.begin, general)]
    assert ways[0] == ways[1]


def general(context: HandlerContext, request: Request) -> Rest:
    """What begin() leaves a request to, whatever it is."""
    body = decode_fetch_request(request.body, request.api_version, request.position)
    return partial(fetch._handle, context, request, body)


def answered(handlers: Handlers, way: Any, version: int, body: bytes) -> Any:
    """The answer; or the name of the error that closes the connection; None if it waits."""
    try:
        found = way(handlers.context, handlers.request(FETCH, version, body))
    except DecodeError as error:
        return type(error).__name__
    if isinstance(found, list):
        return decoded(join(found), version)

    async def finish() -> Any:
        with anyio.move_on_after(0.02):
            parts = await found()
            assert parts is not None
            return decoded(join(parts), version)
        return None

    return anyio.run(finish)


def decoded(data: bytes, version: int) -> Any:
    """The answer without its session id, which is a random number."""
    answer, end = messages.FetchResponse.decode(data, version)
    assert end == len(data)
    answer.session_id = bool(answer.session_id)
    return answer

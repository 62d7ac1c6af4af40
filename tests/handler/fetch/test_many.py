"""Fetching from very many partitions: the same answers, and nothing is missed in the pauses."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.fetch import answer as answer_module
from broker_lite.handler.fetch import api as fetch
from broker_lite.handler.fetch import long_poll as delayed_fetch
from broker_lite.handler.fetch import look
from broker_lite.handler.fetch import many as fetch_many
from broker_lite.handler.fetch.partition import PARTITION_BYTES
from broker_lite.handler.fetch.session import FetchSessionCache
from broker_lite.handler.large import let_go
from broker_lite.wire import messages
from tests.handler.data_apis import FETCH, Handlers, fetched, size, wanted
from tests.log.batches import batch, record
from tests.support.handler_broker import join

BATCH = batch(record())
MANY = "many"
COUNT = 700


@pytest.fixture
def handlers(tmp_path: Path) -> Any:
    opened = Handlers(tmp_path / "data")
    opened.create(MANY, COUNT)
    yield opened
    opened.cluster.close()


def request(handlers: Handlers, **fields: Any) -> Any:
    value = handlers.fetch_request(*(wanted(n) for n in range(COUNT + 5)), **fields)
    value.topics[0].topic = MANY
    return value


def answer(handlers: Handlers, value: Any) -> Any:
    return asyncio.run(handlers.answer(FETCH, 12, value))


def append(handlers: Handlers, partition: int) -> None:
    handlers.log(partition, MANY).append_batch(BATCH, now_ms=handlers.clock.now_ms())


def by_partition(response: Any) -> list[tuple[int, int, int, int]]:
    return [(p.partition_index, p.error_code, p.high_watermark, size(p)) for p in fetched(response)]


@pytest.fixture
def in_one_piece(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets all partitions be read without a pause from the call on."""

    def begin() -> None:
        for module in (look, answer_module):
            monkeypatch.setattr(module, "PARTITIONS_AT_A_TIME", 10**6)

    return begin


InAPause = Callable[[ModuleType, Callable[[list[Any]], Awaitable[None]]], None]


@pytest.fixture
def in_a_pause(monkeypatch: pytest.MonkeyPatch) -> InAPause:
    """Lets something else be done in the pauses of a module."""
    return lambda module, work: monkeypatch.setattr(module, "let_go", work)


@pytest.mark.parametrize("max_bytes", [10**6, 3 * len(BATCH), 0, -1])
def test_f11_f30_many_are_read_as_in_one_piece(
    handlers: Handlers, max_bytes: int, in_one_piece: Callable[[], None]
) -> None:
    for partition in range(0, COUNT, 3):
        append(handlers, partition)
    in_turns = answer(handlers, request(handlers, max_bytes=max_bytes))
    in_one_piece()
    whole = answer(handlers, request(handlers, max_bytes=max_bytes))
    assert by_partition(in_turns) == by_partition(whole)
    assert len(fetched(whole)) == COUNT + 5


def test_f43_what_is_appended_in_a_pause_is_not_missed(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partition changes after it was read and before the session counts it as drained."""
    read_partitions = fetch_many.read_partitions
    appended = []

    def read_then_append(cluster: Any, terms: Any, partitions: Any, read: Any) -> None:
        read_partitions(cluster, terms, partitions, read)
        partition = partitions[0].index
        if partition < COUNT:
            append(handlers, partition)
            appended.append(partition)

    monkeypatch.setattr(fetch_many, "read_partitions", read_then_append)
    first = answer(handlers, request(handlers, session_id=0, session_epoch=0, max_wait_ms=0))
    assert len(appended) == 3
    monkeypatch.undo()
    value = handlers.fetch_request(session_id=first.session_id, session_epoch=1)
    value.topics = []
    news = answer(handlers, value)
    assert [(p[0], p[3]) for p in by_partition(news) if p[3]] == [(n, len(BATCH)) for n in appended]


def test_f30_f32_a_long_poll_of_many_ends_when_one_has_records(handlers: Handlers) -> None:
    async def poll() -> Any:
        value = handlers.fetch_request(*(wanted(n) for n in range(COUNT)), max_wait_ms=60_000)
        value.topics[0].topic = MANY
        waiting = asyncio.create_task(handlers.answer(FETCH, 12, value))
        for _ in range(100):  # rounds of the loop, after which it waits
            await asyncio.sleep(0)
        assert handlers.log(COUNT - 1, MANY).visibility.is_watched
        append(handlers, 5)
        return await waiting

    answers = by_partition(asyncio.run(poll()))
    assert [(p[0], p[3]) for p in answers if p[3]] == [(5, len(BATCH))]


def test_f31_a_large_long_poll_takes_its_turn_when_it_looks_again(handlers: Handlers) -> None:
    """Another large request is in work then."""

    async def poll() -> bool:
        value = handlers.fetch_request(
            *(wanted(n) for n in range(COUNT)), max_wait_ms=60_000, topic=MANY
        )
        body = messages.FetchRequest.encode(value, 12)
        waiting = asyncio.ensure_future(
            dispatch(handlers.context, handlers.request(FETCH, 12, body))
        )
        while not handlers.log(COUNT - 1, MANY).visibility.is_watched:
            await checkpoint()
        lane = handlers.context.lane
        await lane.enter()
        append(handlers, COUNT - 1)
        for _ in range(100):
            await checkpoint()
        waits = not waiting.done()
        lane.leave()
        assert await waiting
        return waits

    assert asyncio.run(poll())


def test_f43_many_are_wanted_no_more(handlers: Handlers) -> None:
    first = answer(handlers, request(handlers, session_id=0, session_epoch=0, max_wait_ms=0))
    assert len(handlers.context.fetch_sessions) == 1
    value = handlers.fetch_request(session_id=first.session_id, session_epoch=1, max_wait_ms=0)
    value.topics = []
    forgotten = messages.FetchRequest.ForgottenTopic(topic=MANY, partitions=list(range(3000)))
    value.forgotten_topics_data = [forgotten]
    assert fetched(answer(handlers, value)) == []
    assert len(handlers.context.fetch_sessions) == 0


@pytest.mark.parametrize("version", [4, 12, 13])
def test_f01_an_answer_of_many_topics_is_as_in_one_piece(
    handlers: Handlers, in_one_piece: Callable[[], None], version: int
) -> None:
    """Topics in turn, of one partition and of several."""
    kind = messages.FetchRequest
    value = handlers.fetch_request(max_wait_ms=0)
    topic_id = handlers.cluster.topics[MANY].topic_id
    value.topics = [
        kind.FetchTopic(
            topic=MANY if number % 3 else "unknown",
            topic_id=topic_id if number % 3 else (number + 1).to_bytes(16, "big"),
            partitions=[wanted(number + more) for more in range(0, 600 * (number % 7), 600)],
        )
        for number in range(COUNT)
    ]
    append(handlers, 8)

    def ask() -> Any:
        return asyncio.run(handlers.answer(FETCH, version, value))

    in_turns = ask()
    in_one_piece()
    assert in_turns == ask()
    assert len(in_turns.responses) > 10
    assert any(size(each) for each in fetched(in_turns))


@pytest.mark.parametrize("session_epoch", [-1, 0], ids=["F-40 no session", "F-47 a session"])
def test_nothing_of_many_is_left_to_the_garbage_collector(
    handlers: Handlers, session_epoch: int
) -> None:
    """It does nothing else while it goes through 100,000 partitions, each in a cycle: 60 ms."""
    value = request(handlers, session_epoch=session_epoch)
    answer(handlers, value)
    gc.collect()
    gc.disable()
    try:
        session_id = answer(handlers, value).session_id
        handlers.context.fetch_sessions.remove(session_id)
        assert gc.collect() < COUNT
    finally:
        gc.enable()


def test_f47_a_session_that_is_removed_in_a_long_poll_is_answered(handlers: Handlers) -> None:
    """What the poll needs is given up at its end."""
    sessions = handlers.context.fetch_sessions
    session_id = answer(handlers, request(handlers, session_epoch=0)).session_id
    session = sessions.get(session_id)
    assert session is not None
    kept = session.partitions

    async def poll() -> Any:
        value = handlers.fetch_request(
            session_id=session_id, session_epoch=1, max_wait_ms=60_000, topic=MANY
        )
        waiting = asyncio.ensure_future(handlers.answer(FETCH, 12, value))
        while not kept.listeners:
            await checkpoint()
        sessions.remove(session_id)
        assert len(kept) == COUNT + 5
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(poll())
    assert len(kept) == 0


async def leave(_: list[Any]) -> None:
    """Stands for a pause in which the client leaves."""
    raise asyncio.CancelledError


def is_left(handlers: Handlers, value: Any) -> bool:
    async def ask() -> bool:
        waiting = asyncio.ensure_future(dispatched(handlers, value))
        await asyncio.wait([waiting])
        return waiting.cancelled()

    return asyncio.run(ask())


async def dispatched(handlers: Handlers, value: Any) -> Any:
    """What a request is answered that is large by its bytes."""
    body = messages.FetchRequest.encode(value, 12)
    parts = await dispatch(handlers.context, handlers.request(FETCH, 12, body))
    assert parts is not None
    return messages.FetchResponse.decode(join(parts), 12)[0]


def test_nothing_is_left_of_a_client_that_leaves_before_the_first_look(
    handlers: Handlers, in_a_pause: InAPause
) -> None:
    """A collection that is too late would keep 60 MB for good, as the lane freezes what is left."""
    in_a_pause(fetch_many, leave)
    value = request(handlers, session_epoch=0)
    assert is_left(handlers, value)
    gc.collect()
    gc.disable()
    try:
        assert is_left(handlers, value)
        assert gc.collect() < COUNT
    finally:
        gc.enable()
    assert len(handlers.context.fetch_sessions) == 0


def test_f47_what_a_client_added_before_it_left_counts(
    handlers: Handlers, in_a_pause: InAPause
) -> None:
    sessions = handlers.context.fetch_sessions
    first = handlers.fetch_request(wanted(0), session_epoch=0, topic=MANY)
    session = sessions.get(answer(handlers, first).session_id)
    assert session is not None
    in_a_pause(fetch_many, leave)
    assert is_left(handlers, request(handlers, session_id=session.session_id, session_epoch=1))
    assert len(session.partitions) == COUNT + 5
    assert sessions.size_bytes == session.partitions.size_bytes


def test_f47_a_session_that_ends_while_a_large_request_is_read(
    handlers: Handlers, in_a_pause: InAPause
) -> None:
    """The answer is complete, and the client begins a new session."""
    sessions = handlers.context.fetch_sessions
    session_id = answer(handlers, request(handlers, session_epoch=0)).session_id

    async def end(items: list[Any]) -> None:
        sessions.remove(session_id)
        await let_go(items)

    in_a_pause(fetch_many, end)
    append(handlers, 3)
    value = request(handlers, session_id=session_id, session_epoch=1)
    answered = asyncio.run(dispatched(handlers, value))
    assert (answered.error_code, answered.session_id) == (0, 0)
    assert [p[0] for p in by_partition(answered) if p[3]] == [3]
    assert (len(sessions), sessions.size_bytes) == (0, 0)
    assert not handlers.log(5, MANY).visibility.is_watched


def test_f47_large_polls_count_as_sessions_while_they_wait(handlers: Handlers) -> None:
    """Each keeps 60 MB for 100,000 partitions; one for which there is no room does not wait."""
    value = handlers.fetch_request(*map(wanted, range(COUNT)), max_wait_ms=60_000, topic=MANY)
    size_bytes = COUNT * (PARTITION_BYTES + len(MANY))
    handlers.context.fetch_sessions = sessions = FetchSessionCache(9, 2 * size_bytes - 1)

    async def poll() -> Any:
        waiting = asyncio.ensure_future(dispatched(handlers, value))
        while not handlers.log(COUNT - 1, MANY).visibility.is_watched:
            await checkpoint()
        assert sessions.size_bytes == size_bytes
        answered = await dispatched(handlers, value)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        return answered

    assert len(fetched(asyncio.run(poll()))) == COUNT
    assert sessions.size_bytes == 0
    first = asyncio.run(dispatched(handlers, request(handlers, session_epoch=0)))
    assert first.session_id, "what is held while it waits is given back before it is a session"


def counted(in_a_pause: InAPause, module: ModuleType) -> list[int]:
    """How many items there are in each list that a module lets go of, from now on."""
    counts: list[int] = []

    async def count(items: list[Any]) -> None:
        counts.append(len(items))
        await let_go(items)
        assert items == []

    in_a_pause(module, count)
    return counts


def test_f45_what_a_session_has_read_is_let_go_of_some_at_a_time(
    handlers: Handlers, in_a_pause: InAPause
) -> None:
    """All of it was looked at for another isolation level, and only the unknown ones are told."""
    session_id = answer(handlers, request(handlers, session_epoch=0)).session_id
    counts = counted(in_a_pause, fetch)
    value = handlers.fetch_request(
        session_id=session_id, session_epoch=1, isolation_level=1, topic=MANY
    )
    assert len(fetched(answer(handlers, value))) == 5
    assert counts == [COUNT + 5]


def test_f31_what_a_long_poll_has_read_is_let_go_of_some_at_a_time(
    handlers: Handlers, in_a_pause: InAPause
) -> None:
    counts = counted(in_a_pause, delayed_fetch)
    value = handlers.fetch_request(*map(wanted, range(COUNT)), max_wait_ms=1, topic=MANY)
    assert len(fetched(answer(handlers, value))) == COUNT
    assert counts == [COUNT]

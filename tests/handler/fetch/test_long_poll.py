"""The long poll: F-30 to F-32, and what wakes it."""

import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from broker_lite.control import rounds
from broker_lite.handler.fetch.long_poll import is_complete
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME
from broker_lite.handler.fetch.partition import FetchPartitions
from broker_lite.handler.fetch.read import FetchTerms
from broker_lite.record.control import EndTransactionMarker
from broker_lite.wire.fetch_request import WantedPartition
from tests.handler.data_apis import FETCH, Handlers, fetched, size, wanted
from tests.log.batches import batch, record

pytestmark = pytest.mark.anyio

BATCH = batch(record())
SIZE = len(BATCH)
LONG_MS = 60_000
CROWD = 160


@pytest.fixture
async def handlers(handlers: Handlers) -> AsyncIterator[Handlers]:
    yield handlers
    assert not handlers.log(0).visibility.is_watched or len(handlers.context.fetch_sessions)


async def settle() -> None:
    """Let the waiting fetch run as far as it goes."""
    for _ in range(5):
        await checkpoint()


async def waits_until(handlers: Handlers, request: Any, *steps: Callable[[], Any]) -> list[Any]:
    """Fetch; all steps but the last leave it waiting, the last one completes it."""
    answers: list[Any] = []
    done = anyio.Event()

    async def fetch() -> None:
        answers.extend(fetched(await handlers.answer(FETCH, 12, request)))
        done.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(fetch)
            await settle()
            for step in steps:
                assert not done.is_set()
                step()
                await settle()
            await done.wait()
    return answers


def waiting_request(handlers: Handlers, *partitions: Any, **fields: Any) -> Any:
    return handlers.fetch_request(*partitions, **{"max_wait_ms": LONG_MS, **fields})


@pytest.mark.parametrize(
    ("partitions", "fields"),
    [
        pytest.param([wanted()], {"max_wait_ms": 0}, id="F-30 no wait"),
        pytest.param([wanted()], {"min_bytes": 0}, id="F-30 min_bytes 0"),
        pytest.param([wanted(1)], {}, id="F-30 enough"),
        pytest.param([wanted(0), wanted(1, offset=9)], {}, id="F-30 error"),
        pytest.param([wanted(0, last_fetched_epoch=0, offset=3)], {}, id="F-30 diverging"),
        pytest.param([wanted(7), wanted(8)], {}, id="F-30 nothing readable"),
        pytest.param([], {}, id="F-30 no partitions"),
        pytest.param([wanted(1)], {"min_bytes": 10**9, "max_bytes": 1}, id="F-11 min and max"),
    ],
)
async def test_f30_answers_at_once(
    handlers: Handlers, partitions: list[Any], fields: dict[str, int]
) -> None:
    handlers.produce(BATCH, partitions=[1])
    handlers.now(FETCH, 12, waiting_request(handlers, *partitions, **fields))


async def test_f31_an_append_wakes(handlers: Handlers) -> None:
    (answer,) = await waits_until(
        handlers, waiting_request(handlers, wanted()), lambda: handlers.produce(BATCH)
    )
    assert (size(answer), answer.high_watermark) == (SIZE, 1)


@pytest.mark.parametrize("max_wait_ms", [LONG_MS, 500])
async def test_f31_f32_others_have_their_turn_while_a_crowd_is_answered(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch, max_wait_ms: int
) -> None:
    monkeypatch.setattr(rounds, "ROUND_S", 0)
    request = waiting_request(handlers, wanted(), max_wait_ms=max_wait_ms)
    answered = 0
    counts: list[int] = []

    async def fetch() -> None:
        nonlocal answered
        await handlers.answer(FETCH, 12, request)
        answered += 1

    async with anyio.create_task_group() as group:
        for _ in range(CROWD):
            group.start_soon(fetch)
        await settle()
        assert answered == 0
        if max_wait_ms == LONG_MS:
            handlers.produce(BATCH)
        else:
            time.sleep(0.6)  # noqa: ASYNC251 - the time of all is over
        while answered < CROWD:
            counts.append(answered)
            await checkpoint()
    assert max(later - sooner for sooner, later in pairwise(counts)) <= CROWD // 5


async def test_f31_only_the_fetched_partition_wakes(handlers: Handlers) -> None:
    request = waiting_request(handlers, wanted(1))
    append_0 = lambda: handlers.produce(BATCH, partitions=[0])  # noqa: E731
    append_1 = lambda: handlers.produce(BATCH, partitions=[1])  # noqa: E731
    (answer,) = await waits_until(handlers, request, append_0, append_1)
    assert size(answer) == SIZE


async def test_f31_g_bytes_of_all_partitions_count(handlers: Handlers) -> None:
    request = waiting_request(handlers, wanted(0), wanted(1), min_bytes=3 * SIZE)
    both = lambda: handlers.produce(BATCH, BATCH)  # noqa: E731
    answers = await waits_until(handlers, request, both, lambda: handlers.produce(BATCH))
    assert [size(each) for each in answers] == [2 * SIZE, SIZE]


async def test_f31_g_what_is_there_counts_too(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    request = waiting_request(handlers, wanted(0), min_bytes=2 * SIZE)
    (answer,) = await waits_until(handlers, request, lambda: handlers.produce(BATCH))
    assert size(answer) == 2 * SIZE


async def test_f04_unknown_partitions_do_not_end_the_wait(handlers: Handlers) -> None:
    request = waiting_request(handlers, wanted(7), wanted(0))
    answers = await waits_until(handlers, request, lambda: handlers.produce(BATCH))
    assert [(each.partition_index, each.error_code) for each in answers] == [(0, 0), (7, 3)]


async def test_f31_f_a_new_segment_ends_the_wait(handlers: Handlers) -> None:
    def roll_and_append() -> None:
        handlers.log().roll(handlers.clock.now_ms())
        handlers.produce(BATCH)

    handlers.produce(BATCH)
    request = waiting_request(handlers, wanted(offset=1), min_bytes=10 * SIZE)
    (answer,) = await waits_until(handlers, request, roll_and_append)
    assert size(answer) == SIZE


async def test_f31_f_older_segments_are_answered_at_once(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    handlers.log().roll(handlers.clock.now_ms())
    handlers.produce(BATCH)
    handlers.now(FETCH, 12, waiting_request(handlers, wanted(), min_bytes=10 * SIZE))


async def test_f31_c_p110_a_deleted_topic_ends_the_wait(handlers: Handlers) -> None:
    request = waiting_request(handlers, wanted())
    (answer,) = await waits_until(handlers, request, lambda: handlers.delete("t"))
    assert answer.error_code == 3
    handlers.create("t")


async def test_f31_log_start_changes_are_looked_at(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    request = waiting_request(handlers, wanted(), min_bytes=10 * SIZE)
    (answer,) = await waits_until(
        handlers, request, lambda: handlers.log().delete_records_before(1)
    )
    assert answer.error_code == 1


async def test_f31_committed_readers_wait_for_the_end_marker(handlers: Handlers) -> None:
    log = handlers.log()
    transactional = batch(record(), attributes=0x10, producer=(1, 0, 0))
    request = waiting_request(handlers, wanted(), isolation_level=1)
    (answer,) = await waits_until(
        handlers,
        request,
        lambda: log.append_batch(transactional, now_ms=1),
        lambda: log.append_control(1, 0, EndTransactionMarker(True, 0), now_ms=1),
    )
    assert size(answer) == log.segments.size_bytes


async def test_f31_e_a_new_leader_epoch_ends_the_wait(handlers: Handlers) -> None:
    log = handlers.log()

    def new_epoch() -> None:
        log.become_leader(2)
        handlers.produce(BATCH)

    handlers.produce(BATCH)
    log.become_leader(1)
    partition = wanted(offset=1, last_fetched_epoch=0, current_leader_epoch=1)
    request = waiting_request(handlers, partition, min_bytes=10 * SIZE)
    (answer,) = await waits_until(handlers, request, new_epoch)
    assert answer.error_code == 74


async def test_f32_expiry_answers_what_is_there(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    request = waiting_request(handlers, wanted(), min_bytes=10 * SIZE, max_wait_ms=20)
    with anyio.fail_after(10):
        (answer,) = fetched(await handlers.answer(FETCH, 12, request))
    assert (answer.error_code, size(answer)) == (0, SIZE)


async def test_f31_a_partition_limit_below_min_bytes_waits_for_the_timeout(
    handlers: Handlers,
) -> None:
    handlers.produce(BATCH)
    request = waiting_request(handlers, wanted(max_bytes=10), min_bytes=SIZE + 1, max_wait_ms=20)
    with anyio.fail_after(10):
        (answer,) = fetched(await handlers.answer(FETCH, 12, request))
    assert size(answer) == SIZE


@pytest.mark.parametrize("session_epoch", [-1, 0])
async def test_a_cancelled_wait_leaves_nothing_behind(
    handlers: Handlers, session_epoch: int
) -> None:
    request = waiting_request(handlers, wanted(0), wanted(1), session_epoch=session_epoch)
    async with anyio.create_task_group() as group:
        group.start_soon(handlers.answer, FETCH, 12, request)
        await settle()
        assert handlers.log().visibility.is_watched
        group.cancel_scope.cancel()
    assert not handlers.log().visibility.is_watched
    assert not handlers.log(1).visibility.is_watched
    assert len(handlers.context.fetch_sessions) == 0


async def test_f41_a_request_that_overtook_another_of_its_session(handlers: Handlers) -> None:
    full = await handlers.answer(FETCH, 12, handlers.fetch_request(wanted(0), session_epoch=0))
    session_id = full.session_id
    answers: list[Any] = []

    async def slow() -> None:
        request = waiting_request(handlers, session_id=session_id, session_epoch=1)
        answers.append(await handlers.answer(FETCH, 12, request))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            await settle()
            request = handlers.fetch_request(session_id=session_id, session_epoch=2)
            fast = await handlers.answer(FETCH, 12, request)
            assert (fast.error_code, fetched(fast)) == (0, [])
            handlers.produce(BATCH)
    (answer,) = answers
    assert (answer.error_code, answer.session_id, answer.responses) == (71, session_id, [])


async def test_f31_a_session_waits_for_all_its_partitions(handlers: Handlers) -> None:
    request = handlers.fetch_request(wanted(0), wanted(1), session_epoch=0)
    full = await handlers.answer(FETCH, 12, request)
    answers = await waits_until(
        handlers,
        waiting_request(handlers, session_id=full.session_id, session_epoch=1),
        lambda: handlers.produce(BATCH, partitions=[1]),
    )
    assert [(each.partition_index, size(each)) for each in answers] == [(1, SIZE)]


async def test_p04_others_have_their_turn_while_many_partitions_are_looked_at(
    handlers: Handlers,
) -> None:
    partitions = FetchPartitions()
    for index in range(3 * PARTITIONS_AT_A_TIME):
        partitions.want("unknown", WantedPartition(index, 0, 1000))
    terms = FetchTerms(12, False, 0, LONG_MS, 1, 1000, 1)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        assert not await is_complete(handlers.cluster, terms, partitions)
        group.cancel_scope.cancel()
    assert turns >= 3

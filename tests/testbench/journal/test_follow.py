"""Followers get each entry once, and are told what they missed."""

from typing import Any

import anyio
import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.follow import QUEUE_MAX, Follower, Missed, Pace, follow
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.selectors import Selectors
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, recording

pytestmark = pytest.mark.anyio
HEARTBEAT = messages.HeartbeatRequest
SYNC = messages.SyncGroupRequest


def beat(journal: Journal, kind: Any = HEARTBEAT, version: int = 4) -> None:
    Client(journal).send(kind, kind(), version)


async def get(follower: Follower, count: int) -> list[str]:
    """The next news: ids, and how many were missed."""
    news = []
    with anyio.fail_after(5):
        for _ in range(count):
            found = await anext(follower)
            news.append(f"-{found.requests}" if isinstance(found, Missed) else found.entry.id)
    return news


async def has_no_news(follower: Follower) -> bool:
    with anyio.move_on_after(0.01):
        await anext(follower)
        return False
    return True


async def test_from_now_on() -> None:
    journal = recording()
    beat(journal)
    with follow(journal) as follower:
        assert await has_no_news(follower)
        beat(journal)
        beat(journal)
        assert await get(follower, 2) == ["r2", "r3"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(get, follower, 1)
            await anyio.wait_all_tasks_blocked()
            beat(journal)
    assert journal.ends == []


async def test_from_an_entry_on() -> None:
    journal = recording()
    for _ in range(4):
        beat(journal)
    with follow(journal, after=2) as follower:
        beat(journal)
        assert await get(follower, 3) == ["r3", "r4", "r5"]
        assert await has_no_news(follower)


async def test_only_what_matches() -> None:
    journal = recording()
    beat(journal)
    beat(journal, SYNC, 5)
    with follow(journal, Selectors(keys=["SyncGroup"]), after=0) as follower:
        beat(journal)
        beat(journal, SYNC, 5)
        assert await get(follower, 2) == ["r2", "r4"]


async def test_a_slow_follower_is_told_what_it_missed() -> None:
    journal = recording()
    with follow(journal, queue_max=2) as follower:
        for _ in range(5):
            beat(journal)
        assert await get(follower, 3) == ["-3", "r4", "r5"]


async def test_entries_that_were_dropped_in_the_meantime_are_missed() -> None:
    journal = recording(keep=2)
    with follow(journal) as follower:
        for _ in range(5):
            beat(journal)
        assert await get(follower, 3) == ["-3", "r4", "r5"]


async def test_a_late_follower_is_told_what_is_gone() -> None:
    journal = recording(keep=2)
    for _ in range(5):
        beat(journal)
    with follow(journal, after=1) as follower:
        assert await get(follower, 3) == ["r4", "r5", "-2"]
    with follow(journal, after=1) as follower:
        journal.clear()
        beat(journal)
        assert await get(follower, 2) == ["-4", "r6"]


async def test_a_request_that_is_worked_on_comes_once() -> None:
    journal = recording()
    client = Client(journal)
    go_on = anyio.Event()

    async def handle(context: Any, request: Any) -> None:
        await go_on.wait()

    async def request() -> None:
        await journal.hook_part(client.context, client.request(HEARTBEAT, HEARTBEAT(), 4), handle)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(request)
        await anyio.wait_all_tasks_blocked()
        beat(journal)
        with follow(journal, after=0) as follower, follow(journal, arrivals=True) as arrivals:
            go_on.set()
            await anyio.wait_all_tasks_blocked()
            assert await get(follower, 2) == ["r2", "r1"]
            assert await has_no_news(follower)
            assert await has_no_news(arrivals)
            beat(journal)
            assert await get(arrivals, 1) == ["r3"]


async def test_wrong_selectors() -> None:
    journal = recording()
    with (
        pytest.raises(ControlError, match="there is no API"),
        follow(journal, Selectors(keys=["No"])),
    ):
        pass
    assert journal.ends == []


async def test_only_so_many_are_told_a_second() -> None:
    journal = recording()
    pace = Pace(20)
    with follow(journal, queue_max=pace.queue_max) as follower:
        for _ in range(10):
            beat(journal)
        assert await get(follower, 7) == ["-4", "r5", "r6", "r7", "r8", "r9", "r10"]
        with anyio.fail_after(5):
            for _ in range(5):
                assert not pace.is_last
                await pace.next()
            assert pace.is_last
            began = anyio.current_time()
            await pace.next()
        assert anyio.current_time() - began >= 0.29


async def test_without_a_rate_nobody_waits() -> None:
    pace = Pace(None)
    assert pace.queue_max == QUEUE_MAX
    with anyio.fail_after(5):
        for _ in range(2000):
            await pace.next()

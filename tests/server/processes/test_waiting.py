"""Processes that wait for a plan, and end when nobody has one."""

import asyncio
from collections.abc import Iterator

import pytest

from broker_lite.server.processes.waiting import Started, Waiting
from tests.server.processes.conftest import Cluster, wait_until


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    opened = Waiting()
    yield opened
    opened.close()


def end(started: Started) -> int:
    """Close the socket to a process, and return its exit code."""
    started[1].close()
    return started[0].wait(20)


def test_each_process_is_taken_once(waiting: Waiting) -> None:
    async def take() -> list[Started]:
        waiting.start(2)
        return [await waiting.take() for _ in range(3)]

    taken = asyncio.run(take())
    assert len({started[0].pid for started in taken}) == 3
    assert [end(started) for started in taken] == [0, 0, 0]


def test_one_that_has_ended_is_not_taken(waiting: Waiting) -> None:
    async def take() -> tuple[Started, Started]:
        waiting.start(1)
        first = await waiting.take()
        waiting.start(1)
        second = await waiting.take()
        return first, second

    first, second = asyncio.run(take())
    assert end(first) == 0
    assert not first[0].is_running
    assert second[0].is_running
    assert end(second) == 0


def test_nobody_waits_after_the_end(waiting: Waiting) -> None:
    async def begin() -> None:
        waiting.start(1)
        waiting.prepare()
        await waiting.stop()

    asyncio.run(begin())
    (started,) = [asyncio.run(waiting.take())]
    waiting.close()
    assert end(started) == 0


def test_a_process_waits_while_the_cluster_runs(started: Cluster) -> None:
    def spares() -> set[int]:
        return {one.pid for one in started.children() if one not in started.processes().values()}

    (spare,) = wait_until(spares)
    started.processes()[2].kill()
    wait_until(lambda: spare in {one.pid for one in started.processes().values()})
    assert started.processes()[2].pid == spare
    assert spare not in wait_until(spares)

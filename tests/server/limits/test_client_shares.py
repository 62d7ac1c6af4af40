"""What the clients of all nodes of a process share."""

import logging

import anyio
import pytest

from broker_lite.protocol.request_memory import NoMemory
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.client_shares import ClientShares
from broker_lite.server.limits.node_limits import Limits

MIB = 1 << 20


class Slow:
    """A client of a node that does not take its answer."""

    client_ip = "10.0.0.1"

    def __init__(self) -> None:
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def shares(limits: Limits | None = None, clients_max: int = 100) -> ClientShares:
    return ClientShares(limits or Limits(), clients_max, RateLimitedLog(lambda: 0))


def test_answers_of_all_nodes_count_together(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    both = shares(Limits(unsent_bytes_max=100))
    of_first, of_second = Slow(), Slow()
    both.unsent.hold(of_first, 60)
    both.unsent.hold(of_second, 50)
    assert (of_first.is_dropped, of_second.is_dropped) == (True, False)


def test_memory_that_runs_short_is_asked_back_from_all_nodes() -> None:
    both = shares(Limits(request_memory_bytes=MIB))
    pool = both.memory.large
    held = {1: MIB // 2, 2: MIB // 2}

    def release(node_id: int) -> None:
        pool.give_back(held.pop(node_id, 0))

    both.add(lambda: release(1))
    both.add(lambda: release(2))
    for size_bytes in held.values():
        pool.take(size_bytes)
    # There is none left until both nodes have given back theirs.
    pool.take(MIB)
    assert held == {}
    with pytest.raises(NoMemory):
        pool.take(1)


def test_a_node_that_has_ended_is_not_asked() -> None:
    both = shares(Limits(request_memory_bytes=MIB))
    asked: list[str] = []

    def first() -> None:
        asked.append("first")

    def second() -> None:
        asked.append("second")

    both.add(first)
    both.add(second)
    both.remove(first)
    both.memory.large.take(MIB)
    with pytest.raises(NoMemory):
        both.memory.large.take(1)
    assert asked == ["second"]


@pytest.mark.anyio
async def test_descriptors_of_all_nodes_count_together() -> None:
    both = shares(clients_max=2)
    both.descriptors.take()
    assert both.descriptors.has_free()
    both.descriptors.take()
    assert not both.descriptors.has_free()
    with anyio.move_on_after(0.01) as waiting:
        await both.descriptors.wait()
    assert waiting.cancelled_caught
    both.descriptors.give_back()
    with anyio.fail_after(1):
        await both.descriptors.wait()


@pytest.mark.anyio
async def test_every_listener_goes_on_when_clients_have_gone() -> None:
    """Not only the one that began to wait last."""
    both = shares(clients_max=1)
    both.descriptors.take()
    accepted: list[int] = []

    async def accept(number: int) -> None:
        await both.descriptors.wait()
        both.descriptors.take()
        accepted.append(number)

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(accept, number)
                await anyio.wait_all_tasks_blocked()
            for count in (1, 2, 3):
                both.descriptors.give_back()
                await anyio.wait_all_tasks_blocked()
                assert len(accepted) == count
    assert sorted(accepted) == [0, 1, 2]

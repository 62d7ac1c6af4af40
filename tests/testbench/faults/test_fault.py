"""What a rule tells of itself, holds, and is waited for."""

import asyncio

import anyio
import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults import fault as module
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker, request_of

pytestmark = pytest.mark.anyio
HEARTBEAT = messages.HeartbeatRequest


@pytest.fixture(params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


async def beat(bench: FaultyBroker, group: str = "g", client: str | None = "me") -> object:
    return await bench.answer(request_of(HEARTBEAT, 4, HEARTBEAT(group_id=group), client))


async def test_held_requests_are_released_in_their_order(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], hold=True, count=3)
    done: list[str] = []

    async def one(name: str) -> None:
        await beat(bench, name)
        done.append(name)

    async with anyio.create_task_group() as group:
        for name in "abcd":
            group.start_soon(one, name)
            await anyio.wait_all_tasks_blocked()
        assert done == ["d"]
        assert fault.state().held == 3
        assert bench.handled == [] or len(bench.handled) == 1
        assert fault.release(2) == 2
        await anyio.wait_all_tasks_blocked()
        assert done == ["d", "a", "b"]
        assert fault.release() == 1
    assert done == ["d", "a", "b", "c"]
    assert fault.release() == 0
    assert (fault.hits, fault.held, bench.faults.held) == (3, 0, 0)


async def test_removal_releases(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], hold=True)
    async with anyio.create_task_group() as group:
        group.start_soon(beat, bench)
        await fault.wait(1, 5000)
        assert fault.held == 1
        bench.faults.remove(fault.id)
    assert len(bench.handled) == 1


async def test_a_client_that_goes_is_no_longer_held(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], hold=True)
    async with anyio.create_task_group() as group:
        group.start_soon(beat, bench)
        await fault.wait(1, 5000)
        group.cancel_scope.cancel()
    assert (fault.held, bench.faults.held, bench.handled) == (0, 0, [])


async def test_silence_ends_with_the_rule(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], silence=True)

    async def ask() -> None:
        with pytest.raises(CloseConnection, match=fault.id):
            await beat(bench)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await fault.wait(1, 5000)
        assert (fault.held, fault.release()) == (1, 0)
        bench.faults.clear()
    assert bench.handled == []


async def test_there_is_a_bound_to_what_is_held(
    bench: FaultyBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_MAX", 0)
    for action in ("hold", "silence"):
        fault = bench.rule(**{"keys": ["Heartbeat"], action: True})
        assert await beat(bench)
        assert fault.state().not_applied == 1
        assert "held already" in fault.state().reasons[0]
        bench.faults.clear()


async def test_a_wait_that_times_out_tells_what_is_there(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], group="other", observe=True, count=3)
    await beat(bench)
    with pytest.raises(ControlError) as caught:
        await fault.wait(2, 1)
    assert (caught.value.status, caught.value.text) == (
        408,
        "fault f1 has 0 of 2 hits after 1 ms; near: Heartbeat from client me: group 'g' is not "
        "'other'",
    )
    assert caught.value.found == fault.state()
    await beat(bench, "other")
    await fault.wait(1, 0)
    with pytest.raises(ControlError, match=r"1 of 2 hits after 1 ms$"):
        await fault.wait(2, 1)


async def test_a_wait_for_several_hits(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], observe=True, count=-1)
    async with anyio.create_task_group() as group:
        group.start_soon(fault.wait, 3, 5000)
        group.start_soon(fault.wait, 2, 5000)
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            await beat(bench)
    assert fault.state().left == -1


async def test_a_wait_ends_when_the_rule_is_removed(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], observe=True)

    async def wait() -> None:
        with pytest.raises(ControlError, match="f1 was removed") as caught:
            await fault.wait(1, 5000)
        assert caught.value.status == 404

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        bench.faults.remove(fault.id)
    assert fault.state().left == 0


async def test_near_misses(bench: FaultyBroker) -> None:
    fault = bench.rule(
        keys=["Heartbeat"], group="orders", client_id="java*", nodes=[7], observe=True
    )
    assert fault.near() == []
    await beat(bench, "order", "java-1")
    await beat(bench, "order", None)
    await beat(bench, "orders", "rdkafka")
    await beat(bench, "order", "java-2")
    await beat(bench, "order", "java-2")
    assert fault.near() == [
        "Heartbeat from client java-2: node 1 is not 7; group 'order' is not 'orders'",
        "Heartbeat from client rdkafka: node 1 is not 7; client_id 'rdkafka' is not 'java*'",
        "Heartbeat from client java-1: node 1 is not 7; group 'order' is not 'orders'",
    ]


async def test_what_the_schedule_lets_pass_is_near(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], skip=1, drop="before")
    later = bench.rule(keys=["Heartbeat"], after=fault.id, drop="before")
    await beat(bench)
    assert fault.near() == ["Heartbeat from client me: it is request 1 of 1 that skip lets pass"]
    assert later.near() == ["it waits for rule f1 to be spent"]
    await beat(bench)
    assert fault.state().near == []


async def test_only_the_last_misses_are_kept(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], group="orders", observe=True)
    for number in range(200):
        await beat(bench, f"g{number}")
    assert fault.near()[0].endswith("group 'g199' is not 'orders'")
    assert len(fault._misses) < 100


async def test_a_seed_is_told(bench: FaultyBroker) -> None:
    assert isinstance(bench.rule(probability=0.5, hold=True).state().seed, int)
    assert bench.rule(probability=0.5, seed=4, hold=True).state().seed == 4
    assert bench.rule(hold=True).state().seed is None


def test_outside_of_a_loop(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Heartbeat"], observe=True)
    asyncio.run(beat(bench))  # type: ignore[arg-type]
    assert fault.hits == 1

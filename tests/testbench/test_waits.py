"""Waits: they end when the state is there, or tell what is there when they time out."""

import asyncio
import time

import pytest

from broker_lite.errors import NotCoordinator
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.waits import Waits

pytestmark = pytest.mark.anyio


async def test_a_state_that_is_there_is_told_at_once() -> None:
    assert await Waits().until(lambda: 3, lambda found: found == 3, 0, "it") == 3


async def test_a_wait_ends_with_the_state() -> None:
    state = [0]
    asyncio.get_running_loop().call_later(0.02, state.append, 1)
    found = await Waits().until(lambda: len(state), lambda count: count == 2, 10_000, "it")
    assert found == 2


async def test_one_task_looks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, state = Waits(), [0]
    before = len(asyncio.all_tasks())
    callers = [
        asyncio.create_task(waits.until(lambda: state[0], bool, 10_000, "it")) for _ in range(10)
    ]
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) == before + len(callers) + 1
    state[0] = 1
    assert await asyncio.gather(*callers) == [1] * 10
    await asyncio.sleep(0.02)
    assert len(asyncio.all_tasks()) == before


async def test_a_time_out_tells_what_is_there() -> None:
    with pytest.raises(ControlError, match="it is not as wanted after 1 ms") as caught:
        await Waits().until(lambda: {"size": 1}, lambda _: False, 1, "it")
    assert (caught.value.status, caught.value.found) == (408, {"size": 1})


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ControlError(404, "there is no topic 'x'"), "there is no topic 'x'"),
        (NotCoordinator("nobody leads it"), "nobody leads it"),
        (NotCoordinator(), "NOT_COORDINATOR"),
    ],
)
async def test_a_time_out_tells_why_there_is_nothing(error: Exception, why: str) -> None:
    def look() -> int:
        raise error

    with pytest.raises(ControlError, match=f"^it is not as wanted after 1 ms: {why}$") as caught:
        await Waits().until(look, bool, 1, "it")
    assert (caught.value.status, caught.value.found) == (408, None)


async def test_what_is_not_there_yet_is_waited_for() -> None:
    errors = [ControlError(404, "not there"), ControlError(503, "not ready"), NotCoordinator()]

    def look() -> int:
        if errors:
            raise errors.pop()
        return 1

    assert await Waits().until(look, bool, 10_000, "it") == 1


@pytest.mark.parametrize("error", [ControlError(400, "no"), RuntimeError("a bug")])
async def test_errors_end_a_wait(error: Exception) -> None:
    def look() -> int:
        raise error

    with pytest.raises(type(error)):
        await Waits().until(look, bool, 10_000, "it")


async def test_a_caller_that_goes_is_forgotten() -> None:
    waits = Waits()
    caller = asyncio.create_task(waits.until(lambda: 0, bool, 10_000, "it"))
    await asyncio.sleep(0.01)
    before = asyncio.all_tasks()
    caller.cancel()
    await asyncio.sleep(0.02)
    assert len(asyncio.all_tasks()) == len(before) - 2


async def test_looks_that_take_long_are_made_less_often() -> None:
    """All of them together take a twentieth of the time, however many wait."""
    waits, looks = Waits(), []

    def look() -> int:
        looks.append(0)
        time.sleep(0.002)
        return 0

    async def look_in_turns() -> bool:
        return bool(look())

    async def tell() -> int:
        return 0

    callers = [waits.until(look, bool, 300, "it"), waits.until(look, bool, 300, "it")]
    callers += [waits.until_all(look_in_turns, tell, 300, "it") for _ in range(2)]
    assert all(await asyncio.gather(*callers, return_exceptions=True))
    assert 8 <= len(looks) <= 8 + 2 * 300 / (20 * 2)


async def test_a_state_of_many_parts() -> None:
    waits, state = Waits(), [0]

    async def is_met() -> bool:
        if not state[0]:
            raise ControlError(404, "not there")
        return state[0] > 1

    async def tell() -> list[int]:
        return state

    with pytest.raises(ControlError, match="it is not as wanted after 0 ms") as caught:
        await waits.until_all(is_met, tell, 0, "it")
    assert (caught.value.status, caught.value.found) == (408, [0])
    for later in (1, 2):
        asyncio.get_running_loop().call_later(later * 0.01, state.__setitem__, 0, later)
    assert await waits.until_all(is_met, tell, 10_000, "it") == [2]

    async def refuse() -> bool:
        raise ControlError(400, "no")

    with pytest.raises(ControlError, match="no"):
        await waits.until_all(refuse, tell, 10_000, "it")

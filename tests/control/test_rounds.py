"""Whose turn it is, on an event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from broker_lite.control import rounds as module
from broker_lite.control.rounds import AT_A_TIME, PER_S, Rounds, Wait

CROWD = 100


class Crowd:
    """Requests that come at the same moment, and a client that wants something else.

    Attributes:
        now_s: the time, which stands still unless the other client takes some.
        others_take_s: how long the other client is served each time.
        each_takes_s: how long a request takes.
        done: the numbers of the requests that have had their turn, and "other" for each time that
            the other client was served.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self.others_take_s = 0.0
        self.each_takes_s = 0.0
        self.rounds = Rounds(lambda: self.now_s)
        self.done: list[int | str] = []

    async def ask(self, number: int) -> None:
        await self.rounds.turn()
        self.now_s += self.each_takes_s
        self.done.append(number)

    async def fall_asleep(
        self, count: int, seconds: float = 60
    ) -> tuple[list[Wait], list[asyncio.Task[None]]]:
        """Let requests wait for a change; return their waits and their tasks."""
        waits = [Wait(self.rounds, seconds) for _ in range(count)]

        async def sleep(number: int) -> None:
            with waits[number] as wait:
                await wait.until_change()
            self.done.append(number)

        tasks = [asyncio.create_task(sleep(number)) for number in range(count)]
        await asyncio.sleep(0)
        return waits, tasks

    async def others(self) -> None:
        while len(self.numbers) < CROWD:
            self.done.append("other")
            self.now_s += self.others_take_s
            await asyncio.sleep(0)

    @property
    def numbers(self) -> list[int]:
        return [each for each in self.done if isinstance(each, int)]

    @property
    def longest(self) -> int:
        """How many requests came between two turns of the other client."""
        longest = 0
        since = 0
        for each in self.done:
            since = 0 if each == "other" else since + 1
            longest = max(longest, since)
        return longest


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(coroutine)


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round is over as soon as it has begun."""
    monkeypatch.setattr(module, "ROUND_S", 0)


@pytest.mark.usefixtures("no_time")
def test_a_crowd_has_its_turn_a_few_at_a_time() -> None:
    crowd = Crowd()

    async def all_at_once() -> None:
        await asyncio.gather(*(crowd.ask(number) for number in range(CROWD)), crowd.others())

    run(all_at_once())
    assert crowd.numbers == list(range(CROWD))
    assert crowd.longest <= AT_A_TIME


def test_a_few_that_are_short_do_not_wait() -> None:
    crowd = Crowd()

    async def one_after_the_other() -> None:
        for number in range(3):
            coroutine = crowd.ask(number)
            with pytest.raises(StopIteration):
                coroutine.send(None)

    run(one_after_the_other())
    assert crowd.numbers == [0, 1, 2]


@pytest.mark.usefixtures("no_time")
def test_who_comes_later_does_not_overtake() -> None:
    crowd = Crowd()

    async def in_two_waves() -> None:
        first = [asyncio.ensure_future(crowd.ask(number)) for number in range(CROWD // 2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(crowd.numbers) < CROWD // 2
        later = [asyncio.ensure_future(crowd.ask(number)) for number in range(CROWD // 2, CROWD)]
        await asyncio.gather(*first, *later)

    run(in_two_waves())
    assert crowd.numbers == list(range(CROWD))


@pytest.mark.usefixtures("no_time")
def test_clients_that_go_away_take_no_turn() -> None:
    crowd = Crowd()

    async def most_leave() -> None:
        asked = [asyncio.ensure_future(crowd.ask(number)) for number in range(CROWD)]
        await asyncio.sleep(0)
        for each in asked[1:-1]:
            each.cancel()
        await asked[-1]

    run(most_leave())
    assert crowd.numbers == [0, CROWD - 1]
    run(crowd.ask(7))
    assert crowd.numbers[-1] == 7


@pytest.mark.parametrize("others_take_s", [0.05, 0.1])
def test_a_crowd_does_not_fall_behind_where_others_take_long(others_take_s: float) -> None:
    crowd = Crowd()
    crowd.others_take_s = others_take_s

    async def all_at_once() -> None:
        await asyncio.gather(crowd.others(), *(crowd.ask(number) for number in range(CROWD)))

    run(all_at_once())
    assert crowd.numbers == list(range(CROWD))
    assert crowd.now_s <= CROWD / PER_S + 2 * others_take_s


def test_a_crowd_that_is_woken_goes_on_a_few_at_a_time() -> None:
    crowd = Crowd()

    async def all_at_once() -> None:
        waits, asleep = await crowd.fall_asleep(CROWD)
        for change in waits + waits:  # two changes
            change()
        await asyncio.gather(*asleep, crowd.others())

    run(all_at_once())
    assert crowd.numbers == list(range(CROWD))
    assert crowd.longest <= AT_A_TIME


def test_a_few_are_woken_at_once() -> None:
    crowd = Crowd()

    async def scene() -> None:
        waits, asleep = await crowd.fall_asleep(AT_A_TIME)
        for change in waits:
            change()
        await asyncio.sleep(0)
        assert crowd.numbers == list(range(AT_A_TIME))
        await asyncio.gather(*asleep)

    run(scene())


def test_who_is_woken_does_not_overtake_who_waits() -> None:
    crowd = Crowd()

    async def scene() -> None:
        waits, asleep = await crowd.fall_asleep(CROWD)
        for change in waits:
            change()
        asked = asyncio.ensure_future(crowd.ask(CROWD))
        await asyncio.gather(*asleep, asked)

    run(scene())
    assert crowd.numbers == list(range(CROWD + 1))


def test_a_crowd_whose_time_is_over_goes_on_a_few_at_a_time() -> None:
    crowd = Crowd()

    async def all_at_once() -> None:
        waits, asleep = await crowd.fall_asleep(CROWD, 0)
        await asyncio.gather(*asleep, crowd.others())
        assert all(wait.is_over for wait in waits)

    run(all_at_once())
    assert crowd.numbers == list(range(CROWD))
    assert crowd.longest <= AT_A_TIME


def test_a_change_before_the_wait_ends_it_at_once_and_only_once() -> None:
    async def scene() -> None:
        with Wait(Rounds(), 60) as wait:
            wait.begin()
            wait()
            await wait.until_change()
            wait.begin()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(wait.until_change(), 0.01)
            assert not wait.is_over

    run(scene())


def test_the_end_of_the_time_is_seen_by_who_looks_meanwhile() -> None:
    async def scene() -> None:
        with Wait(Rounds(), 0) as wait:
            wait.begin()
            await asyncio.sleep(0.01)
            await wait.until_change()
            assert wait.is_over

    run(scene())


def test_a_wait_that_has_ended_leaves_no_timer() -> None:
    async def scene() -> None:
        rounds = Rounds()
        with Wait(rounds, 0.005) as wait:
            pass
        await asyncio.sleep(0.02)
        assert not wait.is_over

    run(scene())


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("others_take_s", [0, 0.02])
def test_fewer_go_on_at_once_where_each_takes_long(others_take_s: float) -> None:
    crowd = Crowd()
    crowd.others_take_s, crowd.each_takes_s = others_take_s, 0.003

    async def all_at_once() -> None:
        await asyncio.gather(*(crowd.ask(number) for number in range(CROWD)), crowd.others())

    run(all_at_once())
    assert crowd.numbers == list(range(CROWD))
    assert crowd.longest <= AT_A_TIME  # the first ones: nobody knows yet how long they take
    rest = crowd.done[crowd.done.index(2 * AT_A_TIME) :]
    runs = "".join("o" if each == "other" else "x" for each in rest).split("o")
    assert max(map(len, runs)) <= (1 if not others_take_s else 3)

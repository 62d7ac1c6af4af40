"""Connections whose clients go at the same moment end a few at a time."""

import asyncio
from functools import partial

from broker_lite.server.departures import AT_A_TIME, Departures


async def some_rounds() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_crowd_that_goes_lets_others_have_their_turn() -> None:
    async def scene() -> None:
        departures = Departures(asyncio.get_running_loop())
        ended: list[int] = []
        for number in range(3 * AT_A_TIME):
            departures.add(partial(ended.append, number))
        counts = []
        for _ in range(5):
            await asyncio.sleep(0)
            counts.append(len(ended))
        assert counts == [0, AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME, 3 * AT_A_TIME]
        assert ended == [*range(3 * AT_A_TIME)]
        departures.add(partial(ended.append, -1))
        await some_rounds()
        assert ended[-1] == -1

    asyncio.run(scene())


def test_who_goes_meanwhile_comes_after_those_before() -> None:
    async def scene() -> None:
        departures = Departures(asyncio.get_running_loop())
        ended: list[str] = []

        def first() -> None:
            ended.append("first")
            departures.add(partial(ended.append, "third"))

        departures.add(first)
        departures.add(partial(ended.append, "second"))
        await some_rounds()
        assert ended == ["first", "second", "third"]

    asyncio.run(scene())


def test_an_error_of_one_keeps_none_of_the_others() -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        errors: list[object] = []
        loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
        departures = Departures(loop)
        ended: list[int] = []
        bug = ValueError("a bug")

        def fail() -> None:
            raise bug

        departures.add(fail)
        for number in range(AT_A_TIME):
            departures.add(partial(ended.append, number))
        await some_rounds()
        assert ended == [*range(AT_A_TIME)]
        assert errors == [bug]

    asyncio.run(scene())

"""Connections whose clients go at the same moment end a few at a time."""

import asyncio
from functools import partial

from broker_lite.server.departures import AT_A_TIME, Departures


def test_a_crowd_that_goes_lets_others_have_their_turn() -> None:
    async def scene() -> None:
        departures = Departures(asyncio.get_running_loop())
        ended: list[int] = []
        for number in range(3 * AT_A_TIME):
            departures.add(partial(ended.append, number))
        counts = []
        for _ in range(4):
            await asyncio.sleep(0)
            counts.append(len(ended))
        assert counts == [AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME, 3 * AT_A_TIME]
        assert ended == [*range(3 * AT_A_TIME)]
        departures.add(partial(ended.append, -1))
        await asyncio.sleep(0)
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
        await asyncio.sleep(0)
        assert ended == ["first", "second"]
        await asyncio.sleep(0)
        assert ended == ["first", "second", "third"]

    asyncio.run(scene())

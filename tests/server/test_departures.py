"""Connections whose clients go at the same moment end a few at a time."""

import asyncio

import pytest

from broker_lite.server.departures import AT_A_TIME, Departures


def test_a_crowd_that_goes_lets_others_have_their_turn() -> None:
    async def scene() -> None:
        departures = Departures(asyncio.get_running_loop())
        waiters: list[asyncio.Future[None]] = [asyncio.Future() for _ in range(3 * AT_A_TIME)]
        for each in waiters:
            departures.add(each, None)
        counts = []
        for _ in range(4):
            await asyncio.sleep(0)
            counts.append(sum(each.done() for each in waiters))
        assert counts == [AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME, 3 * AT_A_TIME]
        assert all(each.result() is None for each in waiters)

    asyncio.run(scene())


def test_errors_are_told_and_who_does_not_wait_any_more_is_left_out() -> None:
    async def scene() -> None:
        departures = Departures(asyncio.get_running_loop())
        lost, twice, stopped = (asyncio.Future[None]() for _ in range(3))
        departures.add(lost, ConnectionResetError("reset"))
        departures.add(twice, None)
        departures.add(twice, ConnectionResetError("again"))
        departures.add(stopped, None)
        stopped.cancel()
        assert await twice is None
        with pytest.raises(ConnectionResetError, match="reset"):
            await lost
        late: asyncio.Future[None] = asyncio.Future()
        departures.add(late, None)
        assert await late is None

    asyncio.run(scene())

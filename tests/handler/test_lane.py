"""The garbage collector is off while a request is in the lane."""

import asyncio
import gc

from broker_lite.handler.lane import Lane


def test_the_lane_leaves_garbage_alone_that_nobody_collects() -> None:
    async def pass_through() -> None:
        lane = Lane()
        await lane.enter()
        lane.leave()

    gc.disable()
    try:
        asyncio.run(pass_through())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_does_not_look_at_what_a_large_request_leaves() -> None:
    async def make(count: int) -> list[list[int]]:
        lane = Lane()
        await lane.enter()
        made = [[number] for number in range(count)]
        lane.leave()
        return made

    gc.collect()
    try:
        before = gc.get_freeze_count()
        few = asyncio.run(make(100))
        assert gc.get_freeze_count() == before
        many = asyncio.run(make(20_000))
        assert gc.get_freeze_count() - before >= len(many) + len(few)
    finally:
        gc.unfreeze()

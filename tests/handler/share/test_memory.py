"""ShareFetch where there is no memory for more runs of records: it waits until there is some."""

import asyncio
from typing import Any

import pytest

from tests.handler.share.share_requests import Sharer, acquired, batches_of, begun, run
from tests.support.handler_broker import HandlerBroker


def without_memory(broker: HandlerBroker) -> Sharer:
    """A member that has the records of partition 1; there is no memory for more runs."""
    sharer = Sharer(broker, partitions=2)
    sharer.append(5, 5)
    sharer.append(1, 1, 1, 1, partition=1)
    sharer.beat()
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    assert len(acquired(sharer.fetch(partitions=[1], batch_size=1), 1)) == 4
    assert sharer.say({0: [(0, 9, [2])]}) == {0: (0, None)}
    held = broker.coordinators.groups.shares.held
    held._bytes_max = held.size_bytes
    return sharer


@pytest.mark.parametrize("min_bytes", [1, 10])
@pytest.mark.parametrize("is_by_records", [True, False])
def test_k36_a_fetch_waits_for_memory(
    broker: HandlerBroker, min_bytes: int, is_by_records: bool
) -> None:
    """By records there is none to split a run, by batches none to acquire new records."""
    sharer, other = without_memory(broker), Sharer(broker, "n")
    other.beat()
    fields: dict[str, Any] = {"share_acquire_mode": 1, "count": 3, "min_bytes": min_bytes}
    expected = [(0, 2, 2)]
    if not is_by_records:
        assert acquired(sharer.fetch()) == [(0, 9, 2)]
        sharer.append(1)
        fields.update(share_acquire_mode=0)
        expected = [(10, 10, 1)]

    async def scene() -> None:
        assert acquired(await other.fetch_later(max_wait_ms=1, **fields)) == []
        waiting = asyncio.create_task(other.fetch_later(max_wait_ms=60_000, **fields))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        await sharer.fetch_later(said={1: [(0, 0, [1])]}, count=0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()  # there is memory for one run, which may not be enough
        await sharer.fetch_later(said={1: [(1, 3, [1])]}, count=0)
        assert acquired(await waiting) == expected
        assert not broker.coordinators.groups.shares.listeners._for_memory

    run(scene())


def test_k36_who_lacks_no_memory_is_not_woken_by_it(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.beat()

    async def scene() -> None:
        waiting = asyncio.create_task(sharer.fetch_later(max_wait_ms=60_000))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not broker.coordinators.groups.shares.listeners._for_memory
        sharer.append(1)
        assert acquired(await waiting) == [(0, 0, 1)]

    run(scene())


def test_k36_a_member_acquires_no_records_that_it_does_not_get(broker: HandlerBroker) -> None:
    sharer = begun(broker, *[1] * 10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    assert sharer.say({0: [(0, 9, [2])]}) == {0: (0, None)}
    held = broker.coordinators.groups.shares.held
    held._bytes_max = held.size_bytes
    answer = sharer.fetch(max_bytes=200)
    assert acquired(answer) == []
    answer = sharer.fetch(max_bytes=2000)
    assert acquired(answer) == [(0, 9, 2)]
    assert batches_of(answer) == [(each, each) for each in range(10)]

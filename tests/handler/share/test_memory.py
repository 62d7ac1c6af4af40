"""ShareFetch where there is no memory for more runs of records: it waits until there is some."""

import asyncio
from typing import Any

import pytest

from broker_lite.coordinator.share_records.held_states import RUN_BYTES
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker
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


def test_k36_who_can_be_given_no_whole_run_waits_for_memory(broker: HandlerBroker) -> None:
    sharer, other = without_memory(broker), Sharer(broker, "n")
    other.beat()

    async def scene() -> None:
        fields: dict[str, Any] = {
            "max_bytes": 80,
            "max_wait_ms": 60_000,
        }  # of two batches the first
        waiting = asyncio.create_task(other.fetch_later(**fields))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        await sharer.fetch_later(said={1: [(0, 3, [1])]}, count=0)
        assert acquired(await waiting) == [(0, 4, 2)]

    run(scene())


def test_k36_aborted_records_are_told_apart_as_far_as_there_is_memory(
    broker: HandlerBroker,
) -> None:
    sharer = begun(broker, **{"share.isolation.level": "read_committed"})
    log, now_ms = broker.cluster.log("t", 0), broker.clock.now_ms()
    for number in range(10):
        builder = BatchBuilder(
            producer_id=number, producer_epoch=0, base_sequence=0, is_transactional=True
        )
        builder.append(now_ms, None, b"x")
        log.append_batch(builder.build(), now_ms=now_ms)
    for number in range(10):
        marker = EndTransactionMarker(number % 2 == 0, 0)
        log.append_control(number, 0, marker, now_ms=now_ms)
    held = broker.coordinators.groups.shares.held
    held._bytes_max = held.size_bytes + 4 * RUN_BYTES
    seen = []
    while len(seen) < 5:
        some = acquired(sharer.fetch())
        assert some
        assert held.size_bytes <= held._bytes_max + 2 * RUN_BYTES
        assert sharer.say({0: [(first, last, [1]) for first, last, _ in some]}) == {0: (0, None)}
        seen += some
    assert seen == [(each, each, 1) for each in range(0, 10, 2)]

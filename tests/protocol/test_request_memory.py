"""The memory of all receive buffers: P-02, as Kafka's SimpleMemoryPool that is not strict."""

import pytest

from broker_lite.protocol.request_memory import (
    SMALL_BUFFER_BYTES,
    NoMemory,
    Pool,
    RequestMemory,
)


def nothing() -> None:
    pass


def test_memory_is_given_while_any_is_left() -> None:
    pool = Pool(100, nothing)
    pool.take(99)
    pool.take(5000)
    with pytest.raises(NoMemory) as refused:
        pool.take(1)
    assert refused.value.pool is pool
    pool.give_back(4999)
    with pytest.raises(NoMemory):
        pool.take(1)
    pool.give_back(1)
    pool.take(1)
    assert pool.used_bytes == 100


@pytest.mark.parametrize("limit", [-1, 0])
def test_without_a_limit_all_is_given(limit: int) -> None:
    pool = Pool(limit, nothing)
    pool.take(1 << 40)
    pool.take(1)
    pool.give_back(1)
    assert not pool.is_short


def test_whoever_waits_is_woken_in_turn() -> None:
    pool = Pool(100, nothing)
    woken: list[str] = []

    def first() -> None:
        woken.append("first")

    def second() -> None:
        woken.append("second")

    pool.take(150)
    pool.wait(first)
    pool.wait(second)
    assert pool.waiting_count == 2
    pool.give_back(40)
    assert woken == []
    pool.give_back(20)
    assert woken == ["first"]
    pool.take(5)  # it is the first one who takes, and there is some left
    assert woken == ["first", "second"]


def test_whoever_does_not_want_it_any_more_passes_it_on() -> None:
    pool = Pool(100, nothing)
    woken: list[str] = []

    def first() -> None:
        woken.append("first")

    def second() -> None:
        woken.append("second")

    def third() -> None:
        woken.append("third")

    pool.take(100)
    for each in (first, second, third):
        pool.wait(each)
    pool.forget(second)
    pool.give_back(50)
    assert woken == ["first"]
    pool.forget(first)
    assert woken == ["first", "third"]


def test_idle_connections_are_asked_once_when_memory_runs_short() -> None:
    asked: list[int] = []

    def reclaim() -> None:
        asked.append(pool.used_bytes)
        pool.give_back(40)

    pool = Pool(100, reclaim)
    pool.take(100)
    pool.take(50)
    assert asked == [100]
    assert pool.is_short
    with pytest.raises(NoMemory):
        pool.take(1)
    assert asked == [100]
    pool.give_back(60)
    assert pool.is_short
    pool.give_back(1)
    assert not pool.is_short


def test_small_buffers_have_memory_of_their_own() -> None:
    memory = RequestMemory(8 << 20)
    large, small = memory.of(SMALL_BUFFER_BYTES + 1), memory.of(SMALL_BUFFER_BYTES)
    assert (large.limit_bytes, small.limit_bytes) == (8 << 20, 2 << 20)
    large.take(100 << 20)
    assert not memory.has_waiting()
    large.wait(nothing)
    assert memory.has_waiting()
    small.take(1)
    large.forget(nothing)
    assert not memory.has_waiting()
    small.take(2 << 20)
    small.wait(nothing)
    assert memory.has_waiting()
    assert RequestMemory(1000).small.limit_bytes == 1 << 20
    assert RequestMemory().small.limit_bytes == -1

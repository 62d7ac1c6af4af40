"""P-18: the ways to slow topics. Times are lower bounds only: a machine may be slower."""

import time

import anyio
import pytest

from broker_lite.control.topics.slow_topics import (
    WAYS_MAX,
    Passage,
    SlowTopic,
    SlowTopics,
    Way,
)
from broker_lite.settings import Settings, TopicConfig, topic_config

pytestmark = pytest.mark.anyio

FOR_EVER = 1_000_000_000


@pytest.fixture(
    params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})],
    ids=["asyncio", "uvloop"],
)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


def way(bytes_per_s: int) -> Way:
    made = Way()
    made.set_rate(bytes_per_s)
    return made


async def settle() -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_p_18_bytes_take_their_time_one_after_the_other() -> None:
    slow, ended = way(1000), list[int]()

    async def carry(number: int) -> None:
        await slow.carry(40)
        ended.append(number)

    begin = time.monotonic()
    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(carry, number)
    # what a late timer takes is made up for, up to 10 ms
    assert time.monotonic() - begin >= 0.2 - 0.015
    assert ended == [0, 1, 2, 3, 4]


async def test_p_18_small_ones_take_as_long_together() -> None:
    slow = way(10_000)
    begin = time.monotonic()
    for _ in range(500):
        await slow.carry(2)
    assert time.monotonic() - begin >= 0.1 - 0.015


async def test_without_a_rate_nobody_waits() -> None:
    free = Way()
    free.take(FOR_EVER)
    with anyio.fail_after(20):
        for _ in range(100):
            await free.carry(FOR_EVER)


async def test_p_18_who_leaves_makes_room() -> None:
    slow, ended = way(1000), list[str]()

    async def carry(name: str, size_bytes: int, scope: anyio.CancelScope) -> None:
        with scope:
            await slow.carry(size_bytes)
            ended.append(name)

    leaving = [anyio.CancelScope(), anyio.CancelScope()]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(carry, "in front", FOR_EVER, leaving[0])
            group.start_soon(carry, "in line", FOR_EVER, leaving[1])
            group.start_soon(carry, "last", 10, anyio.CancelScope())
            await settle()
            for scope in leaving:
                scope.cancel()
    assert ended == ["last"]


@pytest.mark.parametrize("rate", [0, FOR_EVER])
async def test_p_18_another_rate_is_for_those_who_wait(rate: int) -> None:
    slow = way(1)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(slow.carry, 1_000_000)
            await settle()
            slow.set_rate(rate)


async def test_a_slower_rate_is_for_the_rest_only() -> None:
    now_s = [50.0]
    slow = Way(lambda: now_s[0])
    slow.set_rate(1000)
    ended = anyio.Event()

    async def carry() -> None:
        await slow.carry(1000)
        ended.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(carry)
            await settle()
            now_s[0] = 50.9
            slow.set_rate(10)
            await settle()
            now_s[0] = 59.0  # a tenth of the bytes was left, and takes ten seconds
            slow.set_rate(11)
            await settle()
            assert not ended.is_set()
            now_s[0] = 70.0
            slow.set_rate(12)


async def test_what_nobody_has_waited_for_is_waited_for_by_the_next_one() -> None:
    slow = way(1000)
    slow.take(100)
    begin = time.monotonic()
    await slow.carry(0)
    assert time.monotonic() - begin >= 0.1 - 0.015


def config_of(**texts: str) -> TopicConfig:
    configs = {f"broker.lite.load.{name.replace('_', '.')}": text for name, text in texts.items()}
    return topic_config(Settings({}), configs)


def test_topics_are_slow_by_their_configs() -> None:
    topics = SlowTopics()
    topics.follow("a", config_of(rtt_ms="50"))
    topics.follow("b", config_of(in_byte_rate="7", out_byte_rate="8"))
    topics.follow("c", config_of())
    assert list(topics) == ["a", "b"]
    assert (topics["a"].rtt_s, topics["b"].rtt_s) == (0.05, 0.0)
    assert (topics["b"].way_in.bytes_per_s, topics["b"].way_out.bytes_per_s) == (7, 8)
    kept = topics["b"]
    topics.follow("b", config_of(in_byte_rate="9"))
    assert topics["b"] is kept
    assert (kept.way_in.bytes_per_s, kept.way_out.bytes_per_s) == (9, 0)
    topics.follow("b", config_of())
    topics.forget("a")
    topics.forget("c")
    assert not topics


async def test_nobody_waits_for_a_deleted_topic() -> None:
    topics = SlowTopics()
    topics.follow("a", config_of(in_byte_rate="1"))
    passage = topics.passage_in({"a": FOR_EVER, "b": 5})
    assert passage is not None
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(passage.carry)
            await settle()
            topics.forget("a")


async def test_several_ways_carry_at_the_same_time() -> None:
    topics = SlowTopics(a=SlowTopic(), b=SlowTopic(), c=SlowTopic())
    topics.follow("a", config_of(out_byte_rate="1000", rtt_ms="20"))
    topics.follow("b", config_of(out_byte_rate="1", rtt_ms="30"))
    passage = topics.passage_out({"a": 50, "b": 0, "x": 1})
    assert passage is not None
    assert passage.rtt_s == 0.03
    begin = time.monotonic()
    await passage.carry()
    assert time.monotonic() - begin >= 0.05 - 0.015
    assert topics.passage_in({"x": 1}) is None
    assert topics.passage_out({}) is None


async def test_p_18_of_very_many_ways_those_count_that_take_longest() -> None:
    ways = [way(1000) for _ in range(3 * WAYS_MAX)]
    sizes = [1] * WAYS_MAX + [100] * WAYS_MAX + [2] * WAYS_MAX
    begin = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(Passage(list(zip(ways, sizes, strict=True)), 0.0).carry)
        await settle()
        waited = [each for each, size in zip(ways, sizes, strict=True) if size == 100]
        assert [each.waiting for each in ways] == [int(each in waited) for each in ways]
    assert time.monotonic() - begin >= 0.1 - 0.015
    # the others are busy all the same
    short = way(1000)
    begin = time.monotonic()
    await Passage([(short, 100), *((way(1000), 200) for _ in range(WAYS_MAX))], 0.0).carry()
    await short.carry(1)
    assert time.monotonic() - begin >= 0.1 - 0.015

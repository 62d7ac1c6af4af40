"""Timers: each key has one, and what is due comes once, the earliest first."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from broker_lite.coordinator.timers import GroupTimers, TimerKey, Timers

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 9), st.integers(0, 50)),
        st.tuples(st.just("cancel"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("advance"), st.just(0), st.integers(0, 20)),
    ),
    max_size=300,
)


def test_a_timer_that_is_set_again_is_moved() -> None:
    timers = Timers[str]()
    timers.set("a", 10)
    timers.set("a", 30)
    assert (timers.next_deadline_ms(), timers.deadline_ms("a"), len(timers)) == (30, 30, 1)
    assert timers.pop_due(29) is None
    assert timers.pop_due(30) == "a"
    assert timers.pop_due(30) is None
    assert timers.deadline_ms("a") is None


def test_a_timer_that_is_set_to_the_same_time_twice_comes_once() -> None:
    timers = Timers[str]()
    timers.set("a", 10)
    timers.set("a", 10)
    assert [timers.pop_due(10), timers.pop_due(10)] == ["a", None]


def test_those_of_the_same_time_come_in_the_order_in_which_they_were_set() -> None:
    timers = Timers[str]()
    for key in "cab":
        timers.set(key, 5)
    assert [timers.pop_due(5) for _ in range(3)] == ["c", "a", "b"]
    for key, deadline_ms in (("a", 20), ("b", 10), ("a", 10)):
        timers.set(key, deadline_ms)
    assert [timers.pop_due(10) for _ in range(2)] == ["b", "a"]


def test_memory_is_bounded_however_often_a_timer_is_moved() -> None:
    timers = Timers[tuple[str]]()
    keys = [(name,) for name in "abc"]
    unused = sum(map(sys.getrefcount, keys))
    for step in range(10_000):
        timers.set(keys[step % 3], 100_000 + step)
    assert sum(map(sys.getrefcount, keys)) - unused < 100
    assert sorted(timers) == keys
    assert timers.next_deadline_ms() == 109_997


@given(STEPS)
def test_as_a_dictionary_of_deadlines(steps: list[tuple[str, int, int]]) -> None:
    timers, expected, now_ms = Timers[int](), dict[int, int](), 0
    for kind, key, number in steps:
        if kind == "set":
            timers.set(key, now_ms + number)
            expected[key] = now_ms + number
        elif kind == "cancel":
            timers.cancel(key)
            expected.pop(key, None)
        else:
            now_ms += number
            due = {key: at for key, at in expected.items() if at <= now_ms}
            found = [timers.pop_due(now_ms) for _ in due]
            assert [due[key] for key in found if key is not None] == sorted(due.values())
            assert timers.pop_due(now_ms) is None
            expected = {key: at for key, at in expected.items() if key not in due}
        assert {key: timers.deadline_ms(key) for key in timers} == expected
        assert timers.next_deadline_ms() == min(expected.values(), default=None)
        assert all(key in timers for key in expected)


def test_timers_of_a_group_are_among_those_of_all() -> None:
    timers: Timers[TimerKey] = Timers()
    one, other = GroupTimers("a", timers), GroupTimers("b", timers)
    one.set("session", "m", 5)
    other.set("session", "m", 7)
    assert timers.deadline_ms(("a", "session", "m")) == 5
    one.cancel("session", "m")
    assert not one.is_set("session", "m")
    assert other.is_set("session", "m")
    assert not other.is_set("join", "m")

"""The assignor `sticky`: shares, stickiness, standbys.

Also tests: broker_lite.coordinator.streams.process.
"""

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.coordinator.streams import java_order
from broker_lite.coordinator.streams.assign import MemberBefore, Wanted, assign_sticky
from broker_lite.coordinator.streams.java_order import hash_order, hashes_of
from broker_lite.coordinator.streams.process import Process
from broker_lite.coordinator.streams.tasks import NO_TASKS, TaskSets


def wanted(standby_count: int = 0, stateful: str = "", **counts: int) -> Wanted:
    return Wanted(dict(sorted(counts.items())), frozenset(stateful), standby_count)


def members(**processes: str) -> dict[str, MemberBefore]:
    return again({}, **processes)


def again(targets: dict[str, TaskSets], **processes: str) -> dict[str, MemberBefore]:
    return {
        key: MemberBefore(
            processes[key], targets.get(key, NO_TASKS), hashes_of(key, processes[key])
        )
        for key in hash_order(sorted(processes))
    }


def active(targets: dict[str, TaskSets]) -> dict[str, dict[str, list[int]]]:
    return {
        member: {key: sorted(some) for key, some in target.active.items()}
        for member, target in targets.items()
    }


def test_tasks_are_shared_equally() -> None:
    """U-16."""
    targets = assign_sticky(members(a="a", b="b"), wanted(x=3))
    assert active(targets) == {"a": {"x": [0, 2]}, "b": {"x": [1]}}


def test_processes_with_more_members_get_more() -> None:
    """U-16: a process with two threads has twice the capacity."""
    targets = assign_sticky(members(a="p", b="p", c="q"), wanted(x=6))
    assert [sum(map(len, each.active.values())) for each in targets.values()] == [2, 2, 2]


def test_tasks_stay_where_they_are() -> None:
    """U-16: a member that joins gets the share above those of the others."""
    before = assign_sticky(members(a="a"), wanted(x=4))
    after = assign_sticky(again(before, a="a", b="b"), wanted(x=4))
    assert active(after) == {"a": {"x": [0, 1]}, "b": {"x": [2, 3]}}
    last = assign_sticky(again(after, b="b"), wanted(x=4))
    assert active(last) == {"b": {"x": [0, 1, 2, 3]}}


def test_a_standby_takes_over() -> None:
    """U-16: the task of a member that is gone goes to who has its state."""
    task = wanted(1, "x", x=3)
    before = assign_sticky(members(a="a", b="b", c="c"), task)
    holder = next(key for key, each in before.items() if each.standby.get("x") == {0})
    gone = next(key for key, each in before.items() if each.active.get("x") == {0})
    left = {key: key for key in "abc" if key != gone}
    assert 0 in assign_sticky(again(before, **left), task)[holder].active["x"]


def test_tasks_without_state_have_no_standby() -> None:
    targets = assign_sticky(members(a="a", b="b"), wanted(1, "x", x=1, y=1))
    assert [key for each in targets.values() for key in each.standby] == ["x"]


def test_a_process_has_a_task_once() -> None:
    """U-16: with one process there is no place for a standby."""
    targets = assign_sticky(members(a="p", b="p"), wanted(1, "x", x=2))
    assert all(not each.standby for each in targets.values())


def test_a_large_group_hashes_no_id_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-16: the hashes of the ids are known, so the time is that of the tasks, about 25 ms."""
    ids = [f"{each:036}" for each in range(1_000)]
    before = members(**dict(zip(ids, ids, strict=True)))
    tasks = wanted(1, "x", x=1_000)

    def fail(_: str) -> int:
        raise AssertionError("hashed again")

    monkeypatch.setattr(java_order, "java_string_hash", fail)
    targets = assign_sticky(before, tasks)
    assert {len(each.active["x"]) for each in targets.values()} == {1}


def test_a_large_group_asks_for_a_load_only_if_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """U-16: comparing the loads would ask hundreds of thousands of times, and take half the time.

    Each of the two heaps asks once for each process, and again after each task.
    """
    ids = [f"{each:03}" for each in range(500)]
    before = members(**dict(zip(ids, ids, strict=True)))
    asked = []

    def load(process: Process) -> float:
        asked.append(process)
        return sum(process.counts.values()) / len(process.counts)

    monkeypatch.setattr(Process, "load", property(load))
    assign_sticky(before, wanted(1, "x", x=1_000))
    heaps, polls = 2 * len(ids), 1_000 + 2 * 1_000
    assert len(asked) <= heaps + polls


def test_many_members_get_what_kafka_gives_them() -> None:
    """U-16: the digest is that of an assignor that was compared with a real Kafka step by step.

    Here are more members than there, so that the heaps are deep, and some processes have several.
    """
    tasks = wanted(2, "xy", x=150, y=70, z=20)
    processes = {f"m{each}": f"p{each % 40}" for each in range(60)}
    targets = assign_sticky(members(**processes), tasks)
    rest = {key: each for key, each in processes.items() if not key.endswith("3")}
    targets = assign_sticky(again(targets, **rest, new="p60", other="p2"), tasks)
    shown = [
        (member, *([(key, sorted(some)) for key, some in role.items()] for role in target))
        for member, target in targets.items()
    ]
    assert sha256(repr(shown).encode()).hexdigest() == (
        "437d33eb3d8a364169509b6a519ed8fc5b5005a7e77b2e5989c7b021080cf83f"
    )


@given(
    processes=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("pqr"), min_size=1),
    later=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("pqr"), min_size=1),
    counts=st.dictionaries(st.sampled_from("xyz"), st.integers(1, 6), min_size=1),
    stateful=st.frozensets(st.sampled_from("xyz")),
    standby_count=st.integers(0, 2),
)
def test_every_task_runs_once_and_is_nowhere_twice(
    processes: dict[str, str],
    later: dict[str, str],
    counts: dict[str, int],
    stateful: frozenset[str],
    standby_count: int,
) -> None:
    """U-16: whatever there was before."""
    task = Wanted(dict(sorted(counts.items())), stateful & counts.keys(), standby_count)
    before = assign_sticky(members(**processes), task)
    for some, targets in (
        (processes, before),
        (later, assign_sticky(again(before, **later), task)),
    ):
        runs = Counter(
            (key, index)
            for each in targets.values()
            for key, indexes in each.active.items()
            for index in indexes
        )
        assert runs == Counter((key, index) for key in counts for index in range(counts[key]))
        held = Counter(
            (some[member], key, index)
            for member, each in targets.items()
            for role in (each.active, each.standby)
            for key, indexes in role.items()
            for index in indexes
        )
        assert set(held.values()) == {1}
        copies = min(standby_count, len(set(some.values())) - 1)
        standbys = sum(len(v) for each in targets.values() for v in each.standby.values())
        assert standbys == copies * sum(counts[key] for key in task.stateful)

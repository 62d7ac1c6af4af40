"""Which process has which task."""

from dataclasses import replace

import pytest

from broker_lite.coordinator.streams.java_order import MemberHashes, hashes_of
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.roster import StreamsRoster
from broker_lite.coordinator.streams.tasks import AssignedTasks, TaskId

ZERO = TaskId("0", 0)


def test_the_process_of_a_task_is_known_until_it_is_given_back() -> None:
    """U-19."""
    roster = StreamsRoster()
    roster.put(StreamsMember(member_id="a", process_id="p", assigned=AssignedTasks({"0": {0: 2}})))
    assert roster.active(ZERO) == "p"
    roster.put(StreamsMember(member_id="a", process_id="p", pending=AssignedTasks({"0": {0: 2}})))
    assert roster.active(ZERO) == "p"
    roster.put(StreamsMember(member_id="a", process_id="p"))
    assert roster.active(ZERO) is None


def test_copies_are_known_by_process() -> None:
    """U-19."""
    roster = StreamsRoster()
    standby = AssignedTasks(standby={"0": frozenset({0})})
    roster.put(StreamsMember(member_id="a", process_id="p", assigned=standby))
    roster.put(StreamsMember(member_id="b", process_id="q", assigned=standby))
    assert roster.has_copy(ZERO, "p")
    roster.remove("a")
    assert (roster.has_copy(ZERO, "p"), roster.has_copy(ZERO, "q")) == (False, True)


def test_the_next_owner_keeps_a_task_when_the_last_one_goes() -> None:
    """In a compacted log the record of the next owner may come first."""
    roster = StreamsRoster()
    run = AssignedTasks({"0": {0: 2}})
    roster.put(StreamsMember(member_id="a", process_id="p", assigned=run))
    roster.put(StreamsMember(member_id="b", process_id="q", assigned=run))
    roster.remove("a")
    assert roster.active(ZERO) == "q"
    roster.remove("b")
    assert roster.held.count == 0


def test_the_hashes_of_ids_are_kept_with_the_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-16: they are computed once, unless the process changes."""
    computed: list[tuple[str, str]] = []

    def compute(member_id: str, process_id: str) -> MemberHashes:
        computed.append((member_id, process_id))
        return hashes_of(member_id, process_id)

    monkeypatch.setattr("broker_lite.coordinator.streams.roster.hashes_of", compute)
    roster = StreamsRoster()
    member = StreamsMember(member_id="a", process_id="p")
    roster.put(member)
    roster.put(replace(member, member_epoch=2))
    assert roster.hashes_of(member) == (97, 112)
    assert computed == [("a", "p")]
    roster.put(replace(member, process_id="q"))
    assert roster.hashes_of(replace(member, process_id="q")) == (97, 113)
    assert computed == [("a", "p"), ("a", "q")]
    roster.remove("a")
    assert roster.hashes_of(member) == (97, 112)

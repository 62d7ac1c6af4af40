"""Who a rebalance waits for, and for how long."""

from broker_lite.coordinator.classic.member import ClassicMember
from broker_lite.coordinator.classic.rebalance import Rebalance
from broker_lite.coordinator.classic.roster import Roster
from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.timers import GroupTimers, TimerKey, Timers
from tests.coordinator.classic.classic_driver import EMPTY, PREPARING, STABLE

CALLER = Caller(9, "c", "/h", 1)
TIMEOUT_MS = 5_000


class Group:
    """A rebalance of some members, with the timers of all groups."""

    def __init__(self, *member_ids: str, static: str = "") -> None:
        self.timers: Timers[TimerKey] = Timers()
        self.roster = Roster()
        for member_id in member_ids:
            self.roster.add(
                ClassicMember(
                    member_id,
                    instance_id="i" if member_id == static else None,
                    client_id="c",
                    client_host="/h",
                    session_timeout_ms=10,
                    rebalance_timeout_ms=TIMEOUT_MS,
                    protocols=[("x", b"")],
                )
            )
        self.rebalance = Rebalance(self.roster, GroupTimers("g", self.timers), 0)

    def park(self, member_id: str) -> None:
        self.rebalance.park_join(self.roster.members[member_id], CALLER)


def test_g45_everyone_joined() -> None:
    group = Group("a", "b")
    group.park("b")
    assert not group.rebalance.everyone_joined
    group.park("a")
    assert group.rebalance.everyone_joined
    group.roster.pending_members.add("c")
    assert not group.rebalance.everyone_joined
    group.roster.remove("c")
    first = group.roster.members["a"]
    assert group.rebalance.take_join(first) is CALLER
    assert group.rebalance.take_join(first) is None
    assert not group.rebalance.everyone_joined


def test_g45_leader_is_one_that_joined() -> None:
    group = Group("a", "b", "c")
    assert not group.rebalance.elect_joined_leader()
    group.park("c")
    assert group.rebalance.elect_joined_leader()
    assert group.roster.leader == "c"
    group.park("a")
    assert group.rebalance.elect_joined_leader()
    assert group.roster.leader == "c"
    assert not Group().rebalance.elect_joined_leader()


def test_g45_dynamic_members_that_did_not_join_are_missing() -> None:
    group = Group("a", "b", "c", static="b")
    group.park("c")
    assert group.rebalance.missing_members() == ["a"]
    group.park("a")
    group.park("b")
    assert group.rebalance.missing_members() == []


def test_g44_delay_goes_on_while_members_come() -> None:
    rebalance = Group("a").rebalance
    rebalance.begin(now_ms=1)
    assert (rebalance.state, rebalance.state_changed_ms, rebalance.is_initial) == (
        PREPARING,
        1,
        True,
    )
    rebalance.begin_delay(3_000)
    rebalance.note_new_member()
    assert rebalance.prolong_delay(3_000) == 2_000
    rebalance.note_new_member()
    assert rebalance.prolong_delay(3_000) == 0


def test_g44_delay_ends_when_nobody_came() -> None:
    rebalance = Group("a").rebalance
    rebalance.begin(now_ms=1)
    rebalance.note_new_member()
    rebalance.begin_delay(3_000)
    assert rebalance.prolong_delay(3_000) == 0


def test_g44_only_a_group_without_members_waits_for_more() -> None:
    rebalance = Group("a").rebalance
    rebalance.change_state(STABLE, 0)
    rebalance.begin(now_ms=1)
    assert not rebalance.is_initial
    rebalance.begin_delay(3_000)
    rebalance.note_new_member()
    assert rebalance.prolong_delay(3_000) == 0


def test_g34_syncs_are_waited_for() -> None:
    group = Group("a", "b", static="b")
    rebalance = group.rebalance
    rebalance.await_syncs(now_ms=1)
    assert group.timers.deadline_ms(("g", "sync", "")) == 1 + TIMEOUT_MS
    rebalance.replace_pending_sync("b", "new")
    rebalance.replace_pending_sync("other", "newer")
    assert rebalance.pending_syncs == {"a", "new"}
    rebalance.note_sync("a")
    assert len(group.timers) == 1
    rebalance.note_sync("new")
    assert len(group.timers) == 0


def test_timers_of_a_group_that_goes_stop() -> None:
    group = Group("a", "b")
    group.roster.promise("p")
    rebalance = group.rebalance
    assert (rebalance.state, rebalance.generation) == (EMPTY, 0)
    for member in group.roster.members.values():
        rebalance.restart_session(member, 5)
    assert group.timers.deadline_ms(("g", "session", "a")) == 15
    rebalance.start_session("p", 7)
    rebalance.set_join_timer(8)
    rebalance.await_syncs(9)
    assert len(group.timers) == 5
    rebalance.cancel_timers()
    assert len(group.timers) == 0

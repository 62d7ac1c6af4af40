"""The state of a classic group's rebalance: the way from one generation to the next.

A rebalance collects JoinGroup requests (PreparingRebalance). Then it answers them with the new
generation, and waits for the leader's assignments (CompletingRebalance). Then it sends these to the
members (Stable). The steps from one state to the next are in phases.py.

The class counts the members with an open JoinGroup, so that a join takes no longer in a group of
thousands.
"""

from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.classic.roster import Roster
from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.timers import JOIN, SESSION, SYNC, GroupTimers


class Rebalance:
    """The state of a group, its generation, its timers, and the members that it waits for.

    Attributes:
        state: see ClassicGroupState.
        state_changed_ms: when the state changed last, -1 if that is not known.
        generation: how many rebalances were completed.
        joins_parked: how many members have an open JoinGroup.
        pending_syncs: members that have joined this generation and have not sent SyncGroup.
        is_initial: whether it is the first rebalance of a group that had no members (G-44).
    """

    __slots__ = (
        "_delay_left_ms",
        "_delay_ms",
        "_member_came",
        "_roster",
        "_timers",
        "generation",
        "is_initial",
        "joins_parked",
        "pending_syncs",
        "state",
        "state_changed_ms",
    )

    def __init__(self, roster: Roster, timers: GroupTimers, now_ms: int) -> None:
        self.state = ClassicGroupState.EMPTY
        self.state_changed_ms = now_ms
        self.generation = 0
        self.joins_parked = 0
        self.pending_syncs: set[str] = set()
        self.is_initial = False
        self._roster = roster
        self._timers = timers
        self._delay_ms = 0
        self._delay_left_ms = 0
        self._member_came = False

    def change_state(self, state: ClassicGroupState, now_ms: int) -> None:
        """Change the state, and remember the time."""
        self.state = state
        self.state_changed_ms = now_ms

    def begin(self, now_ms: int) -> None:
        """Start a rebalance: collect JoinGroup requests from now on."""
        self.pending_syncs.clear()
        self._timers.cancel(SYNC, "")
        self.is_initial = self.state is ClassicGroupState.EMPTY
        self.change_state(ClassicGroupState.PREPARING_REBALANCE, now_ms)

    # the delay of the first rebalance

    def begin_delay(self, delay_ms: int) -> None:
        """Start the delay for more members; prolonged, it is at most their rebalance timeout."""
        self._member_came = False
        self._delay_ms = delay_ms
        self._delay_left_ms = max(self._roster.rebalance_timeout_ms - delay_ms, 0)

    def note_new_member(self) -> None:
        """Note that a new member joined, so that the delay may be prolonged."""
        self._member_came = True

    def prolong_delay(self, delay_ms: int) -> int:
        """Return how much longer to wait when a delay has ended; 0 to end the join phase."""
        if not (self.is_initial and self._member_came and self._delay_left_ms):
            return 0
        self._member_came = False
        waited_ms = self._delay_ms
        self._delay_ms = min(delay_ms, self._delay_left_ms)
        self._delay_left_ms = max(self._delay_left_ms - waited_ms, 0)
        return self._delay_ms

    # open JoinGroup requests

    def park_join(self, member: ClassicMember, caller: Caller) -> None:
        """Let a member's JoinGroup wait for its response."""
        assert member.join_token is None
        member.join_token = caller
        self.joins_parked += 1

    def take_join(self, member: ClassicMember) -> Caller | None:
        """Remove and return a member's open JoinGroup, which the caller has to answer."""
        caller = member.join_token
        if caller is not None:
            member.join_token = None
            self.joins_parked -= 1
        return caller

    @property
    def everyone_joined(self) -> bool:
        """Whether all members have an open JoinGroup, and no member id is pending."""
        roster = self._roster
        return len(roster.members) == self.joins_parked and not roster.pending_members

    def missing_members(self) -> list[str]:
        """Return the dynamic members without an open JoinGroup; static ones may stay away."""
        if self.joins_parked == len(self._roster.members):
            return []
        return [
            member_id
            for member_id, member in self._roster.members.items()
            if member.join_token is None and member.instance_id is None
        ]

    def elect_joined_leader(self) -> bool:
        """Make the first member with an open JoinGroup the leader, if the leader has none.

        Returns:
            Whether the leader has an open JoinGroup now.

        See: G-45 (ClassicGroup.maybeElectNewJoinedLeader).
        """
        roster = self._roster
        if roster.leader is not None and roster.members[roster.leader].join_token is not None:
            return True
        if self.joins_parked:
            roster.leader = next(
                member_id
                for member_id, member in roster.members.items()
                if member.join_token is not None
            )
        return self.joins_parked > 0

    # SyncGroup requests to come

    def await_syncs(self, now_ms: int) -> None:
        """Wait for a SyncGroup of each member, for as long as the longest rebalance timeout."""
        self.pending_syncs.update(self._roster.members)
        self._timers.set(SYNC, "", now_ms + self._roster.rebalance_timeout_ms)

    def note_sync(self, member_id: str) -> None:
        """Note that a member has sent its SyncGroup.

        See: G-34 (GroupMetadataManager.removePendingSyncMember).
        """
        self.pending_syncs.discard(member_id)
        if not self.pending_syncs:
            self._timers.cancel(SYNC, "")

    def replace_pending_sync(self, old_id: str, new_id: str) -> None:
        """Wait for a SyncGroup with the new id of a static member instead of the old id.

        Kafka keeps waiting for the old id, and rebalances when its SyncGroup does not come.
        """
        if old_id in self.pending_syncs:
            self.pending_syncs.remove(old_id)
            self.pending_syncs.add(new_id)

    # timers

    def set_join_timer(self, deadline_ms: int) -> None:
        """Set the timer that ends the join phase."""
        self._timers.set(JOIN, "", deadline_ms)

    def cancel_join_timer(self) -> None:
        """Stop the timer that ends the join phase."""
        self._timers.cancel(JOIN, "")

    def start_session(self, member_id: str, deadline_ms: int) -> None:
        """Start the session of a member, or of an id that was given out."""
        self._timers.set(SESSION, member_id, deadline_ms)

    def restart_session(self, member: ClassicMember, now_ms: int) -> None:
        """Restart the session of a member after a heartbeat or another request.

        Rule: G-30 (GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat).
        """
        self._timers.set(SESSION, member.member_id, now_ms + member.session_timeout_ms)

    def end_session(self, member_id: str) -> None:
        """Stop the session timer of a member, or of an id that was given out."""
        self._timers.cancel(SESSION, member_id)

    def cancel_timers(self) -> None:
        """Stop all timers of the group."""
        for member_id in (*self._roster.members, *self._roster.pending_members):
            self.end_session(member_id)
        self._timers.cancel(JOIN, "")
        self._timers.cancel(SYNC, "")

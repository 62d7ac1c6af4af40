"""The phases of a classic group's rebalance, and the timers that move it on.

A rebalance collects JoinGroup requests (PreparingRebalance), then tells everyone of the new
generation and waits for what the leader decides (CompletingRebalance), then hands that out
(Stable). Members that do not answer in time are left behind.
"""

from collections.abc import Callable, Mapping
from typing import Final

from broker_lite.coordinator.classic.answers import refuse_sync
from broker_lite.coordinator.classic.generation import SESSION, ClassicGeneration, TimerKey
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode

JOIN: Final = "join"
SYNC: Final = "sync"

# Nobody's timeout makes the group look more often than this for members that do not come.
_WAIT_AGAIN_MS_MIN: Final = 100

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE


class ClassicRebalance(ClassicGeneration):
    """A group that goes from one generation to the next."""

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        make_uuid: Callable[[], str],
        now_ms: int,
    ) -> None:
        super().__init__(group_id, timers, settings, make_uuid, now_ms)
        # only of the rebalance that a group without members starts with (G-44)
        self._is_initial = False
        self._delay_ms = 0
        self._delay_left_ms = 0
        self._member_came = False

    # the join phase

    def add_member(
        self, member: ClassicMember, caller: Caller, effects: Effects, now_ms: int
    ) -> None:
        """Take in a new member that waits for its first answer.

        Rule: G-31, G-43 (GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin).
        """
        member.is_new = True
        if self.state is _PREPARING and self._is_initial:
            self._member_came = True
        self.add(member)
        self.park_join(member, caller)
        key = (self.group_id, SESSION, member.member_id)
        self.timers.set(key, now_ms + self.settings.new_member_join_timeout_ms)
        self.rebalance_or_complete(effects, now_ms)

    def rebalance_or_complete(self, effects: Effects, now_ms: int) -> None:
        """Something changed: start a rebalance, or complete the one that runs."""
        if self.state is _PREPARING:
            self.complete_if_all_joined(effects, now_ms)
        else:
            self.prepare_rebalance(effects, now_ms)

    def complete_if_all_joined(self, effects: Effects, now_ms: int) -> None:
        """Complete the join phase if nobody is missing; the initial delay is always waited for.

        Rule: G-43 (GroupMetadataManager.maybeCompleteJoinPhase).
        """
        if self.state is _PREPARING and not self._is_initial and self.everyone_joined:
            self._complete_join(effects, now_ms)

    def prepare_rebalance(self, effects: Effects, now_ms: int) -> None:
        """Start a rebalance from Empty, CompletingRebalance or Stable.

        Rule: G-33, G-44 (GroupMetadataManager.prepareRebalance).
        """
        if self.state is _COMPLETING:
            for member in self.members.values():
                self.set_assignment(member, b"")
            self._end_syncs(ErrorCode.REBALANCE_IN_PROGRESS, effects, now_ms)
        self.pending_syncs.clear()
        self.timers.cancel((self.group_id, SYNC, ""))
        self._is_initial = self.state is _EMPTY
        self.change_state(_PREPARING, now_ms)
        if self._is_initial:
            self._start_delay(effects, now_ms)
        elif self.everyone_joined:
            self._complete_join(effects, now_ms)
        else:
            self._set_join_timer(now_ms + self.rebalance_timeout_ms)

    def _start_delay(self, effects: Effects, now_ms: int) -> None:
        self._member_came = False
        self._delay_ms = self.settings.initial_rebalance_delay_ms
        self._delay_left_ms = max(self.rebalance_timeout_ms - self._delay_ms, 0)
        if self._delay_ms > 0:
            self._set_join_timer(now_ms + self._delay_ms)
        else:
            self._complete_join(effects, now_ms)

    def _join_is_due(self, effects: Effects, now_ms: int) -> None:
        """The join timer ran out: wait for more members, or go on without the missing ones.

        Rule: G-44 (GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule).
        """
        if self._is_initial and self._member_came and self._delay_left_ms:
            self._member_came = False
            waited_ms = self._delay_ms
            self._delay_ms = min(self.settings.initial_rebalance_delay_ms, self._delay_left_ms)
            self._delay_left_ms = max(self._delay_left_ms - waited_ms, 0)
            self._set_join_timer(now_ms + self._delay_ms)
        else:
            self._complete_join(effects, now_ms)

    def _complete_join(self, effects: Effects, now_ms: int) -> None:
        """End the join phase with those who joined.

        Rule: G-45 (GroupMetadataManager.completeClassicGroupJoin).
        """
        self.timers.cancel((self.group_id, JOIN, ""))
        if self.joins_parked < len(self.members):
            self._drop_missing(effects)
        if not self.elect_joined_leader() and self.members:
            wait_ms = max(self.rebalance_timeout_ms, _WAIT_AGAIN_MS_MIN)
            self._set_join_timer(now_ms + wait_ms)
            return
        self.generation += 1
        self.choose_protocol()
        if not self.members:
            self.change_state(_EMPTY, now_ms)
            self.write(effects)
            return
        self.change_state(_COMPLETING, now_ms)
        for member in self.members.values():
            if (caller := self.take_join(member)) is not None:
                self.answer_join(member, caller, effects)
            self.restart_timer(member, now_ms)
            member.is_new = False
        self.pending_syncs.update(self.members)
        self.timers.set((self.group_id, SYNC, ""), now_ms + self.rebalance_timeout_ms)

    def _drop_missing(self, effects: Effects) -> None:
        missing = [
            member_id
            for member_id, member in self.members.items()
            if member.join_token is None and member.instance_id is None
        ]
        for member_id in missing:
            self.drop_member(member_id, effects)

    def _set_join_timer(self, deadline_ms: int) -> None:
        self.timers.set((self.group_id, JOIN, ""), deadline_ms)

    # the sync phase

    def park_sync(self, member: ClassicMember, caller: Caller, effects: Effects) -> None:
        """A member waits in a SyncGroup from now on.

        One that it sent before can have no reader any more; it is answered all the same.
        """
        if member.sync_token is not None:
            refuse_sync(effects, member.sync_token, ErrorCode.REBALANCE_IN_PROGRESS)
        member.sync_token = caller
        self.note_sync(member)

    def note_sync(self, member: ClassicMember) -> None:
        """A member came for its assignment.

        Rule: G-34 (GroupMetadataManager.removePendingSyncMember).
        """
        self.pending_syncs.discard(member.member_id)
        if not self.pending_syncs:
            self.timers.cancel((self.group_id, SYNC, ""))

    def can_hold(self, assignments: Mapping[str, bytes]) -> bool:
        """Whether there is memory for these assignments in place of those that members have."""
        more_bytes = sum(
            len(assignments.get(member_id, b"")) - len(member.assignment)
            for member_id, member in self.members.items()
        )
        return self.held.allows(more_bytes, self.settings.held_bytes_max)

    def assign(self, assignments: Mapping[str, bytes], effects: Effects, now_ms: int) -> None:
        """Hand out what the leader decided; who is not in it gets nothing.

        Rule: G-52 (GroupMetadataManager.setAndPropagateAssignment).
        """
        for member in self.members.values():
            self.set_assignment(member, assignments.get(member.member_id, b""))
        self.write(effects)
        self._end_syncs(ErrorCode.NONE, effects, now_ms)
        self.change_state(_STABLE, now_ms)

    def _end_syncs(self, error_code: ErrorCode, effects: Effects, now_ms: int) -> None:
        """Answer the open SyncGroup requests.

        A session that ran out while its member waited was passed over, so it starts again here.

        See: G-30 (GroupMetadataManager.propagateAssignment).
        """
        for member in self.members.values():
            caller = member.sync_token
            if caller is None:
                continue
            member.sync_token = None
            if error_code:
                refuse_sync(effects, caller, error_code)
            else:
                self.answer_sync(member, caller, effects)
            self.restart_timer(member, now_ms)

    # timers

    def on_timer(self, kind: str, member_id: str, effects: Effects, now_ms: int) -> None:
        """A timer of this group is due, and was taken out of the timers.

        Rule: G-31 to G-34.
        See: G-30.
        """
        if kind == SESSION:
            self._session_is_due(member_id, effects, now_ms)
        elif kind == JOIN:
            self._join_is_due(effects, now_ms)
        else:
            self._sync_is_due(effects, now_ms)

    def _session_is_due(self, member_id: str, effects: Effects, now_ms: int) -> None:
        """A member gave no sign of life, or a given-out id was not used.

        Rule: G-31, G-32 (GroupMetadataManager.expireClassicGroupMemberHeartbeat).
        See: G-30.
        """
        member = self.members.get(member_id)
        if member is not None and not member.is_new:
            waits = member.join_token is not None or member.sync_token is not None
            if waits:
                return
        self.drop_member(member_id, effects)
        if self.state is _PREPARING:
            # also within the initial delay, as in Kafka
            if self.everyone_joined:
                self._complete_join(effects, now_ms)
        elif member is not None:
            self.prepare_rebalance(effects, now_ms)

    def _sync_is_due(self, effects: Effects, now_ms: int) -> None:
        """Members did not come for their assignment: go on without them.

        Rule: G-34 (GroupMetadataManager.expirePendingSync).
        """
        for member_id in list(self.pending_syncs):
            self.drop_member(member_id, effects)
        self.prepare_rebalance(effects, now_ms)

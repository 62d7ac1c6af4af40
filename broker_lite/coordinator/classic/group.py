"""A classic group: what each request and each timer does to it.

A group is what its record says (GroupMetadataValue) plus what a rebalance needs until it is done:
that part is never written, and after a restart the members simply join again.

Rule: G-51, G-54 to G-57.
See: G-25 to G-50, G-52, G-53.
"""

from collections.abc import Callable

from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.answers import (
    LeaveResult,
    answer_heartbeat,
    answer_leave,
    leaving_members,
    refuse_sync,
)
from broker_lite.coordinator.classic.generation import SESSION, TimerKey
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.classic.rebalance import JOIN, SYNC, ClassicRebalance
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

_EMPTY = ClassicGroupState.EMPTY
_PREPARING = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
_STABLE = ClassicGroupState.STABLE


class ClassicGroup(ClassicRebalance):
    """One classic group; requests that no group is needed for are in answers."""

    # requests

    def sync(
        self, request: messages.SyncGroupRequest, caller: Caller, effects: Effects, now_ms: int
    ) -> None:
        """Handle a SyncGroup that `check_sync` let pass.

        Rule: G-51 (GroupMetadataManager.classicGroupSyncToClassicGroup).
        See: G-52.
        """
        error_code = self._check_sync(request)
        if error_code is not None:
            refuse_sync(effects, caller, error_code)
            return
        member = self.members[request.member_id]
        if self.state is _STABLE:
            self.note_sync(member)
            self.answer_sync(member, caller, effects)
            return
        leads = self.leader == member.member_id
        assignments = {entry.member_id: entry.assignment for entry in request.assignments}
        if leads and not self.can_hold(assignments):
            refuse_sync(effects, caller, ErrorCode.GROUP_MAX_SIZE_REACHED)
            return
        self.park_sync(member, caller, effects)
        if leads:
            self.assign(assignments, effects, now_ms)

    def _check_sync(self, request: messages.SyncGroupRequest) -> ErrorCode | None:
        if (error_code := self._check_generation(request, request.generation_id)) is not None:
            return error_code
        for given, ours in (
            (request.protocol_type, self.protocol_type),
            (request.protocol_name, self.protocol_name),
        ):
            if given is not None and ours is not None and given != ours:
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if self.state is _PREPARING else None

    def heartbeat(
        self, request: messages.HeartbeatRequest, caller: Caller, effects: Effects, now_ms: int
    ) -> None:
        """Handle a Heartbeat with a group id.

        Rule: G-54 (GroupMetadataManager.classicGroupHeartbeatToClassicGroup).
        """
        error_code = self._check_generation(request, request.generation_id)
        if error_code is None:
            self.restart_timer(self.members[request.member_id], now_ms)
            error_code = ErrorCode.NONE
            if self.state is _PREPARING:
                error_code = ErrorCode.REBALANCE_IN_PROGRESS
        answer_heartbeat(effects, caller, error_code)

    def _check_generation(
        self, request: "messages.SyncGroupRequest | messages.HeartbeatRequest", generation: int
    ) -> ErrorCode | None:
        """Return why a request cannot be a member's of this generation, None if it is.

        In an empty group everybody is unknown.
        """
        error_code = self.check_member(request.member_id, request.group_instance_id)
        if error_code is None and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error_code

    def leave(
        self, request: messages.LeaveGroupRequest, caller: Caller, effects: Effects, now_ms: int
    ) -> None:
        """Handle a LeaveGroup with a group id; one rebalance follows for all who left.

        Rule: G-55, G-56 (GroupMetadataManager.classicGroupLeaveToClassicGroup).
        """
        results: list[LeaveResult] = []
        for member_id, instance_id in leaving_members(request, caller.version):
            error_code = self._leave_one(member_id, instance_id, effects)
            results.append((member_id, instance_id, error_code))
        answer_leave(effects, caller, results)
        if self.state is not _EMPTY and any(result[2] is ErrorCode.NONE for result in results):
            self.rebalance_or_complete(effects, now_ms)

    def _leave_one(self, member_id: str, instance_id: str | None, effects: Effects) -> ErrorCode:
        if not member_id and instance_id is not None:
            # how an operator removes a static member (KIP-345)
            member_id = self.static_members.get(instance_id, "")
        if member_id not in self.pending_members:
            error_code = self.check_member(member_id, instance_id)
            if error_code is not None:
                return error_code
        self.drop_member(member_id, effects)
        return ErrorCode.NONE

    # offsets

    def check_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        generation: int,
        version: int,
        is_transactional: bool,
    ) -> ErrorCode | None:
        """Return why offsets cannot be committed, None if they can.

        After an accepted commit that is not transactional `restart_session` has to follow.

        Args:
            member_id: of the request, maybe empty.
            instance_id: of the request, None for none.
            generation: of the request, negative for none.
            version: of the request; every one is good for a classic group.
            is_transactional: whether the offsets belong to a transaction.

        Rule: G-62 (ClassicGroup.validateOffsetCommit).
        See: T-41.
        """
        if generation < 0 and self.state is _EMPTY:
            return None
        if generation >= 0 or member_id or instance_id is not None:
            error_code = self.check_member(member_id, instance_id)
            if error_code is not None:
                return error_code
            if generation != self.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if self.state is _COMPLETING and not is_transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return None

    def restart_session(self, member_id: str, now_ms: int) -> None:
        """A member committed offsets, which is a sign of life.

        See: G-30 (OffsetMetadataManager.commitOffset).
        """
        member = self.members.get(member_id)
        if member is not None and self.state in (_STABLE, _PREPARING):
            self.restart_timer(member, now_ms)

    # administration

    def describe(self) -> "messages.DescribeGroupsResponse.DescribedGroup":
        """Return a DescribedGroup; what members say for the protocol only of a stable group.

        In other states they still have the assignments of before, unless those were taken back.

        See: G-103 (ClassicGroup.asDescribedGroup).
        """
        is_stable = self.state is _STABLE
        make_member = messages.DescribeGroupsResponse.DescribedGroupMember
        return messages.DescribeGroupsResponse.DescribedGroup(
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=(self.protocol_name or "") if is_stable else "",
            members=[
                make_member(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(self.protocol_name) if is_stable else b"",
                    member_assignment=member.assignment,
                )
                for member in self.members.values()
            ],
        )

    def dismiss(self, error_code: ErrorCode, effects: Effects) -> None:
        """Answer every open request with an error and stop all timers: the group goes away."""
        for member in self.members.values():
            self.refuse_waiting(member, error_code, effects, member.member_id)
            self.timers.cancel((self.group_id, SESSION, member.member_id))
        for member_id in self.pending_members:
            self.timers.cancel((self.group_id, SESSION, member_id))
        self.timers.cancel((self.group_id, JOIN, ""))
        self.timers.cancel((self.group_id, SYNC, ""))
        self.state = ClassicGroupState.DEAD

    # the state log

    def write_created(self, effects: Effects) -> None:
        """Write that the group exists; it has no members that count yet.

        See: G-37 (GroupCoordinatorRecordHelpers.newEmptyGroupMetadataRecord).
        """
        value = classic_records.encode_value(
            protocol_type=None,
            protocol_name=None,
            generation=0,
            leader=None,
            state_changed_ms=self.state_changed_ms,
            members=(),
        )
        effects.write(classic_records.encode_key(self.group_id), value)

    def write_tombstone(self, effects: Effects) -> None:
        """Write that the group does not exist any more."""
        effects.write(classic_records.encode_key(self.group_id), None)

    @classmethod
    def from_record(
        cls,
        group_id: str,
        data: bytes,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        make_uuid: Callable[[], str],
    ) -> "ClassicGroup":
        """Make the group that a record holds; its timers start with `loaded`.

        Args:
            group_id: from the record's key.
            data: the record's value.
            timers: of all groups.
            settings: of all groups.
            make_uuid: gives the random part of a member id.

        See: G-25 (GroupMetadataManager.replay).
        """
        value = classic_records.decode_value(data)
        timestamp = value.current_state_timestamp
        group = cls(group_id, timers, settings, make_uuid, timestamp)
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        for member in classic_records.decode_members(value):
            group.add(member)
        if group.members:
            group.state = _STABLE
            if value.leader in group.members:
                group.leader = value.leader
        group.learn_topics()
        return group

    def loaded(self, effects: Effects, now_ms: int) -> None:
        """The log was replayed to its end: the members' sessions start anew.

        A group that is larger than it may be by now rebalances, which leaves some out.

        See: G-30 (GroupMetadataManager.onLoaded).
        """
        for member in self.members.values():
            self.restart_timer(member, now_ms)
        if len(self.members) > self.settings.classic_size_max:
            self.prepare_rebalance(effects, now_ms)

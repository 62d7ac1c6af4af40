"""A classic group: its members, the state of its rebalance, its responses and its records.

The state of a group is what its record contains (GroupMetadataValue), plus what a rebalance needs
until it ends. The second part is never written: after a restart the members join again. When a
client disconnects, nothing changes: its member stays until its session times out.

Rule: G-57.
See: G-25 to G-56.
"""

from collections.abc import Callable
from typing import Final

from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.answers import refuse_join, refuse_sync
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.classic.rebalance import Rebalance
from broker_lite.coordinator.classic.roster import Roster
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE, subscribed_topics
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import GroupTimers, TimerKey, Timers
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE


class ClassicGroup:
    """One classic group.

    Args:
        group_id: its id.
        timers: of all groups.
        settings: of this group.
        make_uuid: returns the random part of a member id.
        now_ms: the current time.

    Attributes:
        roster: its members.
        rebalance: its state and generation, and the members that it waits for.
        protocol_type: what kind of group it is, such as `consumer`; None until a member joined.
        protocol_name: the protocol of this generation, None without members.
    """

    __slots__ = (
        "_topics",
        "group_id",
        "make_uuid",
        "protocol_name",
        "protocol_type",
        "rebalance",
        "roster",
        "settings",
    )

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        make_uuid: Callable[[], str],
        now_ms: int,
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.make_uuid = make_uuid
        self.roster = Roster()
        self.rebalance = Rebalance(self.roster, GroupTimers(group_id, timers), now_ms)
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self._topics: frozenset[str] | None = None

    @property
    def state(self) -> ClassicGroupState:
        """The state of its rebalance."""
        return self.rebalance.state

    def choose_protocol(self) -> None:
        """Choose the protocol of this generation, and read the topics in its metadata."""
        self.protocol_name = self.roster.select_protocol() if self.roster.members else None
        self.learn_topics()

    def learn_topics(self) -> None:
        """Read the topics in the members' metadata, and keep them until the next call."""
        if self.protocol_type == PROTOCOL_TYPE:
            metadata = {
                member.metadata(self.protocol_name) for member in self.roster.members.values()
            }
            self._topics = subscribed_topics(metadata)

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that the members of this generation subscribe to.

        Returns:
            None if they are not known: the caller has to treat every topic as subscribed then. A
            group whose members are not consumers subscribes to nothing.

        See: G-75 (ClassicGroup.isSubscribedToTopic).
        """
        return self._topics if self.protocol_type == PROTOCOL_TYPE else frozenset()

    # members

    def new_member_id(self, client_id: str, instance_id: str | None) -> str:
        """Return an id for a new member.

        See: G-40 (ClassicGroup.generateMemberId).
        """
        return f"{client_id if instance_id is None else instance_id}-{self.make_uuid()}"

    def drop_member(self, member_id: str, effects: Effects) -> None:
        """Remove a member or a pending id with its timer, and answer its open requests.

        Rule: G-47 (GroupMetadataManager.removeCurrentMemberFromClassicGroup).
        """
        self.rebalance.end_session(member_id)
        member = self.roster.members.get(member_id)
        if member is not None:
            self.refuse_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
        self.rebalance.pending_syncs.discard(member_id)
        self.roster.remove(member_id)

    def refuse_waiting(
        self,
        member: ClassicMember,
        error_code: ErrorCode,
        effects: Effects,
        member_id: str = "",
    ) -> None:
        """Answer a member's open requests with an error."""
        if (caller := self.rebalance.take_join(member)) is not None:
            refuse_join(effects, caller, error_code, member_id)
        if member.sync_token is not None:
            refuse_sync(effects, member.sync_token, error_code)
            member.sync_token = None

    def dismiss(self, error_code: ErrorCode, effects: Effects) -> None:
        """Answer every open request with an error, and stop all timers: the group is removed."""
        for member in self.roster.members.values():
            self.refuse_waiting(member, error_code, effects, member.member_id)
        self.rebalance.cancel_timers()
        self.rebalance.state = ClassicGroupState.DEAD

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

        After an accepted commit that is not transactional, the caller calls `restart_session`.

        Args:
            member_id: of the request, may be empty.
            instance_id: of the request, None if it has none.
            generation: of the request, negative if it has none.
            version: of the request; a classic group accepts every version.
            is_transactional: whether the offsets belong to a transaction.

        Rule: G-62 (ClassicGroup.validateOffsetCommit).
        See: T-41.
        """
        if generation < 0 and self.state is _EMPTY:
            return None
        if generation >= 0 or member_id or instance_id is not None:
            error_code = self.roster.check_member(member_id, instance_id)
            if error_code is not None:
                return error_code
            if generation != self.rebalance.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if self.state is _COMPLETING and not is_transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return None

    def restart_session(self, member_id: str, now_ms: int) -> None:
        """Restart the session of a member that committed offsets, which counts as a heartbeat.

        See: G-30 (OffsetMetadataManager.commitOffset).
        """
        member = self.roster.members.get(member_id)
        if member is not None and self.state in (_STABLE, _PREPARING):
            self.rebalance.restart_session(member, now_ms)

    # answers

    def answer_join(
        self,
        member: ClassicMember,
        caller: Caller,
        effects: Effects,
        *,
        with_members: bool = True,
        leader: str | None = None,
        skip_assignment: bool = False,
    ) -> None:
        """Answer a member's JoinGroup with this generation; the leader gets the list of members.

        Args:
            member: the member to answer.
            caller: its request.
            effects: takes the response.
            with_members: False to leave out the list of members even for the leader.
            leader: the member id to send as the leader, None for the real leader.
            skip_assignment: whether the leader is told to keep the assignments (v9+).

        Rule: G-48.
        """
        shown = (
            self.roster.members.values()
            if with_members and member.member_id == self.roster.leader
            else ()
        )
        make_member = messages.JoinGroupResponse.JoinGroupResponseMember
        leader = leader or self.roster.leader
        assert leader is not None, "a group with a member has a leader"
        response = messages.JoinGroupResponse(
            generation_id=self.rebalance.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader,
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=[
                make_member(
                    member_id=other.member_id,
                    group_instance_id=other.instance_id,
                    metadata=other.metadata(self.protocol_name),
                )
                for other in shown
            ],
        )
        effects.reply_promptly(caller.token, response)

    def answer_sync(self, member: ClassicMember, caller: Caller, effects: Effects) -> None:
        """Answer a member's SyncGroup with its assignment.

        See: G-53.
        """
        response = messages.SyncGroupResponse(
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            assignment=member.assignment,
        )
        effects.reply(caller.token, response)

    def describe(self) -> "messages.DescribeGroupsResponse.DescribedGroup":
        """Return the group as DescribeGroups shows it.

        The protocol and its metadata are shown only while the group is stable. In other states the
        members still have the assignments of before, unless a rebalance removed them.

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
                for member in self.roster.members.values()
            ],
        )

    # the state log

    def write(self, effects: Effects) -> None:
        """Write a record of the group's current state.

        See: G-25 (GroupCoordinatorRecordHelpers.newGroupMetadataRecord).
        """
        value = classic_records.encode_value(
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            generation=self.rebalance.generation,
            leader=self.roster.leader,
            state_changed_ms=self.rebalance.state_changed_ms,
            members=self.roster.members.values(),
        )
        effects.write(classic_records.encode_key(self.group_id), value)

    def write_created(self, effects: Effects) -> None:
        """Write a record of an empty group, so that a group exists whose members are only pending.

        See: G-37 (GroupCoordinatorRecordHelpers.newEmptyGroupMetadataRecord).
        """
        value = classic_records.encode_value(
            protocol_type=None,
            protocol_name=None,
            generation=0,
            leader=None,
            state_changed_ms=self.rebalance.state_changed_ms,
            members=(),
        )
        effects.write(classic_records.encode_key(self.group_id), value)

    def write_tombstone(self, effects: Effects) -> None:
        """Write the tombstone of the group's record, which deletes the group from the log."""
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
        """Make the group of a record; `phases.loaded` starts its timers.

        Args:
            group_id: from the record's key.
            data: the record's value.
            timers: of all groups.
            settings: of this group.
            make_uuid: returns the random part of a member id.

        See: G-25 (GroupMetadataManager.replay).
        """
        value = classic_records.decode_value(data)
        timestamp = value.current_state_timestamp
        group = cls(group_id, timers, settings, make_uuid, timestamp)
        group.rebalance.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        for member in classic_records.decode_members(value):
            group.roster.add(member)
        if group.roster.members:
            group.rebalance.state = _STABLE
            if value.leader in group.roster.members:
                group.roster.leader = value.leader
        group.learn_topics()
        return group

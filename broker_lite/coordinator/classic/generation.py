"""One generation of a classic group: its number, its protocol, and what members are told of it."""

from collections.abc import Callable
from typing import Final

from broker_lite.coordinator.classic import records as classic_records
from broker_lite.coordinator.classic.answers import refuse_join, refuse_sync
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.classic.roster import ClassicRoster
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE, subscribed_topics
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

# group id, kind of timer, member id (empty for the timers of the whole group)
TimerKey = tuple[str, str, str]

SESSION: Final = "session"


class ClassicGeneration(ClassicRoster):
    """A group's state, without what leads from one state to another.

    Attributes:
        group_id: its name.
        timers: of all groups.
        settings: of all groups.
        make_uuid: gives the random part of a member id.
        state: see ClassicGroupState.
        state_changed_ms: when the state changed last, -1 if that is not known.
        generation: how many rebalances were completed.
        protocol_type: what kind of group it is, None until somebody joined.
        protocol_name: the protocol of this generation, None without members.
    """

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        make_uuid: Callable[[], str],
        now_ms: int,
    ) -> None:
        super().__init__()
        self.group_id = group_id
        self.timers = timers
        self.settings = settings
        self.make_uuid = make_uuid
        self.state = ClassicGroupState.EMPTY
        self.state_changed_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self._topics: frozenset[str] | None = None

    def change_state(self, state: ClassicGroupState, now_ms: int) -> None:
        """Go to a state, and remember when."""
        self.state = state
        self.state_changed_ms = now_ms

    def choose_protocol(self) -> None:
        """Choose the protocol of this generation and look at what it says about topics."""
        self.protocol_name = self.select_protocol() if self.members else None
        self.learn_topics()

    def learn_topics(self) -> None:
        """Look at the topics that the members' metadata names; they stay until the next look."""
        if self.protocol_type == PROTOCOL_TYPE:
            metadata = {member.metadata(self.protocol_name) for member in self.members.values()}
            self._topics = subscribed_topics(metadata)

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that the members of this generation subscribe to.

        Returns:
            None when they are not known: count every topic as subscribed then. A group that is not
            of consumers subscribes to nothing.

        See: G-75 (ClassicGroup.isSubscribedToTopic).
        """
        return self._topics if self.protocol_type == PROTOCOL_TYPE else frozenset()

    # members

    def new_member_id(self, client_id: str, instance_id: str | None) -> str:
        """Return an id for a new member.

        See: G-40 (ClassicGroup.generateMemberId).
        """
        return f"{client_id if instance_id is None else instance_id}-{self.make_uuid()}"

    def restart_timer(self, member: ClassicMember, now_ms: int) -> None:
        """A member gave a sign of life.

        Rule: G-30 (GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat).
        """
        key = (self.group_id, SESSION, member.member_id)
        self.timers.set(key, now_ms + member.session_timeout_ms)

    def drop_member(self, member_id: str, effects: Effects) -> None:
        """Remove a member or a pending id with its timer; what it waits for is answered.

        Rule: G-47 (GroupMetadataManager.removeCurrentMemberFromClassicGroup).
        """
        self.timers.cancel((self.group_id, SESSION, member_id))
        member = self.members.get(member_id)
        if member is not None:
            self.refuse_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
        self.remove(member_id)

    def refuse_waiting(
        self,
        member: ClassicMember,
        error_code: ErrorCode,
        effects: Effects,
        member_id: str = "",
    ) -> None:
        """Answer a member's open requests with an error."""
        if (caller := self.take_join(member)) is not None:
            refuse_join(effects, caller, error_code, member_id)
        if member.sync_token is not None:
            refuse_sync(effects, member.sync_token, error_code)
            member.sync_token = None

    # answers and records

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
        """Tell a member of this generation; its leader gets to know all members.

        Args:
            member: whom to tell.
            caller: its request.
            effects: takes the answer.
            with_members: False keeps the members from the leader, too.
            leader: who is said to lead, None for who does.
            skip_assignment: whether the leader is told to keep the assignments (v9+).

        Rule: G-48.
        """
        shown = self.members.values() if with_members and member.member_id == self.leader else ()
        make_member = messages.JoinGroupResponse.JoinGroupResponseMember
        leader = leader or self.leader
        assert leader is not None, "a group with a member has a leader"
        response = messages.JoinGroupResponse(
            generation_id=self.generation,
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
        effects.reply(caller.token, response)

    def answer_sync(self, member: ClassicMember, caller: Caller, effects: Effects) -> None:
        """Tell a member its assignment.

        See: G-53.
        """
        response = messages.SyncGroupResponse(
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            assignment=member.assignment,
        )
        effects.reply(caller.token, response)

    def write(self, effects: Effects) -> None:
        """Write the group as it is.

        See: G-25 (GroupCoordinatorRecordHelpers.newGroupMetadataRecord).
        """
        value = classic_records.encode_value(
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            generation=self.generation,
            leader=self.leader,
            state_changed_ms=self.state_changed_ms,
            members=self.members.values(),
        )
        effects.write(classic_records.encode_key(self.group_id), value)

"""StreamsGroupHeartbeat: finds the group of a member, or creates it."""

from collections.abc import Generator
from typing import Final

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.groups.first_member import admit_first
from broker_lite.coordinator.registry import GroupRegistry, is_empty
from broker_lite.coordinator.streams import heartbeat
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.checks import check_heartbeat
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import LEAVE_EPOCH
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.errors import BrokerError, GroupIdNotFound, NotCoordinator
from broker_lite.wire import messages

_NO_STREAMS_GROUP: Final = "Group {} is not a streams group."
_NO_GROUP: Final = "Streams group {} not found."
_NOTHING_TO_LEAVE: Final = "Group {} not found."


class StreamsMembers:
    """The requests of members of streams groups."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def heartbeat(
        self,
        request: messages.StreamsGroupHeartbeatRequest,
        caller: Caller,
        now_ms: int,
        *,
        told: ToldTopology | None = None,
        ahead: ConfiguredAhead | None = None,
    ) -> Effects:
        """Handle a StreamsGroupHeartbeat.

        A group is created for its first member. It takes the place of a classic group without
        members, whose offsets stay. Groups of other types are left alone, even if they are empty.

        Args:
            request: the decoded message.
            caller: who sent it.
            now_ms: the time.
            told: the topology of the request, if prepare() has made it.
            ahead: what prepare() has returned.

        Rule: U-03 (GroupMetadataManager.getOrCreateStreamsGroup).
        See: U-06.
        """
        effects = Effects()
        try:
            check_heartbeat(request, caller.client_id, caller.version, told)
            group, old = self._find(request, caller)
        except NotCoordinator:
            raise
        except BrokerError as error:
            effects.reply(caller.token, heartbeat.refusal(error))
            return effects
        if group is None:
            new, takes_place = self._registry.make_streams(request.group_id), old is not None
            admit_first(
                self._registry,
                new,
                old,
                lambda created: heartbeat.handle(
                    new, request, caller, created, now_ms, takes_place=takes_place, told=told
                ),
                effects,
            )
        else:
            heartbeat.handle(group, request, caller, effects, now_ms, told=told, ahead=ahead)
        return effects

    def takes_long(self, request: messages.StreamsGroupHeartbeatRequest) -> bool:
        """Return whether a heartbeat that is not refused has to configure a large topology."""
        group = self._registry.streams(request.group_id)
        if group is None or group.is_configured or not group.maps.is_large:
            return False
        is_known = request.member_id in group.roster.members
        return request.member_epoch == 0 or (request.member_epoch > 0 and is_known)

    def prepare(
        self, told: ToldTopology | None, request: messages.StreamsGroupHeartbeatRequest
    ) -> Generator[None, None, ConfiguredAhead | None]:
        """Make what a heartbeat needs, step by step.

        Args:
            told: the topology of the request, if that is large.
            request: the heartbeat.

        Returns:
            The topology of the group with its topics, if takes_long().
        """
        registry = self._registry
        if told is not None:
            group = registry.streams(request.group_id)
            is_new = group is None or group.topology is None
            yield from told.prepare(registry.topics, is_new=is_new)
        group = registry.streams(request.group_id)
        if group is None or group.topology is None or not self.takes_long(request):
            return None
        ahead = ConfiguredAhead(group.topology, group.maps.required_topics)
        yield from ahead.prepare(registry.topics)
        return ahead

    def _find(
        self, request: messages.StreamsGroupHeartbeatRequest, caller: Caller
    ) -> tuple[StreamsGroup | None, ClassicGroup | None]:
        """Return the group, or None with the classic group whose place a new one takes, if any.

        Raises:
            GroupIdNotFound: there is no such streams group, and none may be created.
        """
        group_id, epoch = request.group_id, request.member_epoch
        group = self._registry.find(group_id, caller)
        if isinstance(group, StreamsGroup):
            return group, None
        if group is None:
            if epoch == 0:
                return None, None
            text = _NOTHING_TO_LEAVE if epoch == LEAVE_EPOCH else _NO_GROUP
            raise GroupIdNotFound(text.format(group_id))
        if epoch == 0 and isinstance(group, ClassicGroup) and is_empty(group):
            return None, group
        raise GroupIdNotFound(_NO_STREAMS_GROUP.format(group_id))

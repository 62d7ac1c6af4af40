"""ListGroups, DescribeGroups and DeleteGroups; descriptions of groups of the newer kinds.

A difference to Kafka: groups are described in the order of the request, and the members of a group
in the order in which they joined. Kafka's order is that of a hash map.

Rule: G-102 to G-104.
See: G-101.
"""

from collections.abc import Callable, Container
from typing import Final, Generic, NamedTuple, TypeVar

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.classic.phases import prepare_rebalance
from broker_lite.coordinator.consumer.changes import put_group_epoch
from broker_lite.coordinator.consumer.describe import describe as describe_consumer
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.offsets.removal import OffsetRemovals
from broker_lite.coordinator.registry import (
    GroupEffects,
    GroupRegistry,
    in_batches,
    is_empty,
)
from broker_lite.coordinator.share.changes import put_group_epoch as put_share_epoch
from broker_lite.coordinator.share.describe import describe as describe_share
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.streams.changes import next_epoch as next_streams_epoch
from broker_lite.coordinator.streams.describe import describe as describe_streams
from broker_lite.coordinator.streams.group import StreamsGroup, StreamsGroupState
from broker_lite.coordinator.texts import cut
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

# from this version on, DescribeGroups has an error for a group that does not exist
_GROUP_ID_NOT_FOUND: Final = 6

_CLASSIC: Final = "classic"
_CONSUMER: Final = "consumer"
_SHARE: Final = "share"
_STREAMS: Final = "streams"


G = TypeVar("G", ConsumerGroup, ShareGroup, StreamsGroup)
D = TypeVar("D")


class _Kind(NamedTuple, Generic[G, D]):
    """How groups of a newer kind are described.

    Attributes:
        name: of the kind.
        group_type: of its groups.
        describe: returns the entry of a group in the response.
        described: makes an entry from group_id, error_code and error_message.
    """

    name: str
    group_type: type[G]
    describe: Callable[[G], D]
    described: Callable[..., D]


class GroupAdmin:
    """Requests of administrators: they list, describe and delete groups."""

    def __init__(self, registry: GroupRegistry, removals: OffsetRemovals) -> None:
        self._registry = registry
        self._removals = removals

    def list_groups(self, request: messages.ListGroupsRequest) -> messages.ListGroupsResponse:
        """Answer a ListGroups.

        Rule: G-102.
        """
        states = {state.lower() for state in request.states_filter}
        types = {group_type.lower() for group_type in request.types_filter}
        message = messages.ListGroupsResponse
        response = message()
        for group_id, group in self._registry.groups.items():
            if isinstance(group, ConsumerGroup):
                group_type = protocol_type = _CONSUMER
            elif isinstance(group, ShareGroup):
                group_type = protocol_type = _SHARE
            elif isinstance(group, StreamsGroup):
                group_type = protocol_type = _STREAMS
            else:
                group_type, protocol_type = _CLASSIC, group.protocol_type or ""
            state = group.state.value
            if (not states or _asked_as(state) in states) and (not types or group_type in types):
                response.groups.append(
                    message.ListedGroup(
                        group_id=group_id,
                        protocol_type=protocol_type,
                        group_state=state,
                        group_type=group_type,
                    )
                )
        return response

    def describe_group(
        self, group_id: str, version: int, *, is_foreign: bool = False
    ) -> "messages.DescribeGroupsResponse.DescribedGroup":
        """Return a group's entry in the answer to a DescribeGroups: it has classic groups only.

        The caller adds the authorized operations.

        Args:
            group_id: as the request names it.
            version: of the request.
            is_foreign: another broker coordinates the group.

        Rule: G-103.
        See: C-60.
        """
        entry = messages.DescribeGroupsResponse.DescribedGroup
        if is_foreign:
            return entry(group_id=group_id, error_code=ErrorCode.NOT_COORDINATOR)
        group = self._registry.groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return group.describe()
        described = entry(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
        if version >= _GROUP_ID_NOT_FOUND:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = _missing(group_id, group is not None, _CLASSIC)
        return described

    def describe_consumer_group(
        self, group_id: str, *, is_foreign: bool = False
    ) -> "messages.ConsumerGroupDescribeResponse.DescribedGroup":
        """Return a group's entry in the answer to a ConsumerGroupDescribe.

        Args:
            group_id: as the request names it.
            is_foreign: another broker coordinates the group.

        See: G-101, C-60.
        """
        entry = messages.ConsumerGroupDescribeResponse.DescribedGroup
        kind = _Kind(_CONSUMER, ConsumerGroup, describe_consumer, entry)
        return self._described(group_id, is_foreign, kind)

    def rebalance(self, group_id: str, now_ms: int) -> Effects | None:
        """Let a group rebalance although nothing has changed, for a test.

        The members of a classic group have to join again, those of a consumer group get a new
        target assignment with their next heartbeats.

        Returns:
            None if there is no such group, or it has no members.
        """
        group = self._registry.groups.get(group_id)
        if group is None or is_empty(group):
            return None
        effects, why = Effects(), "asked for by a test"
        if isinstance(group, ClassicGroup):
            if group.state is not ClassicGroupState.PREPARING_REBALANCE:
                prepare_rebalance(group, effects, now_ms, why)
            return effects
        if isinstance(group, ConsumerGroup):
            put_group_epoch(group, group.group_epoch + 1, group.topics_hash(), effects)
        elif isinstance(group, ShareGroup):
            put_share_epoch(group, group.group_epoch + 1, group.topics_hash(), effects)
        else:
            next_streams_epoch(group, effects)
        effects.note(group_id, group.group_epoch, f"new assignment: {why}")
        return effects

    def describe_share_group(
        self, group_id: str, *, is_foreign: bool = False
    ) -> "messages.ShareGroupDescribeResponse.DescribedGroup":
        """Return a group's entry in the answer to a ShareGroupDescribe.

        Args:
            group_id: as the request names it.
            is_foreign: another broker coordinates the group.

        See: K-06, C-60.
        """
        entry = messages.ShareGroupDescribeResponse.DescribedGroup
        kind = _Kind(_SHARE, ShareGroup, describe_share, entry)
        return self._described(group_id, is_foreign, kind)

    def describe_streams_group(
        self, group_id: str, *, is_foreign: bool = False
    ) -> "messages.StreamsGroupDescribeResponse.DescribedGroup":
        """Return a group's entry in the answer to a StreamsGroupDescribe.

        Args:
            group_id: as the request names it.
            is_foreign: another broker coordinates the group.

        See: U-23, C-60.
        """
        entry = messages.StreamsGroupDescribeResponse.DescribedGroup
        kind = _Kind(_STREAMS, StreamsGroup, describe_streams, entry)
        return self._described(group_id, is_foreign, kind)

    def _described(self, group_id: str, is_foreign: bool, kind: "_Kind[G, D]") -> D:
        """Return a group's entry, an error if it is not of this kind."""
        group = self._registry.groups.get(group_id)
        if isinstance(group, kind.group_type) and not is_foreign:
            return kind.describe(group)
        code, text = _not_described(group_id, is_foreign, group is not None, kind.name)
        return kind.described(group_id=group_id, error_code=code, error_message=text)

    def delete_groups(
        self, request: messages.DeleteGroupsRequest, foreign: Container[str] = ()
    ) -> tuple[messages.DeleteGroupsResponse, GroupEffects]:
        """Answer a DeleteGroups; an id that is named twice is answered once.

        Args:
            request: the decoded message.
            foreign: those of its groups that another broker coordinates.

        Returns:
            The response, and the effects of each deleted group. If the records of a group cannot be
            written, the caller changes the group's result in the response.

        Rule: G-104.
        See: C-60.
        """
        message = messages.DeleteGroupsResponse
        response = message()
        deleted: GroupEffects = []
        for group_id in dict.fromkeys(request.groups_names):
            result = message.DeletableGroupResult(group_id=group_id)
            response.results.append(result)
            group = self._registry.groups.get(group_id)
            if group_id in foreign:
                result.error_code = ErrorCode.NOT_COORDINATOR
            elif group is None:
                result.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            elif not is_empty(group):
                result.error_code = ErrorCode.NON_EMPTY_GROUP
            else:
                effects = Effects()
                self._removals.delete_all(group_id, effects)
                self._registry.discard(group, effects)
                deleted += in_batches(group_id, effects)
        return response, deleted


def _asked_as(state: str) -> str:
    """Return how a filter has to name a state; `NotReady` is found as `not_ready` only.

    See: U-23 (StreamsGroup.StreamsGroupState.toLowerCaseString).
    """
    return "not_ready" if state == StreamsGroupState.NOT_READY.value else state.lower()


def _not_described(
    group_id: str, is_foreign: bool, exists: bool, kind: str
) -> tuple[ErrorCode, str | None]:
    """Return error and message for a group that is of another kind, or not known here.

    Args:
        group_id: as the request names it.
        is_foreign: another broker coordinates the group.
        exists: whether there is a group with this id.
        kind: the kind that the request is about.
    """
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID, None
    if is_foreign:
        return ErrorCode.NOT_COORDINATOR, None
    return ErrorCode.GROUP_ID_NOT_FOUND, _missing(group_id, exists, kind)


def _missing(group_id: str, is_other: bool, group_type: str) -> str | None:
    if is_other:
        return cut(f"Group {group_id} is not a {group_type} group.")
    return cut(f"Group {group_id} not found.")

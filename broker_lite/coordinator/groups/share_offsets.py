"""AlterShareGroupOffsets and DeleteShareGroupOffsets: where a share group without members starts.

Rule: K-40 (GroupMetadataManager.alterShareGroupOffsets, GroupCoordinatorShard).
"""

from typing import Final

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.held_bytes import size_of_text
from broker_lite.coordinator.registry import GroupRegistry, is_empty
from broker_lite.coordinator.share import changes
from broker_lite.coordinator.share.group import NO_STATE, STATE_BYTES, ShareGroup
from broker_lite.coordinator.texts import is_too_long
from broker_lite.errors import (
    ErrorCode,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidGroupId,
    NonEmptyGroup,
)
from broker_lite.wire import messages
from broker_lite.wire.primitives import ZERO_UUID

_UNKNOWN: Final = "This server does not host this topic-partition."
_NOTHING: Final = "There is no offset information to delete."


class ShareOffsets:
    """Requests of administrators about where share groups start."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def alter(
        self, request: messages.AlterShareGroupOffsetsRequest, caller: Caller, _now_ms: int
    ) -> Effects:
        """Handle an AlterShareGroupOffsets; it makes the group if there is none.

        Topics of a denied request are left out by the caller.
        """
        effects = Effects()
        message = messages.AlterShareGroupOffsetsResponse
        try:
            group = self._group(request.group_id, caller)
            self._demand_room(request, group)
        except (
            GroupIdNotFound,
            GroupMaxSizeReached,
            InvalidGroupId,
            NonEmptyGroup,
        ) as error:
            response = message(error_code=error.code, error_message=error.message)
            effects.reply(caller.token, response)
            return effects
        response = message()
        starts: dict[str, dict[int, int]] = {}
        for asked in request.topics:
            topic = self._registry.topics.get(asked.topic_name)
            answer = message.AlterShareGroupOffsetsResponseTopic(
                topic_name=asked.topic_name,
                topic_id=ZERO_UUID if topic is None else topic.topic_id,
            )
            response.responses.append(answer)
            for one in asked.partitions:
                index = one.partition_index
                is_known = topic is not None and 0 <= index < topic.partition_count
                if is_known:
                    starts.setdefault(asked.topic_name, {})[index] = one.start_offset
                answer.partitions.append(
                    message.AlterShareGroupOffsetsResponsePartition(
                        partition_index=index,
                        error_code=0 if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message=None if is_known else _UNKNOWN,
                    )
                )
        if starts:
            self._start(request.group_id, group, starts, effects)
        effects.reply(caller.token, response)
        return effects

    def _demand_room(
        self, request: messages.AlterShareGroupOffsetsRequest, group: ShareGroup | None
    ) -> None:
        """Demand that there is memory for the states that begin.

        Raises:
            GroupMaxSizeReached: there is not; nothing of this request, or part of one, has changed.

        See: K-37.
        """
        more = 0
        for asked in request.topics:
            topic = self._registry.topics.get(asked.topic_name)
            if topic is not None:
                stateful = {} if group is None else group.stateful
                known = stateful.get(topic.topic_id, NO_STATE).partitions
                indexes = {each.partition_index for each in asked.partitions}
                more += len(indexes.intersection(range(topic.partition_count)) - known)
        size_bytes = more * (STATE_BYTES + size_of_text(request.group_id))
        size_max = self._registry.settings_of(request.group_id).held_bytes_max
        self._registry.held.demand(size_bytes, size_max)

    def _start(
        self,
        group_id: str,
        group: ShareGroup | None,
        starts: dict[str, dict[int, int]],
        effects: Effects,
    ) -> None:
        if group is None:
            group = self._registry.make_share(group_id)
        changes.put_group_epoch(group, group.group_epoch + 1, group.metadata_hash, effects)
        changes.start_partitions(group, starts, effects)

    def delete(
        self, request: messages.DeleteShareGroupOffsetsRequest, caller: Caller, _now_ms: int
    ) -> Effects:
        """Handle a DeleteShareGroupOffsets, which is about whole topics."""
        effects = Effects()
        message = messages.DeleteShareGroupOffsetsResponse
        try:
            group = self._group(request.group_id, caller)
            if group is None:
                raise GroupIdNotFound(f"Group {request.group_id} not found.")
        except (GroupIdNotFound, InvalidGroupId, NonEmptyGroup) as error:
            response = message(error_code=error.code, error_message=error.message)
            effects.reply(caller.token, response)
            return effects
        response = message()
        gone: dict[bytes, None] = {}
        for asked in request.topics:
            topic = self._registry.topics.get(asked.topic_name)
            text = _UNKNOWN if topic is None else None
            if topic is not None and topic.topic_id not in group.stateful:
                text = _NOTHING
            elif topic is not None:
                gone[topic.topic_id] = None
            response.responses.append(
                message.DeleteShareGroupOffsetsResponseTopic(
                    topic_name=asked.topic_name,
                    topic_id=ZERO_UUID if topic is None else topic.topic_id,
                    error_code=0 if text is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    error_message=text,
                )
            )
        if gone:
            changes.end_topics(group, gone, effects)
        effects.reply(caller.token, response)
        return effects

    def _group(self, group_id: str, caller: Caller) -> ShareGroup | None:
        """Return a share group without members; None if there is no group.

        Raises:
            BrokerError: it has members, or is of another type.
        """
        if not group_id or is_too_long(group_id):
            raise InvalidGroupId("The group id is invalid.")
        group = self._registry.find(group_id, caller)
        if group is None:
            return None
        if not isinstance(group, ShareGroup):
            raise GroupIdNotFound(f"Group {group_id} is not a share group.")
        if not is_empty(group):
            raise NonEmptyGroup("The group is not empty.")
        return group

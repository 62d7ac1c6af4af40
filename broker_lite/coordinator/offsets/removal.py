"""Removes offsets: for OffsetDelete, for deleted topics and groups, and when they expire.

Rule: G-73, G-74, G-105.
See: G-104.
"""

from collections.abc import Callable, Collection
from typing import Final

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.committed_offsets import GroupOffsets
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.offset_records import NO_EXPIRY, CommittedOffset, encode_offset_key
from broker_lite.coordinator.registry import (
    Group,
    GroupEffects,
    GroupRegistry,
    in_batches,
    is_empty,
    unsubscribed,
)
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

# the protocol type of groups whose members subscribe to topics
_CONSUMER: Final = "consumer"

# returns the time from which the retention of an offset counts
RetentionStart = Callable[[CommittedOffset], int]


class OffsetRemovals:
    """The removal of offsets, for every reason."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def delete(self, request: messages.OffsetDeleteRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle an OffsetDelete.

        Rule: G-105.
        """
        effects = Effects()
        response = messages.OffsetDeleteResponse()
        registry = self._registry
        group = registry.find(request.group_id, caller) if request.group_id else None
        error_code = _check_delete(group, request.group_id)
        if error_code is not None:
            response.error_code = error_code
            effects.reply(caller.token, response)
            return effects
        assert group is not None, "otherwise there is an error"
        results = _Results(response)
        is_free = unsubscribed(group)
        for topic, partition in _existing_partitions(registry, request, results):
            result = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            if is_free(topic):
                result = ErrorCode.NONE
                self._remove_if_there(group.group_id, topic, partition, effects)
            results.add(topic, partition, result)
        effects.reply(caller.token, response)
        return effects

    def delete_all(self, group_id: str, effects: Effects) -> None:
        """Remove all offsets of a group, including pending ones.

        Rule: T-45 (OffsetMetadataManager.deleteAllOffsets).
        See: G-104.
        """
        offsets = self._registry.offsets.of(group_id)
        for topic, partition in [] if offsets is None else offsets.partitions():
            self._remove(group_id, topic, partition, effects)

    def delete_topics(self, names: Collection[str]) -> GroupEffects:
        """Remove the offsets of deleted topics from all groups.

        Rule: G-73 (OffsetMetadataManager.onTopicsDeleted).
        """
        removed: GroupEffects = []
        gone = frozenset(names)
        for group_id in self._registry.offsets.group_ids():
            removed += self._delete_topics_of(group_id, gone)
        return removed

    def delete_missing_topics(self, group_id: str) -> GroupEffects:
        """Remove the offsets of topics that were deleted while this group was not loaded.

        Rule: G-73; Kafka keeps what it had no time for.
        """
        offsets = self._registry.offsets.of(group_id)
        if offsets is None:
            return []
        topics = self._registry.topics
        missing = {name for name in offsets.topics() if topics.get(name) is None}
        return self._delete_topics_of(group_id, missing) if missing else []

    def _delete_topics_of(self, group_id: str, names: Collection[str]) -> GroupEffects:
        offsets = self._registry.offsets.of(group_id)
        keys = [] if offsets is None else offsets.partitions(names)
        if not keys:
            return []
        effects = Effects()
        for topic, partition in keys:
            self._remove(group_id, topic, partition, effects)
        return in_batches(group_id, effects)

    def expire(self, now_ms: int, is_due: Callable[[str], bool] = lambda _: True) -> GroupEffects:
        """Remove expired offsets, and then empty groups without offsets.

        Args:
            now_ms: the current time.
            is_due: tells whether a group is searched now.

        Rule: G-74 (GroupCoordinatorShard.cleanupGroupMetadata).
        See: C-66.
        """
        expired: GroupEffects = []
        registry = self._registry
        for group_id, group in list(registry.groups.items()):
            if not is_due(group_id):
                continue
            effects = Effects()
            offsets = registry.offsets.of(group_id)
            if offsets is not None:
                self._expire_offsets(group, offsets, effects, now_ms)
            if registry.offsets.of(group_id) is None and _is_removable(group):
                registry.discard(group, effects)
            if effects.records:
                expired += in_batches(group_id, effects)
        return expired

    def _expire_offsets(
        self, group: Group, offsets: GroupOffsets, effects: Effects, now_ms: int
    ) -> None:
        start_of = _retention_start(group)
        if start_of is None:
            return
        retention_ms = self._registry.settings.offsets_retention_ms
        unstable = offsets.unstable()
        is_free = unsubscribed(group)
        due = [
            (topic, partition)
            for topic in offsets.committed
            if is_free(topic)
            for partition, committed in offsets.of_topic(topic)
            if _has_expired(committed, start_of, retention_ms, now_ms)
            and (topic, partition) not in unstable
        ]
        for topic, partition in due:
            self._remove(group.group_id, topic, partition, effects)

    def _remove_if_there(self, group_id: str, topic: str, partition: int, effects: Effects) -> None:
        offsets = self._registry.offsets.of(group_id)
        if offsets is not None and (topic, partition) in offsets:
            self._remove(group_id, topic, partition, effects)

    def _remove(self, group_id: str, topic: str, partition: int, effects: Effects) -> None:
        effects.write(encode_offset_key(group_id, topic, partition), None)
        self._registry.offsets.remove(group_id, topic, partition)


class _Results:
    """The results of an OffsetDelete, by topic, because each topic comes only once."""

    __slots__ = ("_partitions", "_response")

    def __init__(self, response: messages.OffsetDeleteResponse) -> None:
        self._response = response
        self._partitions: dict[
            str, list[messages.OffsetDeleteResponse.OffsetDeleteResponsePartition]
        ] = {}

    def add(self, name: str, partition: int, error_code: ErrorCode) -> None:
        """Add the result of a partition."""
        message = messages.OffsetDeleteResponse
        partitions = self._partitions.get(name)
        if partitions is None:
            topic = message.OffsetDeleteResponseTopic(name=name)
            self._response.topics.append(topic)
            partitions = self._partitions[name] = topic.partitions
        partitions.append(
            message.OffsetDeleteResponsePartition(partition_index=partition, error_code=error_code)
        )


def _existing_partitions(
    registry: GroupRegistry, request: messages.OffsetDeleteRequest, results: _Results
) -> list[tuple[str, int]]:
    """Return the partitions that exist, and add errors for the others to `results`.

    Rule: G-105 (KafkaApis.handleOffsetDeleteRequest).
    """
    known = []
    for asked in request.topics:
        topic = registry.topics.get(asked.name)
        count = 0 if topic is None else topic.partition_count
        for one in asked.partitions:
            if 0 <= one.partition_index < count:
                known.append((asked.name, one.partition_index))
            else:
                error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                results.add(asked.name, one.partition_index, error_code)
    return known


def _check_delete(group: Group | None, group_id: str) -> ErrorCode | None:
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or isinstance(group, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND
    if isinstance(group, ConsumerGroup | StreamsGroup) or is_empty(group):
        return None
    if group.protocol_type == _CONSUMER:
        return None
    return ErrorCode.NON_EMPTY_GROUP


def _is_removable(group: Group) -> bool:
    """Return whether a group without offsets can be removed: no members, and no pending ids.

    Share groups never have such offsets. They are there until they are deleted.
    """
    return (
        is_empty(group)
        and not isinstance(group, ShareGroup)
        and not (isinstance(group, ClassicGroup) and group.roster.pending_members)
    )


def _has_expired(
    committed: CommittedOffset, start_of: RetentionStart, retention_ms: int, now_ms: int
) -> bool:
    """Return whether an offset has expired.

    Rule: G-74 (OffsetExpirationConditionImpl).
    """
    if committed.expire_ms != NO_EXPIRY:
        return now_ms >= committed.expire_ms
    return now_ms - start_of(committed) >= retention_ms


def _retention_start(group: Group) -> RetentionStart | None:
    """Return the function for the start of the retention, or None if no offset may expire now.

    Rule: G-74 (offsetExpirationCondition of ClassicGroup and of ConsumerGroup).
    """
    if not isinstance(group, ClassicGroup) or group.protocol_type is None:
        return _commit_time
    if group.state is ClassicGroupState.EMPTY:
        changed_ms = group.rebalance.state_changed_ms
        if changed_ms == -1:
            # the group's record is from before Kafka 2.1 and has no time of the change
            return _commit_time
        return lambda _: changed_ms
    if group.state is ClassicGroupState.STABLE and group.protocol_type == _CONSUMER:
        return _commit_time if group.subscribed_topics() is not None else None
    return None


def _commit_time(committed: CommittedOffset) -> int:
    return committed.commit_ms

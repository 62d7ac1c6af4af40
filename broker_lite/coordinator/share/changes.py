"""The changes of a share group: each changes the group in memory and writes the record."""

from collections.abc import Iterable, Mapping

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.effects import NO_START, Effects, ShareStart
from broker_lite.coordinator.group_records import SHARE
from broker_lite.coordinator.share import records
from broker_lite.coordinator.share.group import NO_STATE, ShareGroup, StatefulTopic
from broker_lite.coordinator.share.member import ShareMember


def put_member(group: ShareGroup, member: ShareMember, effects: Effects) -> None:
    """Store a member with its subscription, and write it."""
    key = SHARE.member_key(group.group_id, member.member_id)
    effects.write(key, records.member_value(member))
    group.roster.put(member)


def put_current(group: ShareGroup, member: ShareMember, effects: Effects) -> None:
    """Store the epochs and partitions of a member, and write them."""
    key = SHARE.current_key(group.group_id, member.member_id)
    effects.write(key, records.current_value(member))
    group.roster.put(member)


def put_target(group: ShareGroup, member_id: str, target: Target, effects: Effects) -> None:
    """Store the target of a member, and write it."""
    effects.write(SHARE.target_key(group.group_id, member_id), records.target_value(target))
    group.targets[member_id] = target


def put_group_epoch(group: ShareGroup, epoch: int, metadata_hash: int, effects: Effects) -> None:
    """Store the group epoch and the hash of the subscribed topics, and write them."""
    value = records.group_epoch_value(epoch, metadata_hash)
    effects.write(SHARE.group_epoch_key(group.group_id), value)
    group.group_epoch = epoch
    group.metadata_hash = metadata_hash


def start_partitions(
    group: ShareGroup, starts: Mapping[str, Mapping[int, int]], effects: Effects
) -> None:
    """Have the state of partitions of topics begin, and write that they exist.

    Args:
        group: the group.
        starts: where each partition begins, by the name of its topic, which exists; NO_START lets
            its first reader decide.
        effects: gets one record, however many topics there are: it holds all topics of the group.

    See: K-40 (GroupMetadataManager.addInitializingTopicsRecords).
    """
    stateful = dict(group.stateful)
    for name, some in starts.items():
        topic = group.topics.get(name)
        assert topic is not None, "the caller has looked it up"
        topic_id = topic.topic_id
        known = stateful.get(topic_id, NO_STATE).partitions
        stateful[topic_id] = StatefulTopic(name, known.union(some))
        effects.share_starts += [
            ShareStart(group.group_id, topic_id, partition, start, group.group_epoch)
            for partition, start in sorted(some.items())
        ]
    _put_stateful(group, stateful, effects)


def start_topics(group: ShareGroup, effects: Effects) -> None:
    """Have the state begin of all partitions of subscribed topics that have none.

    Topics that were deleted are no longer written. Partitions without memory for their state are
    left out; members do not get their records.

    Rule: K-03 (GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest).
    See: K-37.
    """
    topics = group.topics
    stateful = {
        topic_id: topic
        for topic_id, topic in group.stateful.items()
        if topics.by_id(topic_id) is not None
    }
    room = group.roster.held.room(group.settings.held_bytes_max) // group.state_bytes
    for name in sorted(group.subscribed_topics()):
        topic = topics.get(name)
        if topic is None:
            continue
        known = stateful.get(topic.topic_id, NO_STATE).partitions
        if len(known) >= topic.partition_count:
            continue  # as of almost all topics when one more member joins
        missing = [each for each in range(topic.partition_count) if each not in known][:room]
        room -= len(missing)
        effects.share_starts += [
            ShareStart(group.group_id, topic.topic_id, each, NO_START, group.group_epoch)
            for each in missing
        ]
        stateful[topic.topic_id] = StatefulTopic(name, known.union(missing))
    if group.has_left_out or stateful != group.stateful:
        _put_stateful(group, stateful, effects)


def missing_count(group: ShareGroup, names: Iterable[str]) -> int:
    """Return how many partitions of topics have no state yet."""
    count = 0
    for name in names:
        topic = group.topics.get(name)
        if topic is not None:
            known = group.stateful.get(topic.topic_id, NO_STATE).partitions
            count += topic.partition_count - len(known)
    return count


def end_topics(group: ShareGroup, topic_ids: Iterable[bytes], effects: Effects) -> None:
    """Delete the state of all partitions of topics.

    Rule: K-04 (GroupMetadataManager.completeDeleteShareGroupOffsets).
    """
    gone = dict.fromkeys(each for each in topic_ids if each in group.stateful)
    _end_states(group, gone, effects)
    stateful = {each: topic for each, topic in group.stateful.items() if each not in gone}
    _put_stateful(group, stateful, effects)


def _end_states(group: ShareGroup, topic_ids: Iterable[bytes], effects: Effects) -> None:
    effects.share_starts += [
        ShareStart(group.group_id, topic_id, partition, None, group.group_epoch)
        for topic_id in topic_ids
        for partition in sorted(group.stateful[topic_id].partitions)
    ]


def _put_stateful(
    group: ShareGroup, stateful: dict[bytes, StatefulTopic], effects: Effects
) -> None:
    value = records.state_partitions_value(stateful)
    effects.write(records.state_partitions_key(group.group_id), value)
    group.put_stateful(stateful)


def drop_group(group: ShareGroup, effects: Effects) -> None:
    """Mark a group as deleted; write the tombstones of all its records, and end its states.

    Rule: K-04 (ShareGroup.createGroupTombstoneRecords).
    """
    _end_states(group, group.stateful, effects)
    group_changes.drop_group(group, [records.state_partitions_key(group.group_id)], effects)

"""The changes of a consumer group: each changes the group in memory and writes the record."""

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer import records
from broker_lite.coordinator.consumer.group import ConsumerGroup, ResolvedRegex
from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_records import CONSUMER


def put_member(group: ConsumerGroup, member: ConsumerMember, effects: Effects) -> None:
    """Store a member with its subscription, and write it."""
    effects.write(
        CONSUMER.member_key(group.group_id, member.member_id), records.member_value(member)
    )
    group.roster.put(member)


def put_current(group: ConsumerGroup, member: ConsumerMember, effects: Effects) -> None:
    """Store the current assignment, epochs and state of a known member, and write them."""
    effects.write(
        CONSUMER.current_key(group.group_id, member.member_id), records.current_value(member)
    )
    group.roster.put_current(member)


def put_target(group: ConsumerGroup, member_id: str, target: Target, effects: Effects) -> None:
    """Store the target of a member, and write it."""
    effects.write(CONSUMER.target_key(group.group_id, member_id), records.target_value(target))
    group.targets[member_id] = target


def put_group_epoch(group: ConsumerGroup, epoch: int, metadata_hash: int, effects: Effects) -> None:
    """Store the group epoch and the hash of the subscribed topics, and write them."""
    effects.write(
        CONSUMER.group_epoch_key(group.group_id), records.group_epoch_value(epoch, metadata_hash)
    )
    group.group_epoch = epoch
    group.metadata_hash = metadata_hash


def put_regex(group: ConsumerGroup, regex: str, resolved: ResolvedRegex, effects: Effects) -> None:
    """Store the topics that a regular expression matched, and write them."""
    effects.write(records.regex_key(group.group_id, regex), records.regex_value(resolved))
    group.regexes[regex] = resolved


def drop_regex(group: ConsumerGroup, regex: str, effects: Effects) -> None:
    """Remove a regular expression without subscribers; it need not be stored."""
    effects.write(records.regex_key(group.group_id, regex), None)
    group.regexes.pop(regex, None)


def drop_group(group: ConsumerGroup, effects: Effects) -> None:
    """Mark a group as deleted and write the tombstones of all its records, in Kafka's order."""
    regexes = [records.regex_key(group.group_id, regex) for regex in group.regexes]
    others = [*regexes, records.partition_metadata_key(group.group_id)]
    group_changes.drop_group(group, others, effects)


def write_group(group: ConsumerGroup, effects: Effects) -> None:
    """Write all records of a group that was converted from a classic group.

    See: G-106 (ConsumerGroup.createConsumerGroupRecords).
    """
    members = list(group.roster.members.values())
    for member in members:
        put_member(group, member, effects)
    put_group_epoch(group, group.group_epoch, group.metadata_hash, effects)
    for member in members:
        put_target(group, member.member_id, group.target_of(member.member_id), effects)
    group_changes.put_target_epoch(group, group.target_epoch, group.target_timestamp_ms, effects)
    for member in members:
        put_current(group, member, effects)

"""Loads a consumer group from the log: applies its records one by one."""

from typing import Final

from broker_lite.coordinator.consumer import records
from broker_lite.coordinator.consumer.group import ConsumerGroup, ResolvedRegex
from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.group_records import CONSUMER, decode
from broker_lite.coordinator.group_replay import Readers, apply_group_epoch, apply_member_or_target
from broker_lite.wire import messages

_READERS: Final = Readers(
    CONSUMER,
    records.member_of,
    records.current_of,
    records.target_of,
    lambda member_id: ConsumerMember(member_id=member_id),
)


def apply_record(group: ConsumerGroup, record_type: int, key: bytes, value: bytes | None) -> None:
    """Apply one record to its group.

    Args:
        group: the group of the key.
        record_type: of the key.
        key: of the record.
        value: of the record; None for a tombstone. A tombstone of the group's own record deletes
            the group.

    Raises:
        DecodeError: the record cannot be read.
    """
    match record_type:
        case CONSUMER.group_epoch:
            message = messages.ConsumerGroupMetadataValue
            apply_group_epoch(group, None if value is None else decode(message, value))
        case records.REGEX:
            _replay_regex(group, key, value)
        case _:
            apply_member_or_target(group, _READERS, record_type, key, value)


def _replay_regex(group: ConsumerGroup, key: bytes, value: bytes | None) -> None:
    regex = decode(messages.ConsumerGroupRegularExpressionKey, key).regular_expression
    if value is None:
        group.regexes.pop(regex, None)
    else:
        said = decode(messages.ConsumerGroupRegularExpressionValue, value)
        group.regexes[regex] = ResolvedRegex(tuple(said.topics), said.version, said.timestamp)

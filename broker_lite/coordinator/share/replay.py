"""Loads a share group from the log: applies its records one by one."""

from typing import Final

from broker_lite.coordinator.group_records import SHARE, decode
from broker_lite.coordinator.group_replay import Readers, apply_group_epoch, apply_member_or_target
from broker_lite.coordinator.share import records
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.wire import messages

_READERS: Final = Readers(
    SHARE,
    records.member_of,
    records.current_of,
    records.target_of,
    lambda member_id: ShareMember(member_id=member_id),
)


def apply_record(group: ShareGroup, record_type: int, key: bytes, value: bytes | None) -> None:
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
        case SHARE.group_epoch:
            message = messages.ShareGroupMetadataValue
            apply_group_epoch(group, None if value is None else decode(message, value))
        case records.STATE_PARTITIONS:
            group.put_stateful({} if value is None else records.stateful_of(value))
        case _:
            apply_member_or_target(group, _READERS, record_type, key, value)

"""Loads a streams group from the log: applies its records one by one."""

from typing import Final

from broker_lite.coordinator.group_records import STREAMS, decode
from broker_lite.coordinator.group_replay import Readers, apply_group_epoch, apply_member_or_target
from broker_lite.coordinator.streams import records
from broker_lite.coordinator.streams.changes import hold_topology
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.wire import messages

_READERS: Final = Readers(
    STREAMS,
    records.member_of,
    records.current_of,
    records.target_of,
    lambda member_id: StreamsMember(member_id=member_id),
)


def apply_record(group: StreamsGroup, record_type: int, key: bytes, value: bytes | None) -> None:
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
        case STREAMS.group_epoch:
            said = None if value is None else decode(messages.StreamsGroupMetadataValue, value)
            apply_group_epoch(group, said)
            if said is not None:
                group.validated_epoch = said.validated_topology_epoch
                group.last_configs = records.configs_of(said)
        case records.TOPOLOGY:
            hold_topology(group, None if value is None else records.topology_in(value))
        case _:
            apply_member_or_target(group, _READERS, record_type, key, value)

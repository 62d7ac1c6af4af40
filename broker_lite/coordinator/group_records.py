"""What the records of all newer kinds of groups have in common: form, epochs and targets.

These groups are kept as records of several types in `__consumer_offsets`. A key is the record type
as int16 and the key's fields, of which the group id is the first. A value is its version as int16,
always 0, and its fields.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, Protocol, TypeVar

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.wire import messages

_INT16: Final = Struct(">h")
_VERSION_0: Final = b"\x00\x00"

M = TypeVar("M", bound="messages.Message")


def decode(message: type[M], data: bytes) -> M:
    """Return a key or value of version 0.

    Raises:
        DecodeError: it cannot be read.
    """
    return message.decode(data, 0, _INT16.size)[0]


def encode_key(record_type: int, message: type[M], key: M) -> bytes:
    """Return the bytes of a key."""
    return _INT16.pack(record_type) + message.encode(key, 0)


def encode_value(message: type[M], value: M) -> bytes:
    """Return the bytes of a value."""
    return _VERSION_0 + message.encode(value, 0)


def group_of(key: bytes) -> str:
    """Return the group id of a record, whatever its type.

    Raises:
        DecodeError: it cannot be read.
    """
    return decode(messages.ConsumerGroupMetadataKey, key).group_id


class _WithEpochs(Protocol):
    """A group with epochs of itself and of its target assignment."""

    group_epoch: int
    metadata_hash: int
    target_epoch: int
    target_timestamp_ms: int
    is_deleted: bool


class _WithPartitions(Protocol):
    """A group whose targets are partitions."""

    targets: dict[str, Target]


class _GroupValue(Protocol):
    """The value of a group's own record."""

    epoch: int
    metadata_hash: int


class _TargetEpochValue(Protocol):
    """The value of the record with the target assignment's epoch."""

    assignment_epoch: int
    assignment_timestamp: int


class _Partitions(Protocol):
    """Partitions of a topic in the value of a record."""

    topic_id: bytes
    partitions: list[int]


def partitions_of(entries: Iterable[_Partitions]) -> Target:
    """Return the partitions of a record's entries, by topic id."""
    return {entry.topic_id: frozenset(entry.partitions) for entry in entries}


def apply_group_epoch(group: _WithEpochs, value: _GroupValue | None) -> None:
    """Apply a group's own record; its tombstone (None) deletes the group."""
    group.is_deleted = value is None
    if value is not None:
        group.group_epoch = value.epoch
        group.metadata_hash = value.metadata_hash


def apply_target_epoch(group: _WithEpochs, value: _TargetEpochValue | None) -> None:
    """Apply the record with the epoch of the target assignment; a tombstone changes nothing."""
    if value is not None:
        group.target_epoch = value.assignment_epoch
        group.target_timestamp_ms = value.assignment_timestamp


def apply_target(
    group: _WithPartitions, member_id: str, entries: Iterable[_Partitions] | None
) -> None:
    """Apply the record with a member's target; a tombstone (None) removes it."""
    if entries is None:
        group.targets.pop(member_id, None)
    else:
        group.targets[member_id] = partitions_of(entries)

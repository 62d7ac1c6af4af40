"""What the records of all newer kinds of groups have in common: their form and their keys.

These groups are kept as records of several types in `__consumer_offsets`. A key is the record type
as int16 and the key's fields, of which the group id is the first. A value is its version as int16,
always 0, and its fields. Each kind has types of its own; five of them have the same keys.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple, Protocol, TypeVar

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


class RecordTypes(NamedTuple):
    """The types of records that each newer kind of groups has, as numbers in the keys.

    Attributes:
        group_epoch: the group's own record, without which the group does not exist.
        member: what a member has told of itself.
        target_epoch: the epoch of the target assignment.
        target: a member's part of the target assignment.
        current: what a member has.
    """

    group_epoch: int
    member: int
    target_epoch: int
    target: int
    current: int

    def group_epoch_key(self, group_id: str) -> bytes:
        """Return the key of the group's own record."""
        return _group_key(self.group_epoch, group_id)

    def member_key(self, group_id: str, member_id: str) -> bytes:
        """Return the key of what a member has told of itself."""
        return _member_key(self.member, group_id, member_id)

    def target_epoch_key(self, group_id: str) -> bytes:
        """Return the key of the target assignment's epoch."""
        return _group_key(self.target_epoch, group_id)

    def target_key(self, group_id: str, member_id: str) -> bytes:
        """Return the key of a member's target."""
        return _member_key(self.target, group_id, member_id)

    def current_key(self, group_id: str, member_id: str) -> bytes:
        """Return the key of what a member has."""
        return _member_key(self.current, group_id, member_id)


CONSUMER: Final = RecordTypes(group_epoch=3, member=5, target_epoch=6, target=7, current=8)
SHARE: Final = RecordTypes(group_epoch=11, member=10, target_epoch=12, target=13, current=14)
STREAMS: Final = RecordTypes(group_epoch=17, member=19, target_epoch=20, target=21, current=22)


def _group_key(record_type: int, group_id: str) -> bytes:
    message = messages.ConsumerGroupMetadataKey
    return encode_key(record_type, message, message(group_id=group_id))


def _member_key(record_type: int, group_id: str, member_id: str) -> bytes:
    message = messages.ConsumerGroupMemberMetadataKey
    return encode_key(record_type, message, message(group_id=group_id, member_id=member_id))


def member_of_key(key: bytes) -> str:
    """Return the member id of a record that is about a member.

    Raises:
        DecodeError: it cannot be read.
    """
    return decode(messages.ConsumerGroupMemberMetadataKey, key).member_id


def target_epoch_value(epoch: int, timestamp_ms: int) -> bytes:
    """Return the value with the epoch of the target assignment, and when it was computed."""
    message = messages.ConsumerGroupTargetAssignmentMetadataValue
    return encode_value(message, message(assignment_epoch=epoch, assignment_timestamp=timestamp_ms))


class _Partitions(Protocol):
    """Partitions of a topic in the value of a record."""

    topic_id: bytes
    partitions: list[int]


def partitions_of(entries: Iterable[_Partitions]) -> Target:
    """Return the partitions of a record's entries, by topic id."""
    return {entry.topic_id: frozenset(entry.partitions) for entry in entries}

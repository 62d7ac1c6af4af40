"""Applies the records that all newer kinds of groups have: epochs, members and targets.

Compaction may have removed some of the records, so a record may name a member or a target of which
there is no other record. Such a record is applied as far as possible, and is no error.
"""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from broker_lite.coordinator.group_records import RecordTypes, decode, member_of_key
from broker_lite.wire import messages


class Member(Protocol):
    """A member of a group; it is immutable."""

    def with_assignment_of(self, other: Self, /) -> Self:
        """Return this member with the epochs, the state and the assignment of another one."""


M = TypeVar("M", bound=Member)
T = TypeVar("T")


class Readers(NamedTuple, Generic[M, T]):
    """What the values of a kind of groups are read with; each raises DecodeError.

    Attributes:
        types: of its records.
        member_of: returns a member that has told what a record says, and has nothing.
        current_of: returns a member that has what a record says, and has told nothing.
        target_of: returns the target in a record.
        joined: returns a member that has told nothing and has nothing.
    """

    types: RecordTypes
    member_of: Callable[[str, bytes], M]
    current_of: Callable[[str, bytes], M]
    target_of: Callable[[bytes], T]
    joined: Callable[[str], M]


class _GroupValue(Protocol):
    """The value of a group's own record."""

    epoch: int
    metadata_hash: int


class _WithEpoch(Protocol):
    """A group with an epoch of itself."""

    group_epoch: int
    metadata_hash: int
    is_deleted: bool


class _Roster(Protocol[M]):
    """The members of a group."""

    @property
    def members(self) -> Mapping[str, M]:
        """The members by id."""

    def put(self, member: M, /) -> None:
        """Store a member, whether it is new or changed."""

    def remove(self, member_id: str, /) -> None:
        """Remove a member if it exists."""


class _WithMembers(Protocol[M, T]):
    """A group with members and a target assignment."""

    target_epoch: int
    target_timestamp_ms: int
    targets: dict[str, T]

    @property
    def roster(self) -> _Roster[M]:
        """The members."""


def apply_group_epoch(group: _WithEpoch, value: _GroupValue | None) -> None:
    """Apply a group's own record; its tombstone (None) deletes the group."""
    group.is_deleted = value is None
    if value is not None:
        group.group_epoch = value.epoch
        group.metadata_hash = value.metadata_hash


def apply_member_or_target(
    group: _WithMembers[M, T],
    readers: Readers[M, T],
    record_type: int,
    key: bytes,
    value: bytes | None,
) -> None:
    """Apply a record about a member or the target assignment; records of other types do nothing.

    Args:
        group: the group of the key.
        readers: of its kind.
        record_type: of the key.
        key: of the record.
        value: of the record; None for a tombstone.

    Raises:
        DecodeError: the record cannot be read.
    """
    types = readers.types
    if record_type == types.target_epoch:
        _apply_target_epoch(group, value)
    elif record_type == types.target:
        member_id = member_of_key(key)
        if value is None:
            group.targets.pop(member_id, None)
        else:
            group.targets[member_id] = readers.target_of(value)
    elif record_type == types.member:
        _apply_member(group.roster, readers, member_of_key(key), value)
    elif record_type == types.current:
        _apply_current(group.roster, readers, member_of_key(key), value)


def _apply_target_epoch(group: _WithMembers[M, T], value: bytes | None) -> None:
    """Apply the epoch of the target assignment; a tombstone changes nothing."""
    if value is not None:
        said = decode(messages.ConsumerGroupTargetAssignmentMetadataValue, value)
        group.target_epoch = said.assignment_epoch
        group.target_timestamp_ms = said.assignment_timestamp


def _apply_member(
    roster: _Roster[M], readers: Readers[M, T], member_id: str, value: bytes | None
) -> None:
    """Apply what a member has told of itself; it keeps what it has. A tombstone removes it."""
    if value is None:
        roster.remove(member_id)
        return
    told, known = readers.member_of(member_id, value), roster.members.get(member_id)
    roster.put(told if known is None else told.with_assignment_of(known))


def _apply_current(
    roster: _Roster[M], readers: Readers[M, T], member_id: str, value: bytes | None
) -> None:
    """Apply what a member has; after a tombstone a known member has nothing."""
    known = roster.members.get(member_id)
    if value is not None:
        current = readers.current_of(member_id, value)
        roster.put(current if known is None else known.with_assignment_of(current))
    elif known is not None:
        roster.put(known.with_assignment_of(readers.joined(member_id)))

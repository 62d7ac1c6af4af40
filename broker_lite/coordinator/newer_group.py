"""What consumer, share and streams groups have in common: epochs, members, a target assignment.

Every change that must be in the log is made together with its record: in group_changes.py, or in
changes.py of the group's own room. So a group that is loaded from its records equals the group that
wrote them.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from broker_lite.coordinator.group_records import RecordTypes
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import GroupTimers, TimerKey, Timers
from broker_lite.coordinator.topics import Topics

# a new group has an empty assignment of this epoch, so its first member sees epoch 2 (G-88)
_FIRST_EPOCH: Final = 1


class Roster(Protocol):
    """The members of a group."""

    @property
    def members(self) -> Mapping[str, object]:
        """The members by id."""

    def remove(self, member_id: str) -> None:
        """Remove a member if it exists."""


R = TypeVar("R", bound=Roster)
T = TypeVar("T")


class NewerGroup(Generic[R, T]):
    """A group whose coordinator computes the assignment.

    A new group is in the log only when its first member is. If that member is refused, the code
    that made the group removes it again; `is_unwritten` tells whether it may.

    Args:
        group_id: its id.
        roster: its members.
        timers: of all groups.
        settings: of this group.
        topics: a live view of all topics.

    Attributes:
        record_types: of its kind.
        timers: its own.
        group_epoch: goes up with every change that needs a new target assignment. Without a record
            of it, a group is at the first epoch.
        metadata_hash: of the group's topics when that epoch began.
        target_epoch: the group epoch that the target assignment was computed for.
        target_timestamp_ms: when it was computed.
        targets: the target assignment, by member id.
        is_deleted: whether the group was deleted.
        is_metadata_stale: whether topics may have changed since the hash was computed. Not in the
            log: true for a loaded group.

    See: G-88, K-01, U-04 (ModernGroup).
    """

    __slots__ = (
        "group_epoch",
        "group_id",
        "is_deleted",
        "is_metadata_stale",
        "metadata_hash",
        "roster",
        "settings",
        "target_epoch",
        "target_timestamp_ms",
        "targets",
        "timers",
        "topics",
    )

    record_types: ClassVar[RecordTypes]

    def __init__(
        self,
        group_id: str,
        roster: R,
        timers: Timers[TimerKey],
        settings: GroupSettings,
        topics: Topics,
    ) -> None:
        self.group_id = group_id
        self.roster = roster
        self.timers = GroupTimers(group_id, timers)
        self.settings = settings
        self.topics = topics
        self.group_epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.targets: dict[str, T] = {}
        self.is_deleted = False
        self.is_metadata_stale = True

    @property
    def is_unwritten(self) -> bool:
        """Whether the log can have no record of the group yet, but for states of a share group."""
        return self.group_epoch == _FIRST_EPOCH and not self.roster.members

"""The group coordinator: all groups of a broker with their offsets, as one state machine.

It consists of parts, each of which handles some requests; its users call the part that they need.
The method for a request takes the request, its caller and the time. The reply to `caller.token` is
in its effects or in those of a later event. Methods that return a response write no records and
never wait. Events that can change several groups return one Effects per group, because the records
of each group belong into its own partition of the state topic.
"""

from collections.abc import Callable

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.groups.admin import GroupAdmin
from broker_lite.coordinator.groups.members import GroupMembers
from broker_lite.coordinator.groups.replay import GroupReplay
from broker_lite.coordinator.groups.share_offsets import ShareOffsets
from broker_lite.coordinator.groups.streams_members import StreamsMembers
from broker_lite.coordinator.offsets.commit import OffsetCommits
from broker_lite.coordinator.offsets.fetch import OffsetFetches
from broker_lite.coordinator.offsets.removal import OffsetRemovals
from broker_lite.coordinator.registry import GroupRegistry
from broker_lite.coordinator.topics import Topics


class GroupCoordinator:
    """The parts that share the groups of a broker.

    Args:
        settings: of the broker.
        topics: a live view of all topics.
        make_uuid: returns the random part of a member id.
        partition_of: returns the partition of the state topic that a group id belongs to.

    Attributes:
        registry: the groups with their settings and offsets.
        timers: of all groups.
        streams: heartbeats of members of streams groups.
        members: joins, syncs, heartbeats and leaves of members, and their timers.
        commits: OffsetCommit and TxnOffsetCommit.
        fetches: OffsetFetch.
        removals: OffsetDelete, and the removal of expired offsets and those of deleted topics.
        admin: requests that list, describe and delete groups.
        share_offsets: where share groups start.
        replay: loads groups from the state log.
    """

    __slots__ = (
        "admin",
        "commits",
        "fetches",
        "members",
        "registry",
        "removals",
        "replay",
        "share_offsets",
        "streams",
        "timers",
    )

    def __init__(
        self,
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
        partition_of: Callable[[str], int],
    ) -> None:
        self.registry = registry = GroupRegistry(settings, topics, make_uuid, partition_of)
        self.timers = registry.timers
        self.members = GroupMembers(registry)
        self.streams = StreamsMembers(registry)
        self.commits = OffsetCommits(registry)
        self.fetches = OffsetFetches(registry)
        self.removals = OffsetRemovals(registry)
        self.admin = GroupAdmin(registry, self.removals)
        self.share_offsets = ShareOffsets(registry)
        self.replay = GroupReplay(registry, self.removals)

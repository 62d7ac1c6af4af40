"""All groups of a broker, and what they share: settings, topics, timers and committed offsets."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.committed_offsets import OffsetStore
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.leave import delete_group
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.held_bytes import HeldBytes
from broker_lite.coordinator.migration.downgrade import downgrade
from broker_lite.coordinator.share.changes import drop_group
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.streams.changes import drop_group as drop_streams_group
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.timers import TimerKey, Timers
from broker_lite.coordinator.topics import Topics
from broker_lite.errors import ErrorCode, NotCoordinator

Group = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup

# the most bytes of records in one batch; Kafka's own limit is about 1 MB
_BATCH_BYTES_MAX: Final = 500_000

GroupEffects = list[tuple[str, Effects]]
"""Group ids with the effects of one event on several groups; those of one group are in order."""


class GroupRegistry:
    """The groups by id.

    Attributes:
        settings: of the broker; a group without configs of its own uses them.
        topics: the current topics.
        make_uuid: returns the random part of a member id.
        partition_of: returns the partition of the state topic that a group id belongs to.
        timers: of all groups.
        held: how much memory the members of all groups take.
        groups: every group, changed by add() and remove() only. A group without members may only
            have offsets, or nothing at all.
        offsets: the committed offsets of all groups.
        is_available: returns whether the topic for the state of groups exists.
    """

    def __init__(
        self,
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
        partition_of: Callable[[str], int],
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.make_uuid = make_uuid
        self.partition_of = partition_of
        self.timers: Timers[TimerKey] = Timers()
        self.groups: dict[str, Group] = {}
        self.held = HeldBytes()
        self.offsets = OffsetStore()
        self.is_available: Callable[[], bool] = lambda: True
        self._configs: dict[str, Mapping[str, str]] = {}

    def is_coordinated(self, caller: Caller) -> bool:
        """Whether the broker that was asked coordinates the group, and can do so now.

        See: G-23, C-60.
        """
        return caller.is_coordinator and self.is_available()

    def find(self, group_id: str, caller: Caller) -> Group | None:
        """Return the group of an id, or None if there is none.

        Raises:
            NotCoordinator: another broker coordinates the group, or the topic for the state of
                groups does not exist yet.

        See: G-23, C-60.
        """
        if not self.is_coordinated(caller):
            raise NotCoordinator
        return self.groups.get(group_id)

    def settings_of(self, group_id: str) -> GroupSettings:
        """Return the settings of a group, whether it exists or not.

        See: G-91.
        """
        configs = self._configs.get(group_id)
        return self.settings if configs is None else self.settings.for_group(configs)

    def configure(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Replace the configs of a group.

        See: G-91.
        """
        if configs:
            self._configs[group_id] = configs
        else:
            self._configs.pop(group_id, None)
        group = self.groups.get(group_id)
        if group is not None:
            group.settings = self.settings_of(group_id)

    def update_settings(self, settings: GroupSettings) -> None:
        """Replace the broker's settings."""
        self.settings = settings
        for group_id, group in self.groups.items():
            group.settings = self.settings_of(group_id)

    def topics_changed(self, names: Collection[str]) -> None:
        """Let groups look again at topics that were created, deleted or grew.

        See: G-84.
        """
        for group in self.groups.values():
            if isinstance(group, ConsumerGroup | ShareGroup | StreamsGroup):
                group.topics_changed(names)

    def classic(self, group_id: str) -> ClassicGroup | None:
        """Return the classic group of an id, or None if there is none."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        """Return the consumer group of an id, or None if there is none."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def share(self, group_id: str) -> ShareGroup | None:
        """Return the share group of an id, or None if there is none."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ShareGroup) else None

    def streams(self, group_id: str) -> StreamsGroup | None:
        """Return the streams group of an id, or None if there is none."""
        group = self.groups.get(group_id)
        return group if isinstance(group, StreamsGroup) else None

    def add(self, group: Group) -> None:
        """Add a group; it replaces a group with the same id."""
        old = self.groups.get(group.group_id)
        if old is not None:
            old.roster.held.join(None)
        group.roster.held.join(self.held)
        self.groups[group.group_id] = group

    def remove(self, group_id: str) -> None:
        """Forget a group if it exists; the memory of its members is no longer counted."""
        group = self.groups.pop(group_id, None)
        if group is not None:
            group.roster.held.join(None)

    def make_classic(self, group_id: str, now_ms: int) -> ClassicGroup:
        """Add an empty classic group; no record is written.

        Without a protocol type it is what Kafka calls a simple group: it only has offsets (G-61).
        """
        group = ClassicGroup(
            group_id, self.timers, self.settings_of(group_id), self.make_uuid, now_ms
        )
        self.add(group)
        return group

    def make_consumer(self, group_id: str) -> ConsumerGroup:
        """Add an empty consumer group; no record is written."""
        group = ConsumerGroup(
            group_id, self.timers, self.settings_of(group_id), self.topics, self.make_uuid
        )
        group.downgrade = partial(self._downgrade, group)
        self.add(group)
        return group

    def make_share(self, group_id: str) -> ShareGroup:
        """Add an empty share group; no record is written."""
        group = ShareGroup(group_id, self.timers, self.settings_of(group_id), self.topics)
        self.add(group)
        return group

    def make_streams(self, group_id: str) -> StreamsGroup:
        """Add an empty streams group; no record is written."""
        group = StreamsGroup(group_id, self.timers, self.settings_of(group_id), self.topics)
        self.add(group)
        return group

    def _downgrade(
        self, group: ConsumerGroup, leaving: Collection[str], effects: Effects, now_ms: int
    ) -> bool:
        """Replace a consumer group by a classic group if only classic members will be left in it.

        Returns:
            Whether the group was replaced.

        See: G-107.
        """
        classic = downgrade(group, leaving, effects, now_ms)
        if classic is not None:
            self.add(classic)
        return classic is not None

    def discard(self, group: Group, effects: Effects) -> None:
        """Remove a group that has no members; its offsets stay."""
        if isinstance(group, ConsumerGroup):
            delete_group(group, effects)
        elif isinstance(group, ShareGroup):
            group.unload()
            drop_group(group, effects)
        elif isinstance(group, StreamsGroup):
            group.unload()
            drop_streams_group(group, effects)
        else:
            group.write_tombstone(effects)
            # ids that were given out, and that no member joined with, may be left
            group.dismiss(ErrorCode.UNKNOWN_MEMBER_ID, effects)
        self.remove(group.group_id)

    def groups_in(self, *partitions: int) -> list[Group]:
        """Return the groups of partitions of the state topic; takes time for all groups."""
        partition_of, wanted = self.partition_of, frozenset(partitions)
        return [
            group for group_id, group in self.groups.items() if partition_of(group_id) in wanted
        ]


def in_batches(group_id: str, effects: Effects) -> GroupEffects:
    """Split effects with any number of records into parts that each fit into one batch.

    Only removals may be split: if a later batch is not written, its offsets are still there after a
    restart and are removed the next time.
    """
    batches = [(group_id, Effects())]
    batches[0][1].share_starts = effects.share_starts
    size_bytes = 0
    for record in effects.records:
        size_bytes += len(record.key) + len(record.value or b"")
        if size_bytes > _BATCH_BYTES_MAX and batches[-1][1].records:
            batches.append((group_id, Effects()))
            size_bytes = len(record.key)
        batches[-1][1].records.append(record)
    batches[-1][1].replies = effects.replies
    return batches


def is_empty(group: Group) -> bool:
    """Return whether a group has no members."""
    return bool(group.state.value == "Empty")


def unsubscribed(group: Group) -> Callable[[str], bool]:
    """Return a function that tells whether no member of a group subscribes to a topic.

    If the subscriptions are unknown, every topic counts as subscribed.

    See: G-75 (ClassicGroup.isSubscribedToTopic).
    """
    topics = group.subscribed_topics()
    return lambda topic: topics is not None and topic not in topics

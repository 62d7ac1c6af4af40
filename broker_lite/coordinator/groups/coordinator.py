"""The group coordinator: every request about groups and offsets, as one state machine.

It holds all groups of this broker and their offsets, and hands each request to the group that it
is about. Events that can touch several groups give one Effects a group, as each group's records
belong into its own partition of the state topic.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.regexes import prepare_regexes
from broker_lite.coordinator.effects import Caller, Effects, Reply
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.groups import admin as group_admin
from broker_lite.coordinator.groups.members import GroupMembers
from broker_lite.coordinator.groups.replay import GroupReplay
from broker_lite.coordinator.offsets.commit import OffsetCommits
from broker_lite.coordinator.offsets.fetch import fetch_offsets
from broker_lite.coordinator.offsets.removal import OffsetRemovals
from broker_lite.coordinator.registry import GroupEffects, GroupRegistry
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.coordinator.topics import Topics
from broker_lite.wire import messages


class GroupCoordinator:
    """All groups of a broker.

    A request event answers `caller.token`, at once or in the effects of a later event. The methods
    that return a response have no records and never wait.

    Args:
        settings: the broker's.
        topics: the topics of the moment.
        make_uuid: gives the random part of a member id.
        partition_of: the partition of the state topic that a group id belongs to.

    Attributes:
        registry: the groups and their timers, to look at.
    """

    def __init__(
        self,
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
        partition_of: Callable[[str], int],
    ) -> None:
        self.registry = registry = GroupRegistry(settings, topics, make_uuid, partition_of)
        self._members = GroupMembers(registry)
        self._commits = OffsetCommits(registry)
        self._removals = OffsetRemovals(registry)
        self._replay = GroupReplay(registry, self._removals)

    # members

    def join_group(
        self, request: messages.JoinGroupRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """JoinGroup (G-35 to G-50)."""
        return self._members.join(request, caller, now_ms)

    def sync_group(
        self, request: messages.SyncGroupRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """SyncGroup (G-51 to G-53)."""
        return self._members.sync(request, caller, now_ms)

    def heartbeat(self, request: messages.HeartbeatRequest, caller: Caller, now_ms: int) -> Effects:
        """Heartbeat (G-54)."""
        return self._members.heartbeat(request, caller, now_ms)

    def leave_group(
        self, request: messages.LeaveGroupRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """LeaveGroup (G-55, G-56)."""
        return self._members.leave(request, caller, now_ms)

    def consumer_group_heartbeat(
        self, request: messages.ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """ConsumerGroupHeartbeat (G-78 to G-90)."""
        return self._members.consumer_heartbeat(request, caller, now_ms)

    def prepare_regexes(
        self, request: messages.ConsumerGroupHeartbeatRequest
    ) -> Iterator[tuple[str, Prepared]]:
        """Prepare what a ConsumerGroupHeartbeat will match (G-100); see consumer/regexes.py."""
        registry = self.registry
        new = request.subscribed_topic_regex or ""
        return prepare_regexes(registry.consumer(request.group_id), new, registry.topics)

    @contextmanager
    def with_prepared(self, regexes: Mapping[str, Prepared]) -> Iterator[None]:
        """Have the event that happens first in the body find these regular expressions matched."""
        self.registry.topics.prepared = regexes
        try:
            yield
        finally:
            self.registry.topics.prepared = {}

    # offsets

    def commit_offsets(
        self, request: messages.OffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """OffsetCommit (G-60 to G-66)."""
        return self._commits.commit(request, caller, now_ms)

    def commit_transactional_offsets(
        self, request: messages.TxnOffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """TxnOffsetCommit once the producer is known to be good (T-41, T-43).

        The records of the effects belong to the producer in `effects.producer`.
        """
        return self._commits.commit_transactional(request, caller, now_ms)

    def fetch_offsets(
        self, request: messages.OffsetFetchRequest, version: int
    ) -> messages.OffsetFetchResponse:
        """OffsetFetch in every version, with all its groups (G-67 to G-71)."""
        return fetch_offsets(self.registry, request, version)

    def delete_offsets(
        self, request: messages.OffsetDeleteRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """OffsetDelete (G-105)."""
        return self._removals.delete(request, caller)

    def complete_transaction(
        self, partition: int, producer_id: int, *, committed: bool, now_ms: int
    ) -> None:
        """A marker was written: pending offsets become committed ones, or go (T-53)."""
        self.registry.offsets.complete(partition, producer_id, committed=committed)

    def expire(self, now_ms: int) -> GroupEffects:
        """Remove offsets whose time is over, and groups that nothing is left of (G-74)."""
        return self._removals.expire(now_ms)

    # administration

    def list_groups(self, request: messages.ListGroupsRequest) -> messages.ListGroupsResponse:
        """ListGroups (G-102)."""
        return group_admin.list_groups(self.registry, request)

    def describe_groups(
        self, request: messages.DescribeGroupsRequest, version: int
    ) -> messages.DescribeGroupsResponse:
        """DescribeGroups (G-103); authorized operations are left for the caller to fill."""
        return group_admin.describe_groups(self.registry, request, version)

    def describe_consumer_groups(
        self, request: messages.ConsumerGroupDescribeRequest
    ) -> messages.ConsumerGroupDescribeResponse:
        """ConsumerGroupDescribe (G-101)."""
        return group_admin.describe_consumer_groups(self.registry, request)

    def delete_groups(
        self, request: messages.DeleteGroupsRequest, now_ms: int
    ) -> tuple[messages.DeleteGroupsResponse, GroupEffects]:
        """DeleteGroups (G-104): the response, and what each deleted group leads to.

        When the records of a group cannot be written, its result in the response is changed.
        """
        return group_admin.delete_groups(self.registry, self._removals, request)

    # the cluster's changes

    def topics_deleted(self, names: Collection[str], now_ms: int) -> GroupEffects:
        """Topics are gone: so are their offsets in all groups (G-73)."""
        return self._removals.delete_topics(names)

    def topics_changed(self, names: Collection[str], now_ms: int) -> GroupEffects:
        """Topics were made, deleted or grew: consumer groups look at them again (G-84)."""
        for group in self.registry.groups.values():
            if isinstance(group, ConsumerGroup):
                group.topics_changed(names)
        return []

    def set_available(self, is_available: Callable[[], bool]) -> None:
        """Refuse requests (NotCoordinator) as long as this says that no state can be kept."""
        self.registry.is_available = is_available

    def update_settings(self, settings: GroupSettings) -> None:
        """The broker's settings are these from now on."""
        self.registry.update_settings(settings)

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """The configs of a group (resource 32) are these from now on (G-91)."""
        self.registry.configure(group_id, configs)

    # time

    def next_deadline_ms(self) -> int | None:
        """When `on_time` has to be called next; None as long as no timer runs."""
        return self.registry.timers.next_deadline_ms()

    def on_time(self, now_ms: int) -> GroupEffects:
        """Run every timer that is due."""
        return self._members.on_time(now_ms)

    # the state log

    def replay_batch(
        self, partition: int, producer_id: int, records: Iterable[tuple[bytes, bytes | None]]
    ) -> None:
        """Take over what a batch of the log says.

        Args:
            partition: of the state topic.
            producer_id: of a transactional batch, -1 otherwise.
            records: keys and values in the order of the log.
        """
        self._replay.batch(partition, producer_id, records)

    def replay_marker(self, partition: int, producer_id: int, *, committed: bool) -> None:
        """Take over a transaction's end from the log."""
        self.registry.offsets.complete(partition, producer_id, committed=committed)

    def loaded(self, partition: int, now_ms: int) -> GroupEffects:
        """The log of a partition was replayed to its end: the members' timers start anew."""
        return self._replay.loaded(partition, now_ms)

    def unload(self, partition: int) -> list[Reply]:
        """Forget all groups of a partition.

        Returns:
            The open requests of their members with an answer that makes clients try again.
        """
        return self._replay.unload(partition)

    def unload_all(self) -> list[Reply]:
        """Forget all groups.

        Returns:
            As of unload.
        """
        return self._replay.unload_all()

"""Runs the group coordinator, with its state log, open requests and timers.

Every event is one step without a pause: the coordinator decides, its records are appended to the
group's partition of `__consumer_offsets`, and only then are requests answered. An open request is a
future: while it waits it costs only memory. If its client disconnects, it is cancelled, and its
response is dropped.

The log is the source of truth. If it cannot be written, or an event fails half way, the state of
that partition in memory is dropped and loaded again, and clients get a retriable error.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Container, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.cluster_topics import ClusterTopics
from broker_lite.control.coordinators.elsewhere import AsksLeader
from broker_lite.control.coordinators.expiry_times import ExpiryTimes
from broker_lite.control.coordinators.group_state import GroupState
from broker_lite.control.coordinators.replicated_offsets import ReplicatedOffsets
from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.control.coordinators.share_service import Shares
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE
from broker_lite.control.metadata.topic import NO_LEADER, Topic
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import GroupHistory
from broker_lite.errors import ErrorCode, NotCoordinator, UnknownServerError
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct

if TYPE_CHECKING:
    from broker_lite.coordinator.committed_offsets import GroupOffsets
    from broker_lite.coordinator.groups.coordinator import GroupCoordinator
    from broker_lite.coordinator.registry import GroupEffects

logger = logging.getLogger("broker_lite.control")

Asked = TypeVar("Asked", bound=Struct)


class Groups:
    """The groups of a cluster; used by one thread, the event loop's.

    Attributes:
        topic: the topic of the state log.
        shares: what share groups have of partitions.
        ask_leader: asks other processes where partitions begin and end; None if there are none.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        clock: Clock,
        alarm: Alarm,
        make_uuid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        """Store the parts; nothing is read before start().

        Args:
            cluster: has to be started.
            clock: of the process.
            alarm: is told each new deadline.
            make_uuid: returns the random part of a member id.
        """
        codec = cluster.settings.offsets_topic_compression_codec
        self.topic = StateTopic(cluster, OFFSETS_TOPIC, codec=codec)
        self.ask_leader: AsksLeader | None = None
        self._coordinator: GroupCoordinator | None = None
        self._make_uuid = make_uuid
        self._cluster = cluster
        self._clock = clock
        self._alarm = alarm
        self._waits = ReplicationWaits(self.topic, clock, alarm)
        timeout_ms = cluster.settings.offsets_commit_timeout_ms
        self.shares = Shares(cluster=cluster, clock=clock, alarm=alarm)
        self._state = GroupState(self._waits, clock, alarm, lambda: self.coordinator, timeout_ms)
        self._state.put_share_starts = self.shares.put_starts
        self._expiry = ExpiryTimes(self.topic.partition_of)
        self._lagging = cluster.logs.commits.lagging
        self._replicated = ReplicatedOffsets(self.topic)

    def start(self) -> None:
        """Load the state log; a partition that cannot be read is loaded when it is needed."""
        for partition in self.topic.partitions_to_replay():
            self._state.load(partition)
        self.shares.start()
        self._expiry.start(self._clock.steady_ms() + self._expiry_interval_ms)
        self._cluster.watchers.add(self)

    @property
    def coordinator(self) -> "GroupCoordinator":
        """The coordinator, for read-only calls; events have to use the methods of this class."""
        if self._coordinator is None:
            self._coordinator = self._make_coordinator()
        return self._coordinator

    def _make_coordinator(self) -> "GroupCoordinator":
        from broker_lite.coordinator.group_settings import GroupSettings
        from broker_lite.coordinator.groups.coordinator import GroupCoordinator

        cluster = self._cluster
        made = GroupCoordinator(
            GroupSettings.of(cluster.settings),
            ClusterTopics(cluster),
            self._make_uuid,
            self.topic.partition_of,
        )
        made.registry.is_available = lambda: self.topic.exists
        for group_id in cluster.configured(GROUP_RESOURCE):
            made.registry.configure(group_id, cluster.configs(GROUP_RESOURCE, group_id))
        return made

    @property
    def history(self) -> GroupHistory:
        """What groups did since the start, and why."""
        return self._state.history

    # -- requests

    async def ask(
        self,
        event: Callable[[Asked, Caller, int], Effects],
        group_id: str,
        request: Asked,
        caller: Caller,
    ) -> Struct:
        """Pass a request that may change a group to the coordinator, and await the response.

        Args:
            event: the method of `coordinator` that handles the request.
            group_id: the group of the request.
            request: the decoded message.
            caller: without a token.

        Returns:
            The response.

        Raises:
            NotCoordinator, UnknownServerError: nothing was changed; or the group has moved before
                its records were replicated.
            CoordinatorNotAvailable: the records were written, but are not replicated in time.
        """
        now_ms = self._run_due_timers()
        partition = self._state.open_partition(group_id)
        if self._lagging:
            self._keep_offsets(group_id)
        answer: asyncio.Future[Struct] = asyncio.get_running_loop().create_future()
        try:
            version, client_id, client_host, _, is_coordinator = caller
            asking = Caller(version, client_id, client_host, answer, is_coordinator)
            effects = event(request, asking, now_ms)
        except NotCoordinator:  # raised before anything is done
            raise
        except Exception as error:  # the state in memory may be half changed: load it again
            logger.exception("group event failed group=%s", group_id)
            self._state.reload(partition)
            raise UnknownServerError from error
        self._state.settle(partition, effects, answer)
        self._alarm.due_at(self.coordinator.timers.next_deadline_ms())
        return await answer

    def delete_groups(
        self, request: messages.DeleteGroupsRequest, foreign: Container[str] = ()
    ) -> messages.DeleteGroupsResponse:
        """Answer DeleteGroups.

        Args:
            request: the decoded message.
            foreign: those of its groups that another broker coordinates.

        Raises:
            NotCoordinator: the state of one of the groups cannot be read now.
        """
        self.check_loaded(each for each in request.groups_names if each not in foreign)
        for group_id in request.groups_names if self._lagging else ():
            self._keep_offsets(group_id)
        response, deleted = self.coordinator.admin.delete_groups(request, foreign)
        unwritten = self._state.settle_all(deleted)
        for result in response.results:
            if result.group_id in unwritten:
                result.error_code = NotCoordinator.code
        return response

    def rebalance(self, group_id: str) -> bool:
        """Let a group rebalance although nothing has changed, for a test.

        Returns:
            False if there is no such group, or it has no members.

        Raises:
            NotCoordinator: the state of the group cannot be read now.
        """
        now_ms = self._run_due_timers()
        partition = self._state.open_partition(group_id)
        effects = self.coordinator.admin.rebalance(group_id, now_ms)
        if effects is None:
            return False
        self._state.settle(partition, effects)
        self._alarm.due_at(self.coordinator.timers.next_deadline_ms())
        return True

    async def unreplicated(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Wait until everything that was written of groups is replicated.

        Returns:
            The groups where that took too long, or that another broker coordinates by now.

        See: C-72.
        """
        places = {each: self.partition_of(each) for each in group_ids}
        errors = await self._state.replicated({*places.values()})
        return {each: errors[place].code for each, place in places.items() if place in errors}

    def _keep_offsets(self, group_id: str) -> None:
        self._replicated.keep(group_id, self.coordinator.registry.offsets.of(group_id))

    def replicated_offsets(self, group_ids: Iterable[str]) -> "dict[str, GroupOffsets]":
        """Return the replicated offsets of those groups whose newest ones are not replicated.

        See: C-72.
        """
        if not self._lagging:
            return {}
        found = {each: self._replicated.of(each) for each in group_ids}
        return {group_id: offsets for group_id, offsets in found.items() if offsets is not None}

    def check_loaded(self, group_ids: Iterable[str]) -> None:
        """Run due timers, and check that these groups are loaded.

        Raises:
            NotCoordinator: the state topic does not exist yet, or the state of a group cannot be
                read.

        See: G-23.
        """
        self._run_due_timers()
        if not self.topic.exists:
            raise NotCoordinator
        if self._state.unloaded:
            for group_id in group_ids:
                self._state.check_partition(self.partition_of(group_id))

    def check_all_loaded(self, node_id: int) -> None:
        """Run due timers, and check that all groups that a broker coordinates are loaded.

        Raises:
            NotCoordinator: the state of some groups cannot be read.
        """
        self._run_due_timers()
        for partition in list(self._state.unloaded):
            if self.topic.leader(partition) == node_id:
                self._state.check_partition(partition)

    def partition_of(self, group_id: str) -> int:
        """Return the partition of the state log for a group."""
        return self.topic.partition_of(group_id)

    def complete_transaction(self, partition: int, producer_id: int, committed: bool) -> None:
        """Commit or drop a transaction's pending offsets, after its marker was appended (T-53)."""
        self.coordinator.registry.offsets.complete(partition, producer_id, committed=committed)

    # -- time

    def next_deadline_ms(self) -> int:
        """Return when on_time() has to be called next, in the clock's steady milliseconds."""
        deadline_ms = (
            None if self._coordinator is None else self._coordinator.timers.next_deadline_ms()
        )
        others = self._waits.next_deadline_ms(), self.shares.next_deadline_ms()
        deadlines = (deadline_ms, *others, self._expiry.next_ms)
        return min(each for each in deadlines if each is not None)

    def on_time(self) -> None:
        """Run the due timers of groups, and remove expired offsets when that is due."""
        self._waits.on_time()
        self.shares.on_time()
        if not self._lagging:
            self._replicated.forget_all()
        now_ms = self._clock.steady_ms()
        is_due = self._expiry.take_due(now_ms, self._expiry_interval_ms)
        if self._coordinator is not None:
            self._run(partial(self._coordinator.members.on_time, now_ms))
            if is_due is not None:
                self._run(partial(self._coordinator.removals.expire, now_ms, is_due))

    def _run_due_timers(self) -> int:
        """Run the due timers, and return the current time.

        Kafka's timers queue their events before a request of the same millisecond. So a request
        never finds a member whose session has ended.

        See: G-120.
        """
        now_ms = self._clock.steady_ms()
        if self._coordinator is not None:
            deadline_ms = self._coordinator.timers.next_deadline_ms()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self.on_time()
        return now_ms

    @property
    def _expiry_interval_ms(self) -> int:
        return self._cluster.settings.offsets_retention_check_interval_ms

    # -- changes of the cluster

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Tell groups of topics that were created, grew, or were deleted.

        See: G-73, G-84.
        """
        self.shares.topics_changed(deleted)
        coordinator = self._coordinator
        if coordinator is None:
            return
        names = set()
        for topic in deleted:
            names.add(topic.name)
            if topic.name == OFFSETS_TOPIC:  # all groups are lost with it, as in Kafka
                self._state.forget_all()
                self._replicated.forget_all()
        if names:
            self._run(partial(coordinator.removals.delete_topics, names))
        names.update(topic.name for topic in changed)
        coordinator.registry.topics_changed(names)
        self._alarm.due_at(coordinator.timers.next_deadline_ms())

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Unload the groups of partitions whose leader changed, and load them for the new leader.

        If only the leader epoch has changed, the groups go on as they are. Groups look again at all
        topics whose partitions have changed: racks count, and those of replicas may be gone.

        Rule: C-65 (CoordinatorRuntime.scheduleLoadOperation).
        See: C-63, C-64, C-66, G-84.
        """
        self.shares.partitions_moved(moved)
        if self._coordinator is not None:
            self._coordinator.registry.topics_changed({one[0].name for one in moved})
        moves = [one for one in self.topic.moves(moved) if one.before.leader != one.after.leader]
        if not moves:
            return
        partitions = [one.partition for one in moves]
        self._state.hand_over(partitions)
        self._replicated.forget(partitions)
        first_expiry_ms = self._clock.steady_ms() + self._expiry_interval_ms
        for one in moves:
            self._expiry.unloaded(one.partition)
            if one.after.leader != NO_LEADER:
                self._state.load(one.partition)
                self._expiry.loaded(one.partition, first_expiry_ms)
        self._alarm.due_at(self.next_deadline_ms())

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Apply changed configs to groups.

        See: G-91.
        """
        self.shares.configs_changed(resources)
        if self._coordinator is None:
            return
        from broker_lite.coordinator.group_settings import GroupSettings

        for resource_type, name in resources:
            if resource_type == GROUP_RESOURCE:
                configs = self._cluster.configs(GROUP_RESOURCE, name)
                self._coordinator.registry.configure(name, configs)
            elif resource_type == BROKER_RESOURCE:
                self._coordinator.registry.update_settings(GroupSettings.of(self._cluster.settings))

    def _run(self, event: "Callable[[], GroupEffects]") -> None:
        """Run an event without a request, which may change all groups."""
        try:
            several = event()
        except Exception:  # the state in memory may be half changed: load it again
            logger.exception("event of several groups failed")
            for partition in self.topic.partitions_to_replay():
                self._state.reload(partition)
            return
        self._state.settle_all(several)

"""Runs the share partitions: which records share groups have in flight, and what is kept of them.

A share partition is made of its kept state when a member reads from it. If a change of it cannot be
written, it is dropped, and made again of what is written. So acknowledged records stay so.

The states are kept by this process, or by another one: then the share partitions here are those
that the broker of this process leads.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from time import perf_counter

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.background import SLICE_S, Background
from broker_lite.control.coordinators.kept_states import (
    AsksForStates,
    Keeping,
    KeepsStates,
)
from broker_lite.control.coordinators.node_sessions import NodeSessions
from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.control.coordinators.share_leaders import share_leader
from broker_lite.control.coordinators.share_listeners import ShareListeners
from broker_lite.control.coordinators.share_log import ShareLog
from broker_lite.control.coordinators.share_releases import ShareReleases, keys_among
from broker_lite.control.coordinators.share_said import ShareSaid
from broker_lite.control.coordinators.share_settings import share_settings
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.coordinators.states_elsewhere import StatesElsewhere
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.held_states import NO_ROOM, HeldStates
from broker_lite.coordinator.share_records.partition import SharePartition, runs_of_state
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, NotLeaderOrFollower

logger = logging.getLogger("broker_lite.control")


class Shares:
    """The share partitions of a cluster; used by one thread, the event loop's.

    Attributes:
        log: of the kept states, if this process keeps them.
        held: how much memory the states take, kept and in flight.
        listeners: who waits for records.
        elsewhere: the states, if another process keeps them; else None.
        tell_others: told of states that begin anew or end; None if nobody else reads states.
        sessions: those of each broker.
        said: what members have said about records, as far as it was written.
    """

    def __init__(self, *, cluster: Cluster, clock: Clock, alarm: Alarm) -> None:
        """Store the parts; nothing is read before start().

        Args:
            cluster: has to be started.
            clock: of the process.
            alarm: is told each new deadline.
        """
        updates_max = cluster.settings.share_coordinator_snapshot_update_records_per_snapshot
        self._background = Background(alarm)
        self.held = HeldStates(cluster.settings.broker_lite_groups_max_bytes // 2)
        topic = StateTopic(cluster, SHARE_TOPIC)
        self.log = ShareLog(topic, updates_max, clock, self._background, self._has_topic, self.held)
        self.elsewhere: StatesElsewhere | None = None
        self.tell_others: Callable[[Sequence[ShareKey]], object] | None = None
        self._states: KeepsStates = self.log
        self._waits = ReplicationWaits(topic, clock, alarm)
        self._cluster = cluster
        self._clock = clock
        self._alarm = alarm
        self._partitions: dict[ShareKey, SharePartition] = {}
        # Where share partitions began whose kept state does not say it yet. A change that cannot be
        # written drops a share partition, and with it what was acquired; it begins there again.
        self._begun: dict[ShareKey, int] = {}
        # the keys of both by group; those that are gone stay until the group is forgotten
        self._keys: dict[str, dict[ShareKey, None]] = {}
        self.said = ShareSaid()
        self._timers: Timers[ShareKey] = Timers()
        self._releases = ShareReleases(self._background, self._release)
        self.listeners = ShareListeners()
        self.held.when_free = self.listeners.wake_for_memory
        self._settings: dict[str, ShareSettings] = {}
        self.sessions = NodeSessions(cluster)

    def start(self) -> None:
        """Load the kept states."""
        self.log.load_all()

    def keep_elsewhere(self, ask: AsksForStates) -> None:
        """Have another process keep the states, which has the group coordinator, too."""
        self._states = self.elsewhere = StatesElsewhere(
            ask, kept=lambda key: self._begun.pop(key, None), lost=self._forget
        )

    def _has_topic(self, topic_id: bytes) -> bool:
        return topic_id in self._cluster.topics_by_id

    # -- share partitions

    def put_starts(self, starts: Sequence[ShareStart]) -> None:
        """Begin states anew, or end them; what is in flight is forgotten.

        Raises:
            BrokerError: some of them may not be written.
        """
        keys: list[ShareKey] = []
        if self._partitions or self._begun or self.tell_others is not None:
            keys = [ShareKey(*start[:3]) for start in starts]
        # nobody has read a state that there was not
        told = () if self.tell_others is None else self.log.may_have(keys)
        self.said.end(starts)
        try:
            self.log.start(starts)
            for key in keys:
                self._begun.pop(key, None)
        finally:
            self._forget_all(keys)  # some may be written although others are not
            if told and self.tell_others is not None:
                self.tell_others(told)

    def states_began(self, keys: Iterable[ShareKey]) -> None:
        """Forget states that another process has begun anew, or ended, and what is in flight."""
        for key in keys:
            self._begun.pop(key, None)
            self.said.end([ShareStart(*key, None, 0)])
            if self.elsewhere is not None:
                self.elsewhere.refuse(key, NotLeaderOrFollower())
            self._forget(key)

    def partition(self, key: ShareKey) -> SharePartition | None:
        """Return a share partition that was made by open()."""
        return self._partitions.get(key)

    def is_known(self, key: ShareKey) -> bool:
        """Return whether the group has a state of a partition.

        Raises:
            CoordinatorNotAvailable: nobody knows now.
        """
        self._states.check(key)
        self._releases.catch_up(key)
        return self._states.get(key) is not None

    def needs_start(self, key: ShareKey) -> bool:
        """Return whether nothing says where a share partition starts."""
        if key in self._partitions or key in self._begun:
            return False
        state = self._states.get(key)
        return state is None or state.start_offset == NO_START

    def open(self, key: ShareKey, start_offset: int) -> SharePartition:
        """Return a share partition; make it of its kept state if it is not there yet.

        Args:
            key: of it.
            start_offset: where it starts if `needs_start`; the first record of the log otherwise.

        Raises:
            CoordinatorNotAvailable: there is no memory for what is kept of it (K-36).
        """
        partition = self._partitions.get(key)
        if partition is None:
            state, batches = self._states.get(key), list[StateBatch]()
            settings = self._settings[key.group_id] = self.settings_of(key.group_id)
            if state is None or state.start_offset == NO_START:
                begin = self._begun.setdefault(key, start_offset)
            else:
                begin, batches = max(state.start_offset, start_offset), state.batches
            if batches and not self.held.has_room(runs_of_state(begin, batches)):
                raise CoordinatorNotAvailable(NO_ROOM)
            partition = SharePartition(begin, batches, settings, self.held)
            self._partitions[key] = partition
            self._keys.setdefault(key.group_id, {})[key] = None
        return partition

    def settle(
        self, key: ShareKey, update: StateUpdate | None, leader_epoch: int
    ) -> Keeping | None:
        """Write what has changed of a share partition, and wake who waits for its records.

        Args:
            key: of it.
            update: what has changed; None for nothing.
            leader_epoch: of the partition's leader.

        Returns:
            What tells whether it is kept; None if it is already.

        Raises:
            BrokerError: it may not be written; the share partition is as it was kept.
        """
        self.follow(key)
        if update is None:
            self.said.take(key, self._partitions.get(key))
            return None
        try:
            keeping = self._states.update(key, update, leader_epoch)
            if keeping is None:
                self._begun.pop(key, None)
            self.said.take(key, self._partitions.get(key), keeping)
        except BrokerError:
            self._forget(key)
            raise
        finally:
            self.listeners.wake(key)
        return keeping

    @property
    def may_lag(self) -> bool:
        """Whether what was written may not be replicated yet."""
        return self.log.topic.is_lagging

    async def unreplicated(self, keys: Iterable[ShareKey]) -> set[ShareKey]:
        """Wait until everything that was written of share partitions is replicated.

        Returns:
            Those where that took too long, or whose state another broker keeps by now.

        Rule: K-27 (ShareCoordinatorService.writeState).
        """
        places = {key: self.log.place_of(key) for key in keys}
        timeout_ms = self._cluster.settings.share_coordinator_write_timeout_ms
        errors = await self._waits.written({*places.values()}, timeout_ms)
        return {key for key, place in places.items() if place in errors}

    def follow(self, key: ShareKey) -> None:
        """Have on_time() called when the next lock of a share partition ends."""
        partition = self._partitions.get(key)
        deadline_ms = None if partition is None else partition.next_deadline_ms()
        if deadline_ms is None:
            self._timers.cancel(key)
        elif self._timers.deadline_ms(key) != deadline_ms:
            self._timers.set(key, deadline_ms)
            self._alarm.due_at(deadline_ms)

    def release(
        self, group_id: str, member_id: str, partitions: Collection[SharedPartition]
    ) -> None:
        """End all locks of a member whose share session has ended; most of many by and by.

        Who wants to read from a share partition before that has its locks end at once.

        See: K-16 (SharePartitionManager.releaseSession).
        """
        self._releases.add(keys_among(self._partitions, group_id, partitions), member_id)

    def forget_groups(self, group_ids: Set[str], node_id: int) -> None:
        """Forget what groups have in flight of the partitions that a broker leads.

        They begin again with what is kept. If that says nothing of the start, it is found anew.

        See: K-26 (SharePartitionManager.onGroupEmpty).
        """
        for group_id in group_ids:
            known = self._keys.pop(group_id, ())
            keys = [key for key in known if key in self._begun or key in self._partitions]
            led = {key for key in keys if share_leader(self._cluster, key).leader == node_id}
            if len(led) < len(keys):
                self._keys[group_id] = dict.fromkeys(key for key in keys if key not in led)
            self._releases.add(led, None)

    def _release(self, key: ShareKey, member_id: str | None) -> None:
        partition = self._partitions.get(key)
        if member_id is None:
            self._begun.pop(key, None)
            self._forget(key)
        elif partition is not None:
            self._settle_quietly(key, partition.release(member_id))

    def _settle_quietly(self, key: ShareKey, update: StateUpdate | None) -> None:
        """Do as settle() for what no client waits for."""
        try:
            self.settle(key, update, share_leader(self._cluster, key).leader_epoch)
        except BrokerError as error:
            logger.error("locks ended, and were not written group=%s reason=%s", key[0], error)

    def _forget(self, key: ShareKey) -> None:
        self._states.forget(key)
        partition = self._partitions.pop(key, None)
        if partition is not None:
            partition.in_flight.let_go()
            self._timers.cancel(key)
            self.listeners.wake(key)

    def _forget_all(self, keys: Iterable[ShareKey]) -> None:
        for key in [*keys]:
            self._forget(key)

    # -- time

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next, in the clock's steady milliseconds."""
        owners = self._background, self._timers, self._waits
        deadlines = [each for one in owners if (each := one.next_deadline_ms()) is not None]
        return min(deadlines, default=None)

    def run_due(self, key: ShareKey) -> int:
        """End the locks of a share partition that are due before it is used; return the time.

        So a member never acknowledges what it has no lock for.
        """
        self._releases.catch_up(key)
        now_ms = self._clock.steady_ms()
        deadline_ms = self._timers.deadline_ms(key)
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._timers.cancel(key)
            self._end_locks(key, now_ms)
        return now_ms

    def on_time(self) -> None:
        """End the locks and waits that are due, and go on with what is done in the background.

        Of very many locks it ends those of one slice, and has to be called again.
        """
        self._waits.on_time()
        now_ms, end_s = self._clock.steady_ms(), perf_counter() + SLICE_S
        while (key := self._timers.pop_due(now_ms)) is not None:
            self._end_locks(key, now_ms)
            if perf_counter() >= end_s:
                break
        self._background.on_time()

    def _end_locks(self, key: ShareKey, now_ms: int) -> None:
        """End the locks of a share partition that are due.

        See: K-15.
        """
        partition = self._partitions.get(key)
        if partition is not None:
            self._settle_quietly(key, partition.on_time(now_ms))

    # -- changes of the cluster

    def settings_of(self, group_id: str) -> ShareSettings:
        """Return the settings of a group.

        See: G-91.
        """
        known = self._settings.get(group_id)
        return share_settings(self._cluster, group_id) if known is None else known

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Apply changed configs to groups."""
        if all(kind == TOPIC_RESOURCE for kind, _ in resources):
            return
        groups = {key.group_id for key in self._partitions}
        self._settings = {each: share_settings(self._cluster, each) for each in groups}
        for key, partition in self._partitions.items():
            partition.settings = self._settings[key.group_id]

    def topics_changed(self, deleted: Collection[Topic]) -> None:
        """End the states of deleted topics.

        See: K-04 (ShareCoordinatorService.onTopicsDeleted).
        """
        gone = {topic.topic_id for topic in deleted}
        if any(topic.name == SHARE_TOPIC for topic in deleted):
            self.log.forget_all()
            self._waits.fail_all()
            self._begun.clear()
            self._keys.clear()
            self._forget_all((*self._partitions, *self._states.held))
        if not gone:
            return
        self.states_began([key for key in self._states.held if key.topic_id in gone])
        self._begun = {key: start for key, start in self._begun.items() if key[1] not in gone}
        self._forget_all(key for key in self._partitions if key.topic_id in gone)
        self.log.end_topics(gone, self.put_starts)

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Drop what is in flight of partitions that are led anew: their locks are lost.

        Rule: K-24 (SharePartitionManager, PartitionListener.onBecomingFollower).
        """
        moves = self.log.topic.moves(moved)
        places = [one.partition for one in moves]
        self.log.reload_some(places)
        self._waits.fail([one[1] for one in moves if one.before.leader != one.after.leader])
        led_anew = {
            (one.topic.topic_id, one.partition)
            for one in moved
            if one.before.leader_epoch != one.after.leader_epoch
        }
        self._forget_all(
            key
            for key in (*self._partitions, *self._states.held)
            if key[1:] in led_anew or (places and self.log.place_of(key) in places)
        )

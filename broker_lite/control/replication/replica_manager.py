"""Replicas that are behind: the high watermark waits, ISRs shrink and grow, elections lose records.

All brokers of the process share one log for each partition. A replica is a number: how much of the
log it has. It has all of it, unless a command says otherwise.

Source: ReplicaManager, Partition (KIP-392, KIP-497, KIP-966).
"""

import logging
from collections.abc import Collection
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.cluster.elections import Election, change
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.errors import KafkaStorageError, cause_of
from broker_lite.log.log import Log
from broker_lite.log.replicas import Lag, Replicas

_log = logging.getLogger("broker_lite.control")

_CAUGHT_UP: Final = None
Key = tuple[str, int]


class ReplicaManager:
    """The replicas of all partitions; used by the event loop.

    Attributes:
        due_at: told when on_time() has to be called.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        """Begin with no replica behind."""
        self._cluster = cluster
        self._clock = clock
        self._lagging: dict[Key, Replicas] = {}
        self._gone: set[int] = set()
        self.due_at = cluster.membership.due_at
        cluster.watchers.add(self)
        cluster.when_loaded(self._on_loaded)

    # -- commands

    def fall_behind(self, topic: Topic, partition: int, node_id: int, lag: Lag) -> None:
        """Let a replica be behind from now on.

        Args:
            topic: of the cluster.
            partition: its index.
            node_id: a broker with a replica, which does not lead.
            lag: how far.

        Raises:
            KafkaStorageError: the log cannot be loaded.
        """
        log = self._cluster.log(topic.name, partition)
        self._replicas_of(topic, log).fall_behind(node_id, lag)
        self._look((topic.name, partition), log)

    def _replicas_of(self, topic: Topic, log: Log) -> Replicas:
        key = log.topic, log.partition
        replicas = self._lagging.get(key)
        if replicas is None:
            followers = _followers(topic.partitions[log.partition])
            replicas = Replicas(
                followers, log.log_end_offset, self._clock.steady_ms, self._set_alarm
            )
            self._lagging[key] = log.visibility.replicas = replicas
            log.visibility.commits.lagging.add(log.visibility)
        return replicas

    def catch_up(self, topic: Topic, partition: int, node_id: int) -> None:
        """Let a replica have all records, and join the ISR again.

        Raises:
            KafkaStorageError: the change of the ISR is not written.
        """
        key = topic.name, partition
        replicas = self._lagging.get(key)
        if replicas is not None:
            replicas.catch_up(node_id)
            self._look(key, self._cluster.log(*key))
        self._cluster.controller.join(topic, partition, node_id)

    def catch_up_all(self) -> None:
        """Let all replicas have all records, and join their ISRs.

        Raises:
            KafkaStorageError: a change of an ISR is not written.
        """
        for key, replicas in [*self._lagging.items()]:
            for node_id in [*replicas.behind]:
                if node_id not in self._gone:
                    replicas.catch_up(node_id)
            self._look(key, self._cluster.log(*key))
        for node_id in self._cluster.node_ids:
            self._cluster.controller.catch_up(node_id)

    def shrink_isr(self, topic: Topic, partition: int, node_id: int) -> None:
        """Take a replica out of the ISR now, as when it has been behind for too long.

        Raises:
            KafkaStorageError: the change of the ISR is not written.
        """
        self.fall_behind(topic, partition, node_id, Lag(is_frozen=True))
        self._shrink(topic, partition, [node_id])

    def elect_unclean(self, topic: Topic, partition: int, node_id: int) -> None:
        """Let a replica lead whatever it lacks; the records that it lacks are lost.

        Raises:
            KafkaStorageError: the change is not written.

        See: C-11.
        """
        before = topic.partitions[partition]
        after = before._replace(
            leader=node_id,
            leader_epoch=before.leader_epoch + 1,
            isr=(node_id,),
            eligible=(),
            last_leader=(),
            partition_epoch=before.partition_epoch + 1,
            is_recovering=True,
        )
        self._cluster.controller.alter(topic, partition, after)

    def end_of(self, topic_name: str, partition: int, node_id: int) -> int | None:
        """Return the log end offset of a replica that is behind; None for one that is not."""
        replicas = self._lagging.get((topic_name, partition))
        if replicas is None or node_id not in replicas.behind:
            return _CAUGHT_UP
        return replicas.end_of(node_id)

    # -- brokers that come and go

    def node_gone(self, node_id: int) -> None:
        """Let the replicas of a broker fetch nothing any more."""
        self._gone.add(node_id)
        for log in self._cluster.loaded_logs():
            self._freeze_gone(log)

    def node_back(self, node_id: int) -> None:
        """Let the replicas of a broker have all records."""
        self._gone.discard(node_id)
        for key, replicas in [*self._lagging.items()]:
            if node_id in replicas.behind:
                replicas.catch_up(node_id)
                self._look(key, self._cluster.log(*key))

    def _on_loaded(self, log: Log) -> None:
        if self._gone:
            self._freeze_gone(log)

    def _freeze_gone(self, log: Log) -> None:
        """Freeze the replicas of a partition whose brokers are gone, but for its leader's."""
        topic = self._cluster.topics.get(log.topic)
        if topic is None:
            return
        partition = topic.partitions[log.partition]
        for node_id in self._gone.intersection(partition.replicas):
            if node_id != partition.leader:
                replicas = self._replicas_of(topic, log)
                if node_id not in replicas.behind:
                    replicas.fall_behind(node_id, Lag(is_frozen=True))
                    self._look((log.topic, log.partition), log)

    # -- what follows from a lag

    def _look(self, key: Key, log: Log) -> None:
        """Let the high watermark follow; forget a partition of which no replica is behind."""
        replicas = self._lagging[key]
        if not replicas:
            del self._lagging[key]
            log.visibility.replicas = None
            log.visibility.commits.lagging.discard(log.visibility)
        log.visibility.look_at_replicas()
        self._set_alarm()

    def _set_alarm(self) -> None:
        self.due_at(self.next_deadline_ms())

    def next_deadline_ms(self) -> int | None:
        """When on_time() has to be called next, in steady milliseconds."""
        return min(
            (due for key, each in self._lagging.items() for due in self._due(key, each)),
            default=None,
        )

    def _due(self, key: Key, replicas: Replicas) -> list[int]:
        due = [] if (moves_ms := replicas.next_change_ms()) is None else [moves_ms]
        lag_max_ms = self._cluster.settings.replica_lag_time_max_ms
        for node_id in replicas.behind:
            since_ms = replicas.behind_since_ms(node_id)
            if since_ms is not None and node_id in self._isr(key):
                due.append(since_ms + lag_max_ms + 1)
        return due

    def _isr(self, key: Key) -> Collection[int]:
        topic = self._cluster.topics.get(key[0])
        return () if topic is None else topic.partitions[key[1]].isr

    def on_time(self) -> None:
        """Move high watermarks, and shrink the ISRs of replicas that are behind for too long.

        Rule: C-51 (Partition.maybeShrinkIsr).
        """
        now_ms = self._clock.steady_ms()
        lag_max_ms = self._cluster.settings.replica_lag_time_max_ms
        for key, replicas in [*self._lagging.items()]:
            topic = self._cluster.topics[key[0]]
            late = [
                node_id
                for node_id in replicas.behind
                if node_id in topic.partitions[key[1]].isr
                and (since_ms := replicas.behind_since_ms(node_id)) is not None
                and now_ms - since_ms > lag_max_ms
            ]
            if late:
                self._shrink(topic, key[1], late)
            replicas.forget_old_ends()
            self._look(key, self._cluster.log(*key))

    def _shrink(self, topic: Topic, partition: int, gone: Collection[int]) -> None:
        before = topic.partitions[partition]
        isr = [node_id for node_id in before.isr if node_id not in gone]
        if before.leader != NO_LEADER and isr != [*before.isr]:
            terms = self._cluster.controller.terms(topic, Election.ONLINE)
            _log.info("ISR shrinks topic=%s-%d isr=%s", topic.name, partition, isr)
            self._cluster.controller.alter(topic, partition, change(before, terms, isr=isr))

    # -- changes of the cluster

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Cut the logs of partitions whose new leader lacks records, and count the new ISRs."""
        for topic, partition, before, after in moved:
            key = topic.name, partition
            replicas = self._lagging.get(key)
            has_moved = after.leader not in (before.leader, NO_LEADER)
            if replicas is not None:
                if has_moved and after.leader in replicas.behind:
                    self._cut(topic, key, replicas, after.leader)
                else:
                    if after.leader == NO_LEADER:
                        replicas.freeze_all()
                    replicas.isr = frozenset(_followers(after))
                    self._look(key, self._cluster.log(*key))
            if self._gone and before.leader in self._gone and has_moved:
                self._freeze_gone(self._cluster.log(*key))

    def _cut(self, topic: Topic, key: Key, replicas: Replicas, leader: int) -> None:
        """Cut a log to what its new leader has; replicas that have even less stay behind."""
        offset = replicas.end_of(leader)
        ends = replicas.ends_below(offset, leader)
        del self._lagging[key]
        visibility = self._cluster.log(*key).visibility
        visibility.commits.lagging.discard(visibility)
        try:
            lost = self._cluster.truncate(*key, offset)
        except KafkaStorageError as error:
            _log.error("log not cut topic=%s-%d reason=%s", *key, cause_of(error))
            return
        _log.warning(
            "log cut to what the new leader has topic=%s-%d leader=%d end_offset=%d lost=%d",
            *(*key, leader, offset, lost),
        )
        log = self._cluster.log(*key)
        for node_id, end_offset in ends.items():
            current = self._cluster.topics[topic.name]
            self._replicas_of(current, log).fall_behind(node_id, Lag(is_frozen=True), end_offset)

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Forget the replicas of topics that are gone."""
        for topic in deleted:
            for partition in range(topic.partition_count):
                self._lagging.pop((topic.name, partition), None)

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Do nothing: settings are asked for when they are needed."""


def _followers(partition: PartitionRegistration) -> list[int]:
    return [node_id for node_id in partition.isr if node_id != partition.leader]

"""Replicas that are behind: the high watermark waits, ISRs shrink and grow, elections lose records.

All brokers of the process share one log for each partition. A replica is a number: how much of the
log it has. It has all of it, unless a command says otherwise.

Source: ReplicaManager, Partition (KIP-392, KIP-497, KIP-966).
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration, Moved
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.control.replication.isr_changes import due_ms, lacking, late, shrunk
from broker_lite.errors import BrokerError, KafkaStorageError, cause_of
from broker_lite.log.log import Log
from broker_lite.log.replicas import STOPPED, Lag, Replicas

_log = logging.getLogger("broker_lite.control")

_CAUGHT_UP: Final = None
# So many changes of ISRs are written at once, so that a timer does not hold the loop for long:
# each takes up to 0.5 ms if there are 100 replicas.
_SETTLED_AT_A_TIME: Final = 64
Key = tuple[str, int]


class ReplicaManager:
    """The replicas of all partitions; used by the event loop.

    Attributes:
        due_at: told when on_time() has to be called.
        settled_at_a_time: how many partitions change their ISRs in one write.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        """Begin with no replica behind; those that are missing in their ISRs join at once."""
        self._cluster = cluster
        self._clock = clock
        self._lagging: dict[Key, Replicas] = {}
        self._gone: set[int] = set()
        # the brokers of others count, too: this directory may once have been served by several
        self._has_followers = len(cluster.node_ids) > 1 or any(
            len(partition.replicas) > 1
            for topic in cluster.topics.values()
            for partition in topic.partitions
        )
        self.settled_at_a_time = _SETTLED_AT_A_TIME
        # partitions that replicas may join by now
        self._unsettled: set[Key] = set()
        self.due_at = cluster.membership.due_at
        # coordinators read a log again when it has a new leader, so it has to be cut before that
        cluster.watchers.add_first(self)
        if self._has_followers:
            cluster.when_loaded(self._follow)
            self._unsettled.update(lacking(cluster, cluster.node_ids))

    # -- commands

    def fall_behind(self, topic: Topic, partition: int, node_id: int, lag: Lag) -> None:
        """Let a replica be behind from now on; one whose broker is gone gets nothing anyway.

        A broker without a replica begins with no records if it gets one.

        Args:
            topic: of the cluster.
            partition: its index.
            node_id: a broker that does not lead.
            lag: how far.

        Raises:
            KafkaStorageError: the log cannot be loaded.
        """
        log = self._cluster.log(topic.name, partition)
        if node_id not in self._gone:
            has_any = node_id in topic.partitions[partition].replicas
            end_offset = None if has_any else log.log_start_offset
            self._replicas_of(topic, log).fall_behind(node_id, lag, end_offset)
        self._look(log)

    def _replicas_of(self, topic: Topic, log: Log) -> Replicas:
        key = log.topic, log.partition
        replicas = self._lagging.get(key)
        if replicas is None:
            followers = _followers(topic.partitions[log.partition])
            replicas = Replicas(
                followers, log.log_end_offset, self._clock.steady_ms, partial(self._appended, key)
            )
            self._lagging[key] = replicas
        log.visibility.replicas = replicas
        log.visibility.commits.lagging.add(log.visibility)
        return replicas

    def catch_up(self, topic: Topic, partition: int, node_id: int) -> None:
        """Let a replica have all records, and join the ISR; if nobody leads, as soon as one does.

        Raises:
            KafkaStorageError: the change of the ISR is not written.
        """
        self._return((topic.name, partition), node_id)
        self.settle()

    def return_all(self) -> None:
        """Let all replicas have all records; they join their ISRs when these settle."""
        for key, replicas in [*self._lagging.items()]:
            for node_id in [*replicas.behind]:
                self._return(key, node_id)

    def _return(self, key: Key, node_id: int) -> None:
        """End the lag of a replica; it gets the records when its broker and a leader are there."""
        replicas = self._lagging.get(key)
        if replicas is not None and node_id in replicas.behind:
            replicas.fall_behind(node_id, STOPPED)
        self._unsettled.add(key)

    def shrink_isr(self, topic: Topic, partition: int, node_id: int) -> None:
        """Take a replica out of the ISR now, as when it has been behind for too long.

        Raises:
            KafkaStorageError: the change of the ISR is not written.
        """
        self.fall_behind(topic, partition, node_id, Lag(is_frozen=True))
        self._shrink({(topic.name, partition): [node_id]})

    def end_of(self, topic_name: str, partition: int, node_id: int) -> int | None:
        """Return the log end offset of a replica that is behind; None for one that is not."""
        replicas = self._lagging.get((topic_name, partition))
        if replicas is None or node_id not in replicas.behind:
            return _CAUGHT_UP
        return replicas.end_of(node_id)

    # -- brokers that come and go

    def node_gone(self, node_id: int) -> None:
        """Let the replicas of a broker fetch nothing any more, and nobody fetch from it."""
        self._gone.add(node_id)
        for log in self._cluster.loaded_logs():
            if self._cluster.has_replica(log.topic, log.partition, node_id):
                self._follow(log)

    def node_back(self, node_id: int) -> None:
        """Let the replicas of a broker have all records, as soon as somebody leads."""
        self._gone.discard(node_id)
        for key in [*self._lagging]:
            if self._cluster.has_replica(*key, node_id):
                self._return(key, node_id)
                self._follow_key(key)
        self._unsettled.update(lacking(self._cluster, (node_id,)))

    def _follow_key(self, key: Key) -> None:
        log = self._cluster.loaded_log(*key)
        if log is not None:
            self._follow(log)

    def _follow(self, log: Log) -> None:
        """Bring the replicas of a partition up to date with the cluster."""
        topic = self._cluster.topics.get(log.topic)
        if topic is None or log.partition >= topic.partition_count:
            return
        partition = topic.partitions[log.partition]
        empty = partition.adding if partition.leader == NO_LEADER else ()
        for node_id in self._gone.intersection(partition.replicas).union(empty):
            if node_id != partition.leader:
                replicas = self._replicas_of(topic, log)
                lag = replicas.lag_of(node_id)
                if lag is None or not lag.is_frozen:
                    is_new = lag is None and node_id in partition.adding
                    end_offset = log.log_start_offset if is_new else None
                    replicas.fall_behind(node_id, STOPPED, end_offset)
        if log.lacks_replicas or (log.topic, log.partition) in self._lagging:
            replicas = self._replicas_of(topic, log)
            replicas.isr = frozenset(_followers(partition))
            replicas.is_short = log.lacks_replicas
            if self._is_led(partition):
                replicas.go_on()
            else:
                replicas.stop()
            self._look(log)

    def _is_led(self, partition: PartitionRegistration) -> bool:
        return partition.leader != NO_LEADER and partition.leader not in self._gone

    def settle(self) -> None:
        """Let replicas that have what they need join their ISRs.

        Raises:
            KafkaStorageError: a change of an ISR is not written; the next call tries it again.

        Rule: C-55 (ReplicaFetcherThread).
        """
        while self._unsettled:
            self._settle_some()

    async def settle_in_turns(self) -> None:
        """Do what settle() does; other tasks run in between.

        Raises:
            KafkaStorageError: a change of an ISR is not written; the next call tries it again.
        """
        while self._unsettled:
            self._settle_some()
            await checkpoint()

    def _settle_some(self) -> None:
        """Look at a bounded number of partitions, and write the changes of their ISRs together."""
        keys = [*islice(self._unsettled, self.settled_at_a_time)]
        self._unsettled.difference_update(keys)
        try:
            self._cluster.controller.join(self._joining(keys))
        except KafkaStorageError:
            self._unsettled.update(keys)
            raise

    def _joining(self, keys: Iterable[Key]) -> Iterator[tuple[Topic, int, list[int]]]:
        """Find the replicas that may join the ISRs of partitions."""
        for key in keys:
            topic = self._cluster.topics.get(key[0])
            if topic is not None and self._is_led(topic.partitions[key[1]]):
                self._end_passing_lags(key)
                partition = topic.partitions[key[1]]
                yield (
                    *(topic, key[1]),
                    [
                        node_id
                        for node_id in partition.replicas
                        if node_id not in partition.isr
                        and node_id not in self._gone
                        and self._may_join(key, node_id)
                    ],
                )

    def _end_passing_lags(self, key: Key) -> None:
        replicas = self._lagging.get(key)
        log = self._cluster.loaded_log(*key)
        if replicas is not None and log is not None:
            for node_id in [*replicas.behind]:
                lag = replicas.lag_of(node_id)
                if lag is not None and lag.is_passing and node_id not in self._gone:
                    replicas.catch_up(node_id)
            self._look(log)

    def _may_join(self, key: Key, node_id: int) -> bool:
        """Whether a replica fetches, and has all that is committed.

        See: C-27 (Partition.isFollowerInSync).
        """
        replicas = self._lagging.get(key)
        lag = None if replicas is None else replicas.lag_of(node_id)
        if replicas is None or lag is None:
            return True
        log = self._cluster.loaded_log(*key)
        has_all = log is not None and replicas.end_of(node_id) >= log.high_watermark
        return has_all and not lag.is_frozen

    # -- what follows from a lag

    def _look(self, log: Log) -> None:
        """Let the high watermark follow; forget a partition of which no replica is behind."""
        key = log.topic, log.partition
        replicas = self._lagging.get(key)
        if replicas is not None and not replicas:
            del self._lagging[key]
            log.visibility.replicas = None
            log.visibility.commits.lagging.discard(log.visibility)
        log.visibility.look_at_replicas()
        if replicas:
            self._appended(key)

    def _forget(self, key: Key) -> None:
        """Let no log wait for the replicas of a partition any more."""
        if self._lagging.pop(key, None) is None:
            return
        lagging = self._cluster.logs.commits.lagging
        for visibility in [each for each in lagging if (each.topic, each.partition) == key]:
            visibility.replicas = None
            lagging.discard(visibility)

    def _appended(self, key: Key) -> None:
        self.due_at(min(self._due(key), default=None))

    def next_deadline_ms(self) -> int | None:
        """When on_time() has to be called next, in steady milliseconds."""
        if self._unsettled:
            return self._clock.steady_ms()
        return min((due for key in self._lagging for due in self._due(key)), default=None)

    def _due(self, key: Key) -> list[int]:
        replicas = self._lagging[key]
        topic = self._cluster.topics.get(key[0])
        has_log = self._cluster.loaded_log(*key) is not None  # it may be offline
        if topic is None or not has_log or replicas.is_stopped:
            return []
        return due_ms(replicas, topic.partitions[key[1]], self._lag_max_ms)

    @property
    def _lag_max_ms(self) -> int:
        return self._cluster.settings.replica_lag_time_max_ms

    def on_time(self) -> None:
        """Move high watermarks, and shrink and expand ISRs; what is too much is due again.

        See: C-51 (Partition.maybeShrinkIsr).
        """
        now_ms, topics = self._clock.steady_ms(), self._cluster.topics
        late_ms = now_ms - self._lag_max_ms
        due = (key for key in self._lagging if min(self._due(key), default=now_ms + 1) <= now_ms)
        keys = [*islice(due, self.settled_at_a_time)]
        self._shrink(
            {
                key: late(self._lagging[key], topics[key[0]].partitions[key[1]], late_ms)
                for key in keys
            }
        )
        for key in keys:
            replicas, log = self._lagging.get(key), self._cluster.loaded_log(*key)
            if replicas is not None and log is not None:
                self._look(log)
                replicas.forget_old_ends()
            self._unsettled.add(key)
        if len(self._unsettled) > self.settled_at_a_time:
            self._settle_some()  # the next deadline has passed already: others have their turn
        else:
            self.settle()

    def _shrink(self, gone: Mapping[Key, Collection[int]]) -> None:
        """Take replicas out of ISRs, all in one write."""
        altered: list[Alteration] = []
        for (name, index), node_ids in gone.items():
            topic = self._cluster.topics[name]
            if node_ids and self._is_led(topic.partitions[index]):
                altered += shrunk(self._cluster, topic, index, node_ids)
        if altered:
            self._cluster.controller.alter_all(altered)

    # -- changes of the cluster

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Cut the logs of partitions whose new leader lacks records, and count the new ISRs."""
        if not self._has_followers:
            return
        for topic, partition, before, after in moved:
            key = topic.name, partition
            replicas = self._lagging.get(key)
            has_moved = after.leader not in (before.leader, NO_LEADER)
            if has_moved and replicas is not None and after.leader in replicas.behind:
                self._cut(key, replicas, after.leader)
            self._follow_key(key)
            if after.leader != NO_LEADER and len(after.isr) < len(after.replicas):
                self._unsettled.add(key)
                self.due_at(self._clock.steady_ms())

    def _cut(self, key: Key, replicas: Replicas, leader: int) -> None:
        """Cut a log to what its new leader has; replicas that have even less stay behind.

        The new leader knows a high watermark that is not above its end, and not above that of the
        old one. It moves when the replicas in sync have fetched.
        """
        offset = replicas.end_of(leader)
        lags = replicas.lags_below(offset)
        self._forget(key)
        try:
            high_watermark = self._cluster.log(*key).high_watermark
            lost = self._cluster.truncate(*key, offset)
            log = self._cluster.log(*key)
        except BrokerError as error:
            _log.error("log not cut topic=%s-%d reason=%s", *key, cause_of(error))
            return
        _log.warning(
            "log cut to what the new leader has topic=%s-%d leader=%d end_offset=%d lost=%d",
            *(*key, leader, offset, lost),
        )
        log.visibility.go_back(high_watermark)
        for node_id, (lag, end_offset) in lags.items():
            topic = self._cluster.topics[key[0]]
            self._replicas_of(topic, log).fall_behind(node_id, lag, end_offset)
        log.visibility.look_at_replicas()

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Forget the replicas of topics that are gone."""
        for topic in deleted:
            for partition in range(topic.partition_count):
                self._forget((topic.name, partition))
                self._unsettled.discard((topic.name, partition))

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Look again whether enough replicas are in sync: min.insync.replicas may be new."""
        if self._has_followers:
            for log in self._cluster.loaded_logs():
                self._follow(log)


def _followers(partition: PartitionRegistration) -> list[int]:
    return [node_id for node_id in partition.isr if node_id != partition.leader]

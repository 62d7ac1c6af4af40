"""A topic with the state of a coordinator, which is stored nowhere else.

The topic is created when it is first written to, and each partition's log likewise. The records of
one step of a coordinator are one batch, so that after a crash the log has all of a step or nothing.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.metadata.topic import NO_LEADER, Topic
from broker_lite.control.topics.internal_topics import TRANSACTIONS_TOPIC, partition_count
from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.placement import partition_of
from broker_lite.errors import BrokerError, KafkaStorageError, NotEnoughReplicas
from broker_lite.log.log import Log
from broker_lite.log.producers.entry import NO_OFFSET, AppendOrigin
from broker_lite.log.recovery.recover_segment import read_batches
from broker_lite.log.visibility import FlushWaiter
from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, read_end_transaction_marker
from broker_lite.record.records import keys_and_values

_PLACES_MAX: Final = 10_000
_PLACED_CHARACTERS_MAX: Final = 200
NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class ReplayedBatch(NamedTuple):
    """A batch that is read from a state topic.

    Attributes:
        marker: the end marker of a transaction, None for all other batches.
        records: keys and values; empty if there is a marker.
    """

    producer_id: int
    is_transactional: bool
    marker: EndTransactionMarker | None
    records: list[tuple[bytes, bytes | None]]


class StateTopic:
    """One of Kafka's internal topics for state; used by one thread."""

    def __init__(self, cluster: Cluster, name: str, *, codec: int = 0) -> None:
        """Store the parts; the topic is not created yet.

        Args:
            cluster: has to be started before any method is called.
            name: of one of the topics in internal_topics.
            codec: the number of the compression codec for new batches.
        """
        self.name = name
        self._cluster = cluster
        self._codec = codec
        self._id_and_count: tuple[bytes, int] | None = None
        # a cache of partitions by id and partition count: Java's hash loops over each character
        self._places: dict[tuple[str, int], int] = {}
        self._seen: Topic | None = None
        self._only_leader = _only_leader(cluster, None)

    @property
    def exists(self) -> bool:
        """Whether the topic exists, whether this broker or a client created it."""
        return self.name in self._cluster.topics

    @property
    def partition_count(self) -> int:
        """The number of partitions that it has, or will have when it is created.

        Partitions that are added later count only after the next start. Otherwise an id could move
        to another partition while it is in use.
        """
        topic = self._cluster.topics.get(self.name)
        if topic is None:
            return partition_count(self._cluster.settings, self.name)
        if self._id_and_count is None or self._id_and_count[0] != topic.topic_id:
            self._id_and_count = topic.topic_id, topic.partition_count
        return self._id_and_count[1]

    def ensure(self) -> Topic:
        """Return the topic; create it if it does not exist.

        Raises:
            BrokerError: the topic cannot be created.

        See: G-23.
        """
        topic = self._cluster.topics.get(self.name)
        return self._cluster.create_topic(self.name) if topic is None else topic

    def partition_of(self, entity_id: str) -> int:
        """Return the partition for a group id or a transactional id."""
        key = entity_id, self.partition_count
        if len(entity_id) > _PLACED_CHARACTERS_MAX:
            return partition_of(*key)
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= _PLACES_MAX:
                self._places.clear()
            place = self._places[key] = partition_of(*key)
        return place

    def is_led(self, entity_id: str, node_id: int) -> bool:
        """Whether a broker coordinates a group or a transactional id.

        One broker alone coordinates them before the topic exists. Of several brokers none does.

        Rule: C-60 (CoordinatorRuntime.withActiveContextOrThrow).
        """
        return self.leads_all(node_id) or self._leader_of(entity_id) == node_id

    def leads_all(self, node_id: int) -> bool:
        """Whether a broker leads all partitions, so that nothing has to be looked up."""
        topic = self._cluster.topics.get(self.name)
        if topic is not self._seen:
            self._seen, self._only_leader = topic, _only_leader(self._cluster, topic)
        return self._only_leader == node_id

    def is_led_by_any(self, entity_id: str) -> bool:
        """Whether any broker coordinates a group or a transactional id.

        Rule: C-70 (AddPartitionsToTxnManager.getTransactionCoordinator).
        """
        node_id = self._cluster.node_id
        return self.leads_all(node_id) or self._leader_of(entity_id) != NO_LEADER

    def _leader_of(self, entity_id: str) -> int:
        topic = self._cluster.topics.get(self.name)
        return NO_LEADER if topic is None else self.leader(self.partition_of(entity_id))

    def leader(self, partition: int) -> int:
        """Return the broker that leads a partition; NO_LEADER if there is none, or no topic."""
        topic = self._cluster.topics.get(self.name)
        if topic is None or partition >= topic.partition_count:
            return NO_LEADER
        return topic.partitions[partition].leader

    def moves(self, moved: Collection[Moved]) -> list[Moved]:
        """Return those of the changed partitions that are this topic's and were led anew."""
        return [
            one
            for one in moved
            if one.topic.name == self.name and one.before.leader_epoch != one.after.leader_epoch
        ]

    def end_offset(self, partition: int) -> int:
        """Return the offset of a partition's next record; -1 if it is not known."""
        if not self.exists:
            return 0
        try:
            return self._cluster.log(self.name, partition).log_end_offset
        except BrokerError:
            return NO_OFFSET

    def loaded_log(self, partition: int) -> Log | None:
        """Return the log of a partition if it is loaded, as it is after each append."""
        return self._cluster.loaded_log(self.name, partition)

    @property
    def may_wait(self) -> bool:
        """Whether the answers to written records may have to wait for a flush or for replicas."""
        commits = self._cluster.logs.commits
        return bool(commits.held or commits.lagging)

    @property
    def is_held_back(self) -> bool:
        """Whether the answers to written records may have to wait for a flush."""
        return bool(self._cluster.logs.commits.held)

    @property
    def is_lagging(self) -> bool:
        """Whether the high watermark of a log may wait for replicas."""
        return bool(self._cluster.logs.commits.lagging)

    def when_flushed(self, partition: int, waiter: FlushWaiter) -> None:
        """Call a function when the written records of a partition are on disk, or the flush failed.

        It is called at once if nothing has to be flushed.
        """
        if not self._cluster.logs.commits.held:
            waiter(None)
            return
        try:
            log = self._cluster.log(self.name, partition)
        except BrokerError as error:
            waiter(KafkaStorageError(error.message))
        else:
            log.visibility.when_flushed(waiter)

    def append(
        self,
        partition: int,
        records: Sequence[StateRecord],
        *,
        now_ms: int,
        producer: tuple[int, int] | None = None,
    ) -> None:
        """Write records as one batch of any size.

        Kafka limits the batch to max.message.bytes, which is too small for a group of many members.

        Args:
            partition: from partition_of().
            records: at least one.
            now_ms: their timestamp.
            producer: the producer id and epoch of their transaction, None if they have none.

        Raises:
            BrokerError: nothing was written.

        See: C-53 (TransactionStateManager has acks -1, CoordinatorPartitionWriter has acks 1).
        """
        self.ensure()
        producer_id, producer_epoch = producer or NO_PRODUCER
        builder = BatchBuilder(
            codec=self._codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=NO_SEQUENCE if producer is None else 0,
            is_transactional=producer is not None,
        )
        for key, value in records:
            builder.append(now_ms, key, value)
        log = self._cluster.log(self.name, partition)
        if log.lacks_replicas and self.name == TRANSACTIONS_TOPIC:
            raise NotEnoughReplicas
        log.append_batch(builder.build(), now_ms=now_ms, origin=AppendOrigin.COORDINATOR)

    def replay(self) -> Iterator[tuple[int, ReplayedBatch]]:
        """Iterate over all batches of all partitions, in the order of each log.

        Raises:
            KafkaStorageError: a batch cannot be read, or is missing.
        """
        for partition in self.partitions_to_replay():
            for batch in self.replay_partition(partition):
                yield partition, batch

    def partitions_to_replay(self) -> list[int]:
        """Return the partitions that have a leader; none before the topic is created.

        See: C-66.
        """
        topic = self._cluster.topics.get(self.name)
        partitions = () if topic is None else topic.partitions
        return [index for index, one in enumerate(partitions) if one.leader != NO_LEADER]

    def replay_partition(self, partition: int) -> Iterator[ReplayedBatch]:
        """Iterate over all batches of one partition.

        Raises:
            KafkaStorageError: a batch cannot be read, or is missing.
        """
        log = self._cluster.log(self.name, partition)
        next_offset = log.log_start_offset
        try:
            for batch in _batches(log):
                next_offset = batch.next_offset
                yield _replayed(batch)
        except (BrokerError, OSError) as error:
            raise self._unreadable(partition, next_offset) from error
        if next_offset != log.log_end_offset:
            raise self._unreadable(partition, next_offset)

    def _unreadable(self, partition: int, offset: int) -> KafkaStorageError:
        return KafkaStorageError(f"{self.name}-{partition} cannot be read at offset {offset}")


def _only_leader(cluster: Cluster, topic: Topic | None) -> int:
    """Return the broker that leads all partitions of a topic; NO_LEADER if there is none such."""
    if topic is None:
        return cluster.node_id if len(cluster.node_ids) == 1 else NO_LEADER
    leaders = {partition.leader for partition in topic.partitions}
    return leaders.pop() if len(leaders) == 1 else NO_LEADER


def _batches(log: Log) -> Iterator[RecordBatch]:
    for segment in log.segments.all if log.log_end_offset else ():  # an empty log may have no file
        for batch in read_batches(segment, 0):
            if batch.next_offset > log.log_start_offset:
                yield batch


def _replayed(batch: RecordBatch) -> ReplayedBatch:
    if batch.is_control:
        marker = read_end_transaction_marker(batch)
        return ReplayedBatch(batch.producer_id, True, marker, [])
    records = [(key or b"", value) for key, value in keys_and_values(batch)]
    return ReplayedBatch(batch.producer_id, batch.is_transactional, None, records)

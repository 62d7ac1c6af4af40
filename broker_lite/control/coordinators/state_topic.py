"""A topic that holds the state of a coordinator: the only place where that state is kept.

It is made when it is first written to, its partitions' logs when they are. What a coordinator does
in one step is one batch, so that after a crash all of a step is there or nothing of it.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.internal_topics import partition_count
from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.placement import partition_of
from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.log.commits import FlushWaiter
from broker_lite.log.log import Log
from broker_lite.log.producers.entry import NO_OFFSET, AppendOrigin
from broker_lite.log.recovery.recover_segment import read_batches
from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, read_end_transaction_marker
from broker_lite.record.records import keys_and_values

_PLACES_MAX: Final = 10_000
_PLACED_CHARACTERS_MAX: Final = 200
NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class ReplayedBatch(NamedTuple):
    """One batch of a state topic as it was written.

    Attributes:
        marker: how a transaction ended, None for all other batches.
        records: keys and values; none with a marker.
    """

    producer_id: int
    is_transactional: bool
    marker: EndTransactionMarker | None
    records: list[tuple[bytes, bytes | None]]


class StateTopic:
    """One of Kafka's topics for state; used by one thread."""

    def __init__(self, cluster: Cluster, name: str, *, codec: int = 0) -> None:
        """Remember what is needed; nothing is made.

        Args:
            cluster: started before the first call of a method.
            name: one of internal_topics.
            codec: with which the batches are written, by its number.
        """
        self.name = name
        self._cluster = cluster
        self._codec = codec
        self._id_and_count: tuple[bytes, int] | None = None
        # which partition an id belongs to, of a count; the hash is a loop over each character
        self._places: dict[tuple[str, int], int] = {}

    @property
    def exists(self) -> bool:
        """Whether it was made, by whomever."""
        return self.name in self._cluster.topics

    @property
    def partition_count(self) -> int:
        """How many partitions it has, or is going to have.

        Partitions that are added later do not count before the next start: what is where would
        change while it is in use.
        """
        topic = self._cluster.topics.get(self.name)
        if topic is None:
            return partition_count(self._cluster.settings, self.name)
        if self._id_and_count is None or self._id_and_count[0] != topic.topic_id:
            self._id_and_count = topic.topic_id, topic.partition_count
        return self._id_and_count[1]

    def ensure(self) -> Topic:
        """The topic; it is made when it is not there.

        Raises:
            BrokerError: it cannot be made.

        See: G-23.
        """
        topic = self._cluster.topics.get(self.name)
        return self._cluster.create_topic(self.name) if topic is None else topic

    def partition_of(self, entity_id: str) -> int:
        """The partition that holds a group or a transactional id."""
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

        While the topic is not there nobody else does.
        """
        topic = self._cluster.topics.get(self.name)
        if topic is None:
            return True
        return topic.partitions[self.partition_of(entity_id)].leader == node_id

    def leads_all(self, node_id: int) -> bool:
        """Whether a broker coordinates all there is, so that nothing has to be looked up."""
        topic = self._cluster.topics.get(self.name)
        return topic is None or all(one.leader == node_id for one in topic.partitions)

    def end_offset(self, partition: int) -> int:
        """Where the next record of a partition goes; -1 where that is not known."""
        if not self.exists:
            return 0
        try:
            return self._cluster.log(self.name, partition).log_end_offset
        except BrokerError:
            return NO_OFFSET

    def when_flushed(self, partition: int, waiter: FlushWaiter) -> None:
        """Have a function called when what was written to a partition is on disk, or may not be.

        It is called at once where nothing has to be flushed.
        """
        if not self._cluster.logs.commits.held:
            waiter(None)
            return
        try:
            log = self._cluster.log(self.name, partition)
        except BrokerError as error:
            waiter(KafkaStorageError(error.message))
        else:
            log.when_flushed(waiter)

    def append(
        self,
        partition: int,
        records: Sequence[StateRecord],
        *,
        now_ms: int,
        producer: tuple[int, int] | None = None,
    ) -> None:
        """Write records as one batch, whatever its size.

        Kafka holds it to max.message.bytes, and so to what no group of many members keeps to.

        Args:
            partition: of partition_of().
            records: at least one.
            now_ms: their timestamp.
            producer: id and epoch of the transaction that they belong to.

        Raises:
            BrokerError: nothing was written.
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
        log.append_batch(builder.build(), now_ms=now_ms, origin=AppendOrigin.COORDINATOR)

    def replay(self) -> Iterator[tuple[int, ReplayedBatch]]:
        """Everything that was written: partition by partition, in the order of the log.

        Raises:
            KafkaStorageError: not all of it can be read.
        """
        for partition in self.partitions_to_replay():
            for batch in self.replay_partition(partition):
                yield partition, batch

    def partitions_to_replay(self) -> range:
        """The partitions that there are; none before the topic is made."""
        topic = self._cluster.topics.get(self.name)
        return range(0 if topic is None else topic.partition_count)

    def replay_partition(self, partition: int) -> Iterator[ReplayedBatch]:
        """What was written to one partition.

        Raises:
            KafkaStorageError: not all of it can be read.
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


def _batches(log: Log) -> Iterator[RecordBatch]:
    for segment in log.segments if log.log_end_offset else ():  # no file before the first batch
        for batch in read_batches(segment, 0):
            if batch.next_offset > log.log_start_offset:
                yield batch


def _replayed(batch: RecordBatch) -> ReplayedBatch:
    if batch.is_control:
        marker = read_end_transaction_marker(batch)
        return ReplayedBatch(batch.producer_id, True, marker, [])
    records = [(key or b"", value) for key, value in keys_and_values(batch)]
    return ReplayedBatch(batch.producer_id, batch.is_transactional, None, records)

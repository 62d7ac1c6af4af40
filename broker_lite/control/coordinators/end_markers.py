"""Writes the end markers of transactions to the logs of their partitions.

A difference to Kafka: a partition without a leader gets its marker when it has a leader again, and
its transaction stays prepared until then. Kafka 4.3.1 takes such a partition for a deleted one: it
completes the transaction without the marker, which leaves the transaction open in the partition for
ever (measured; KRaftMetadataCache.getPartitionLeaderEndpoint).
"""

import asyncio
import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final, Protocol

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.elsewhere import SendsMarkers
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    NotLeaderOrFollower,
    cause_of,
)
from broker_lite.record.control import EndTransactionMarker

logger = logging.getLogger("broker_lite.control")

MARKERS_AT_A_TIME: Final = 256
STEP_MS: Final = 10
"""How long markers are written before other requests run: loading a log may take long."""
RETRY_MS: Final = 1000

# Errors of a partition that has seen a higher epoch: the transaction has already ended there.
_NEVER_ACCEPTED: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)


class OffsetTransactions(Protocol):
    """The part of the group coordinator that transactions with committed offsets need."""

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` for a group."""

    def complete_transaction(self, partition: int, producer_id: int, *, committed: bool) -> None:
        """Commit or drop the pending offsets of a transaction, after its marker was written."""


class UnfinishedEnding:
    """A prepared transaction, and its partitions that have no marker yet.

    Attributes:
        left: partitions whose marker has to be written next.
        failed: partitions whose marker could not be written.
        not_before_ms: the time of the next attempt, 0 for at once.
        flushes: how many flushes, or waits for replicas, have to end before the next step.
        is_flushed: set while `flushes` is 0.
        is_failing: whether the failure of a marker has been logged already.
    """

    __slots__ = (
        "ending",
        "failed",
        "flushes",
        "is_failing",
        "is_flushed",
        "left",
        "not_before_ms",
    )

    def __init__(self, ending: Ending) -> None:
        self.ending: Final = ending
        self.left: list[TopicPartition] = sorted(ending.partitions, reverse=True)
        self.failed: list[TopicPartition] = []
        self.not_before_ms = 0
        self.is_failing = False
        self.flushes = 0
        self.is_flushed = asyncio.Event()
        self.is_flushed.set()

    def begin_flush(self) -> None:
        """Let the next step wait for one more flush."""
        self.flushes += 1
        self.is_flushed.clear()

    def end_flush(self) -> None:
        """Note that one of the flushes has ended."""
        self.flushes -= 1
        if not self.flushes:
            self.is_flushed.set()

    def left_for(self, partitions: Container[TopicPartition]) -> bool:
        """Whether one of these partitions has no marker yet."""
        return any(partition in partitions for partition in (*self.left, *self.failed))

    def wait(self, now_ms: int) -> None:
        """Retry the failed partitions after RETRY_MS."""
        self.left += self.failed
        self.failed = []
        self.not_before_ms = now_ms + RETRY_MS


class EndMarkers:
    """Writes markers; a marker in `__consumer_offsets` commits or drops its group's offsets.

    Attributes:
        send: has markers written in other processes; None if there are none.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        groups: OffsetTransactions,
        flushed: Callable[[UnfinishedEnding], None],
    ) -> None:
        """Store the parts.

        Args:
            cluster: has the logs of the partitions.
            clock: for the markers' timestamps.
            groups: commits or drops pending offsets.
            flushed: called when the flush of a marker has ended, with success or not.
        """
        self._cluster = cluster
        self._clock = clock
        self._groups = groups
        self._flushed = flushed
        self.send: SendsMarkers | None = None

    def write(
        self,
        partition: TopicPartition,
        producer: Producer,
        marker: EndTransactionMarker,
        transaction_version: int,
    ) -> None:
        """Write one marker.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
            NotLeaderOrFollower: no broker leads the partition.
            InvalidProducerEpoch: the epoch is below the known one.
            TransactionCoordinatorFenced: the coordinator epoch is below the known one.
            KafkaStorageError: the marker was not written.

        Rule: T-52, T-54, T-57.
        See: T-53.
        """
        topic, index = partition
        producer_id, producer_epoch = producer
        log = self._cluster.log(topic, index)
        if log.leader_id == NO_LEADER:
            raise NotLeaderOrFollower
        log.append_control(
            producer_id,
            producer_epoch,
            marker,
            now_ms=self._clock.now_ms(),
            transaction_version=transaction_version,
        )
        if topic == OFFSETS_TOPIC:
            self._groups.complete_transaction(index, producer_id, committed=marker.is_commit)

    def write_some(self, unfinished: UnfinishedEnding, coordinator_epoch: int) -> bool:
        """Write markers for up to STEP_MS, at most MARKERS_AT_A_TIME; return whether none is left.

        Rule: T-52, T-54, T-58.
        See: T-53.
        """
        marker = EndTransactionMarker(unfinished.ending.is_commit, coordinator_epoch)
        until_ms = self._clock.unfrozen_ms() + STEP_MS
        elsewhere: dict[int, list[TopicPartition]] = {}
        for _ in range(min(MARKERS_AT_A_TIME, len(unfinished.left))):
            partition = unfinished.left.pop()
            node_id = None if self.send is None else self._leader_elsewhere(*partition)
            if node_id is not None:
                elsewhere.setdefault(node_id, []).append(partition)
            elif not self._is_written(unfinished, partition, marker):
                unfinished.failed.append(partition)
            if self._clock.unfrozen_ms() >= until_ms:
                break
        for node_id, partitions in elsewhere.items():
            self._send(unfinished, marker, node_id, partitions)
        return not unfinished.left

    def _leader_elsewhere(self, topic_name: str, index: int) -> int | None:
        """Return the leader of a partition if it is in another process, else None."""
        topic = self._cluster.topics.get(topic_name)
        if topic is None or index >= topic.partition_count:
            return None
        leader = topic.partitions[index].leader
        return None if leader == NO_LEADER or leader in self._cluster.node_ids else leader

    def _send(
        self,
        unfinished: UnfinishedEnding,
        marker: EndTransactionMarker,
        node_id: int,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """Let the transaction wait for markers of another process.

        See: C-67 (TransactionMarkerChannelManager.sendRequestTo).
        """

        def sent(codes: Mapping[TopicPartition, int]) -> None:
            for partition, code in codes.items():
                error = ErrorCode(code)
                if error and not self._is_done(unfinished, partition, error, error.name):
                    unfinished.failed.append(partition)
            unfinished.end_flush()
            self._flushed(unfinished)

        assert self.send is not None
        unfinished.begin_flush()
        self.send(node_id, unfinished.ending, marker, partitions, sent)

    def _is_written(
        self, unfinished: UnfinishedEnding, partition: TopicPartition, marker: EndTransactionMarker
    ) -> bool:
        """Write a marker and return whether it is done; one that can never be written is done, too.

        Rule: T-54, T-58, C-69 (TransactionMarkerRequestCompletionHandler).
        """
        _, producer, _, _, transaction_version = unfinished.ending
        try:
            self.write(partition, producer, marker, transaction_version)
            if self._cluster.logs.commits.held:
                self._wait_for_flush(unfinished, partition)
        except BrokerError as error:
            return self._is_done(unfinished, partition, error.code, repr(cause_of(error)))
        return True

    @staticmethod
    def _is_done(
        unfinished: UnfinishedEnding, partition: TopicPartition, code: ErrorCode, reason: str
    ) -> bool:
        """Whether nothing more can be done about a marker that was not written; log the first.

        See: T-58, C-69.
        """
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True
        if not unfinished.is_failing:
            unfinished.is_failing = True
            is_usual = code is ErrorCode.NOT_LEADER_OR_FOLLOWER
            logger.log(
                logging.INFO if is_usual else logging.ERROR,
                "marker not written topic=%s partition=%d transactional_id=%s reason=%s",
                *partition,
                unfinished.ending.transactional_id,
                reason,
            )
        return code in _NEVER_ACCEPTED

    def _wait_for_flush(self, unfinished: UnfinishedEnding, partition: TopicPartition) -> None:
        """Let the transaction wait for a marker's flush; if the flush fails, the marker failed."""

        def end(error: BrokerError | None) -> None:
            if error is not None:
                unfinished.failed.append(partition)
            unfinished.end_flush()
            self._flushed(unfinished)

        unfinished.begin_flush()
        self._cluster.log(*partition).visibility.when_flushed(end)

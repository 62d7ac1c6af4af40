"""Keeps the transaction coordinator's state in memory equal to the state log.

If the record of an event could not be written, the event is undone. If the record was written but
may not be on disk, the log is the source of truth: the partition's state is dropped and loaded
again, which may take seconds. If loading fails, its transactional ids are not available.
"""

import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from functools import partial

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.end_markers import RETRY_MS, UnfinishedEnding
from broker_lite.control.coordinators.endings import Endings
from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.coordinators.unreplicated import Unreplicated
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.coordinator.transactions.coordinator import Ending, Outcome, TransactionCoordinator
from broker_lite.errors import BrokerError, ErrorCode, MessageTooLarge, RecordListTooLarge, cause_of
from broker_lite.wire import DecodeError

logger = logging.getLogger("broker_lite.control")


class TransactionLog:
    """The log `__transaction_state`, and the coordinator that is loaded from it.

    Attributes:
        topic: of the log.
        unreplicated: the ids whose records are not replicated yet.
        unloaded: partitions that cannot be read.
        not_before_ms: when work that is due may be tried again after a failure.
    """

    def __init__(
        self,
        *,
        topic: StateTopic,
        coordinator: TransactionCoordinator,
        endings: Endings,
        clock: Clock,
        alarm: Alarm,
        next_deadline_ms: Callable[[], int | None],
    ) -> None:
        """Store the parts; nothing is read yet.

        Args:
            topic: of the log.
            coordinator: load() and write() change it.
            endings: are given the prepared transactions.
            clock: for the records' timestamps.
            alarm: is told each new deadline.
            next_deadline_ms: returns when there is something to do next.
        """
        self.topic = topic
        self.unreplicated = Unreplicated(
            ReplicationWaits(topic, clock, alarm), coordinator, endings
        )
        self.unloaded: set[int] = set()
        self.not_before_ms = 0
        self._coordinator = coordinator
        self._endings = endings
        self._clock = clock
        self._alarm = alarm
        self._next_deadline_ms = next_deadline_ms

    # -- writing

    def write(
        self,
        partition: int,
        outcomes: Collection[tuple[str, Outcome]],
        *,
        is_asked: bool = False,
    ) -> ErrorCode | None:
        """Write the records of several events as one batch; if that fails, undo the events.

        Args:
            partition: of all the ids.
            outcomes: transactional ids, each with an outcome that has a record.
            is_asked: the event is a request, whose answer waits until its record is replicated.

        Returns:
            The error code for the clients if the write failed, otherwise None.

        Rule: T-72 (TransactionStateManager.appendTransactionToLog).
        See: C-73.
        """
        records = [outcome.record for _, outcome in outcomes if outcome.record is not None]
        end_offset = self.topic.end_offset(partition)
        try:
            self.topic.append(partition, records, now_ms=self._clock.now_ms())
        except BrokerError as error:
            reason = cause_of(error)
            logger.error("transactions not written partition=%d reason=%r", partition, reason)
            if self.topic.end_offset(partition) == end_offset:
                for transactional_id, outcome in outcomes:
                    self._coordinator.undo(transactional_id, outcome)
            else:
                self.forget([partition])
                self.load(partition)
            self._pause()
            return _answer_to(error)
        endings = [outcome.ending for _, outcome in outcomes if outcome.ending is not None]
        added = self._endings.add(endings)
        if self.topic.may_wait:
            self._await_flush(partition, added)
            for transactional_id, outcome in outcomes:
                self.unreplicated.add(partition, transactional_id, outcome, is_asked=is_asked)
        self._alarm.due_at(self._coordinator.next_deadline_ms())
        return None

    def _await_flush(self, partition: int, endings: list[UnfinishedEnding]) -> None:
        """Let transactions wait until their decisions are on disk."""
        if self.topic.is_held_back:
            for unfinished in endings:
                unfinished.begin_flush()
            self.topic.when_flushed(partition, partial(self._on_flushed, partition, endings))

    def _on_flushed(
        self, partition: int, endings: list[UnfinishedEnding], error: BrokerError | None
    ) -> None:
        """Go on after a flush; if it failed, load the partition from the log again."""
        if error is not None:
            logger.error("transactions may not be on disk partition=%d", partition)
            self.forget([partition])
            if self.topic.leader(partition) != NO_LEADER:
                self.load(partition)
        for unfinished in endings:
            unfinished.end_flush()
            self._endings.go_on(unfinished)

    def _pause(self) -> None:
        """Delay due work by RETRY_MS, instead of retrying all the time while a disk fails."""
        now_ms = self._clock.steady_ms()
        if now_ms >= self.not_before_ms:  # otherwise failing requests would delay it for ever
            self.not_before_ms = now_ms + RETRY_MS
        self._alarm.due_at(self._next_deadline_ms())

    # -- loading

    def forget(self, partitions: Container[int]) -> None:
        """Drop the ids of partitions from memory, with their timers; nothing is loaded again."""
        self.unloaded = {each for each in self.unloaded if each not in partitions}
        partition_of = self.topic.partition_of
        self._coordinator.forget(lambda each: partition_of(each) in partitions)
        self.unreplicated.fail(partitions)

    def hand_over(self, moves: Mapping[int, PartitionRegistration]) -> None:
        """Load the ids of partitions that are led anew; forget those without a leader.

        They are loaded for each new leader epoch, which the markers carry. Transactions that were
        prepared are finished: all their markers are written again.

        Args:
            moves: the partitions, as they are now.

        Rule: C-67 (TransactionCoordinator.onElection, TransactionCoordinator.onResignation).
        See: C-66, C-68.
        """
        self._endings.hand_over(moves)
        self.forget(moves)
        not_before_ms = self.not_before_ms
        for index, partition in moves.items():
            if partition.leader != NO_LEADER and self.load(index):
                self._await_flush(index, self._endings.of(index))
        self.not_before_ms = not_before_ms

    def is_loaded(self, transactional_id: str) -> bool:
        """Return whether an id's partition is loaded; if it is not, try to load it."""
        return not self.unloaded or self.is_readable(self.topic.partition_of(transactional_id))

    def is_readable(self, partition: int) -> bool:
        """Return whether a partition is loaded; if it is not, try to load it."""
        return partition not in self.unloaded or self.load(partition)

    def load(self, partition: int) -> bool:
        """Load a partition with no state in memory, and return whether it could be read."""
        self.unloaded.add(partition)
        endings: list[Ending] = []
        try:
            newest = {
                key: value
                for batch in self.topic.replay_partition(partition)
                for key, value in batch.records
            }
        except BrokerError as error:
            logger.error("transactions not read partition=%d reason=%s", partition, error)
        else:
            self.unloaded.discard(partition)
            endings = self._replay(partition, newest.items())
        self._endings.restore(partition, endings)
        self._pause()
        return partition not in self.unloaded

    def _replay(
        self, partition: int, records: Iterable[tuple[bytes, bytes | None]]
    ) -> list[Ending]:
        endings = []
        for key, value in records:
            try:
                ending = self._coordinator.replay(key, value)
            except (DecodeError, ValueError) as error:
                logger.warning(
                    "record skipped topic=%s partition=%d reason=%s",
                    self.topic.name,
                    partition,
                    error,
                )
            else:
                if ending is not None:
                    endings.append(ending)
        return endings


def _answer_to(error: BrokerError) -> ErrorCode:
    if isinstance(error, MessageTooLarge | RecordListTooLarge):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE

"""Keeps the transaction coordinator's state in memory equal to the state log.

If the record of an event could not be written, the event is undone. If the record was written but
may not be on disk, the log is the source of truth: the partition's state is dropped and loaded
again, which may take seconds. If loading fails, its transactional ids are not available.
"""

import logging
from collections.abc import Callable, Collection, Iterable

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.coordinator.transactions.coordinator import Ending, Outcome, TransactionCoordinator
from broker_lite.errors import BrokerError, ErrorCode, MessageTooLarge, RecordListTooLarge, cause_of
from broker_lite.wire import DecodeError

logger = logging.getLogger("broker_lite.control")


class TransactionLog:
    """The log `__transaction_state`, and the coordinator that is loaded from it.

    Attributes:
        topic: of the log.
        unloaded: partitions that cannot be read.
    """

    def __init__(
        self,
        *,
        topic: StateTopic,
        coordinator: TransactionCoordinator,
        clock: Clock,
        restored: Callable[[int, list[Ending]], None],
    ) -> None:
        """Store the parts; nothing is read yet.

        Args:
            topic: of the log.
            coordinator: load() and write() change it.
            clock: for the records' timestamps.
            restored: called after each attempt to load a partition, with the partition and its
                prepared transactions.
        """
        self.topic = topic
        self.unloaded: set[int] = set()
        self._coordinator = coordinator
        self._clock = clock
        self._restored = restored

    def write(self, partition: int, outcomes: Collection[tuple[str, Outcome]]) -> ErrorCode | None:
        """Write the records of several events as one batch; if that fails, undo the events.

        Args:
            partition: of all the ids.
            outcomes: transactional ids, each with an outcome that has a record.

        Returns:
            The error code for the clients if the write failed, otherwise None.

        Rule: T-72 (TransactionStateManager.appendTransactionToLog).
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
                self._coordinator.forget(lambda each: self.topic.partition_of(each) == partition)
                self.load(partition)
            return _answer_to(error)
        return None

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
        self._restored(partition, endings)
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

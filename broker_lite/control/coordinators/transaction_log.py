"""The state log of transactions, and the coordinator's memory as what is read from it.

An event whose record could not be written has changed nothing. Where the two may differ, because a
record is written but may not be on disk, the log counts: the partition is forgotten and read again,
which may take seconds. While that fails too, nothing is known of its transactional ids.
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
    """`__transaction_state` and who is read from it.

    Attributes:
        topic: the log's.
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
        """Remember what is needed; nothing is read.

        Args:
            topic: the log's.
            coordinator: changed by load() and write().
            clock: for the records' timestamps.
            restored: told what is prepared in a partition that was read.
        """
        self.topic = topic
        self.unloaded: set[int] = set()
        self._coordinator = coordinator
        self._clock = clock
        self._restored = restored

    def write(self, partition: int, outcomes: Collection[tuple[str, Outcome]]) -> ErrorCode | None:
        """Write what events led to as one batch; if that fails, they are undone.

        Args:
            partition: of all the ids.
            outcomes: transactional ids, each with what has a record.

        Returns:
            What clients are told of a failure.

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
        """Whether what is known of an id is true; a partition that was not is read again."""
        return not self.unloaded or self.is_readable(self.topic.partition_of(transactional_id))

    def is_readable(self, partition: int) -> bool:
        """Whether a partition is read, or can be now."""
        return partition not in self.unloaded or self.load(partition)

    def load(self, partition: int) -> bool:
        """Read a partition of which nothing is in memory; tell whether it could be read."""
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
                    "record passed over topic=%s partition=%d reason=%s",
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

"""The transactional ids whose newest record is not replicated yet.

The record is in the log, and the coordinator's state is the new one. But nothing follows from it
before the replicas in sync have it: no answer, no marker, and no other change of the id. Until then
the state from before is seen. If that takes too long, the event is undone, although its record may
be replicated later, as in Kafka.
"""

import asyncio
from collections.abc import Collection, Container, Iterator
from functools import partial

from broker_lite.control.coordinators.end_markers import UnfinishedEnding
from broker_lite.control.coordinators.endings import Endings
from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.coordinator.transactions import rules
from broker_lite.coordinator.transactions.coordinator import Outcome, TransactionCoordinator
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition, Transaction
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, ErrorCode


class UnreplicatedEvent:
    """An event whose record is not replicated yet.

    Attributes:
        outcome: of the event.
        ending: the transaction that it ends, None if it ends none.
        is_asked: whether a request has to be answered, and does not wait yet.
        answer: of the request that waits.
    """

    __slots__ = ("answer", "ending", "is_asked", "outcome")

    def __init__(self, outcome: Outcome, ending: UnfinishedEnding | None, is_asked: bool) -> None:
        self.outcome = outcome
        self.ending = ending
        self.is_asked = is_asked
        self.answer: asyncio.Future[ErrorCode] | None = None


class Unreplicated:
    """The transactional ids that wait for replicas; used by one thread, the event loop's.

    Attributes:
        events: by the id that waits; all other requests for it get CONCURRENT_TRANSACTIONS.

    Rule: C-73 (TransactionStateManager.appendTransactionToLog).
    """

    def __init__(
        self, waits: ReplicationWaits, coordinator: TransactionCoordinator, endings: Endings
    ) -> None:
        self._waits = waits
        self._coordinator = coordinator
        self._endings = endings
        self.events: dict[str, UnreplicatedEvent] = {}

    def add(
        self, partition: int, transactional_id: str, outcome: Outcome, *, is_asked: bool
    ) -> None:
        """Let an id wait, whose record was just written, unless the record is replicated already.

        Args:
            partition: of the id.
            transactional_id: whose record it is.
            outcome: of the event; if it ends a transaction, the endings have that.
            is_asked: the event is a request, which waits for as long as a transaction may take.
        """
        offset = self._waits.offset_to_reach(partition)
        if offset is None:
            return
        ending = None if outcome.ending is None else self._endings.get(transactional_id)
        if ending is not None:
            ending.begin_flush()
        transaction = self._coordinator.get(transactional_id)
        timeout_ms = transaction.timeout_ms if is_asked and transaction is not None else None
        self._coordinator.hold(transactional_id, is_held=True)
        self.events[transactional_id] = UnreplicatedEvent(outcome, ending, is_asked)
        self._waits.add(partition, offset, timeout_ms, partial(self._end, transactional_id))

    async def settled(
        self, transactional_id: str, error_code: ErrorCode = ErrorCode.NONE
    ) -> ErrorCode:
        """Wait until the record of a request is replicated; call it right after the event.

        Args:
            transactional_id: of the request.
            error_code: the answer to the request.

        Returns:
            That answer, or why the record is not replicated.
        """
        event = self.events.get(transactional_id)
        if event is None or not event.is_asked:
            return error_code
        event.is_asked = False
        event.answer = asyncio.get_running_loop().create_future()
        return await event.answer or error_code

    # -- what is seen meanwhile

    def get(self, transactional_id: str) -> Transaction | None:
        """Return the transaction of an id as it is replicated, or None if the id is unknown.

        A new id is seen at once.
        """
        event = self.events.get(transactional_id)
        before = None if event is None else event.outcome.before
        return before or self._coordinator.get(transactional_id)

    def all(self) -> list[Transaction]:
        """Return the transactions of all ids as they are replicated."""
        newest = self._coordinator.all()
        if not self.events:
            return newest
        return [self.get(each.transactional_id) or each for each in newest]

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return for each partition NONE if it is in the producer's transaction, else an error."""
        event = self.events.get(transactional_id)
        if event is None or event.outcome.before is None:
            return self._coordinator.verify(transactional_id, producer, partitions)
        return rules.verify(event.outcome.before, producer, partitions)

    # -- the end of waiting

    def deadlines(self) -> Iterator[int]:
        """Iterate over the time at which on_time() has to be called next, if there is one."""
        deadline_ms = self._waits.next_deadline_ms()
        if deadline_ms is not None:
            yield deadline_ms

    def on_time(self) -> None:
        """Undo the events whose replicas have taken too long."""
        self._waits.on_time()

    def fail(self, partitions: Container[int]) -> None:
        """Answer the requests for ids of partitions whose state in memory was dropped."""
        self._waits.fail(partitions)

    def fail_all(self) -> None:
        """Answer all requests, because the topic of the state log was deleted."""
        self._waits.fail_all()

    def _end(self, transactional_id: str, error: BrokerError | None) -> None:
        """Go on with an id; undo its event if its replicas took too long."""
        event = self.events.pop(transactional_id)
        is_late = isinstance(error, CoordinatorNotAvailable)
        if is_late:
            self._coordinator.undo(transactional_id, event.outcome)
        else:
            self._coordinator.hold(transactional_id, is_held=False)
        if event.ending is not None:
            if is_late:
                self._endings.discard(transactional_id)
            event.ending.end_flush()
            self._endings.go_on(event.ending)
        if event.answer is not None and not event.answer.done():
            event.answer.set_result(ErrorCode.NONE if error is None else error.code)

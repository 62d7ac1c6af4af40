"""Runs the transaction coordinator, with its state log and the end markers.

Every event is one step without a pause: the coordinator decides, its record is appended to the
transactional id's partition of `__transaction_state`, and only then is the request answered. If the
append fails, the client gets a retriable error.

The end markers of a transaction are written before the client gets its response. If that takes more
than some milliseconds, other requests run in between; those for the same transactional id get a
retriable error. A marker that cannot be written is tried again every second, because the decision
to end the transaction stands. For the same reason the next start of the broker finishes a
transaction that was ending when the broker was killed.
"""

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.end_markers import (
    RETRY_MS,
    STEP_MS,
    EndMarkers,
    OffsetTransactions,
    UnfinishedEnding,
)
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.coordinators.transaction_log import TransactionLog
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.coordinator.transactions.coordinator import (
    Ending,
    Outcome,
    TransactionCoordinator,
    TransactionSettings,
)
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition, Transaction
from broker_lite.errors import BrokerError, CoordinatorLoadInProgress, ErrorCode, cause_of
from broker_lite.record.control import EndTransactionMarker

logger = logging.getLogger("broker_lite.control")

_IDS_AT_A_TIME: Final = 500
_FEATURE: Final = "transaction.version"


class Transactions:
    """The transactions of a cluster; used by one thread, the event loop's.

    Attributes:
        topic: the topic of the state log.
        alarm: is told each new deadline.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        clock: Clock,
        groups: OffsetTransactions,
        alarm: Alarm | None = None,
        topic: StateTopic | None = None,
    ) -> None:
        """Store the parts; nothing is read before start()."""
        self.topic = topic or StateTopic(cluster, TRANSACTIONS_TOPIC)
        self.alarm = alarm or Alarm()
        self._cluster = cluster
        self._clock = clock
        self._groups = groups
        self._markers = EndMarkers(cluster, clock, groups, self._go_on)
        self._coordinator = TransactionCoordinator(
            TransactionSettings(
                timeout_max_ms=cluster.settings.transaction_max_timeout_ms,
                id_expiration_ms=cluster.settings.transactional_id_expiration_ms,
            ),
            next_producer_id=cluster.next_producer_id,
            transaction_version=lambda: cluster.features.get(_FEATURE, 0),
        )
        self._log = TransactionLog(
            topic=self.topic, coordinator=self._coordinator, clock=clock, restored=self._restored
        )
        self._unfinished: dict[str, UnfinishedEnding] = {}
        self._not_before_ms = 0

    def start(self) -> None:
        """Load the state log, and finish the transactions that were ending.

        The groups have to be started before, because this commits or drops their pending offsets.
        A partition that cannot be read is logged, and loaded again when it is needed.
        """
        for partition in self.topic.partitions_to_replay():
            self._log.load(partition)
        while self._finish_some():
            pass
        self._not_before_ms = 0
        self._cluster.watchers.add(self)

    # -- requests

    async def init_producer_id(
        self, transactional_id: str, *, timeout_ms: int, expected: Producer | None, node_id: int
    ) -> Outcome:
        """Assign a transactional id to a producer; the outcome has error and producer to respond.

        Args:
            transactional_id: whose.
            timeout_ms: of its transactions.
            expected: the producer's former id and epoch.
            node_id: the broker that is asked.

        See: T-14, T-16 to T-27.
        """
        return await self._step(
            transactional_id,
            lambda now_ms: self._coordinator.init_producer_id(
                transactional_id, timeout_ms=timeout_ms, expected=expected, now_ms=now_ms
            ),
            node_id,
        )

    async def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        is_commit: bool,
        client_version: int,
        node_id: int,
    ) -> Outcome:
        """Commit or abort a transaction; the outcome has error and producer to respond.

        Rule: T-50, T-51.
        See: T-46 to T-49, T-52, T-53.
        """
        return await self._step(
            transactional_id,
            lambda now_ms: self._coordinator.end(
                transactional_id,
                producer,
                is_commit=is_commit,
                client_version=client_version,
                now_ms=now_ms,
            ),
            node_id,
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        *,
        client_version: int,
        node_id: int | None = None,
    ) -> ErrorCode:
        """Add partitions to a producer's transaction, and return the error code for the response.

        Args:
            transactional_id: whose.
            producer: its id and epoch.
            partitions: to be added.
            client_version: what of the protocol of transactions the client knows.
            node_id: the broker that a client asks; None where a broker asks the coordinator itself.

        See: T-29, T-35.
        """
        return self._decide(
            transactional_id,
            lambda now_ms: self._coordinator.add_partitions(
                transactional_id,
                producer,
                partitions,
                client_version=client_version,
                now_ms=now_ms,
            ),
            node_id,
        ).error

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return for each partition NONE if it is in the producer's transaction, else an error.

        See: T-31, T-34.
        """
        if not self._log.is_loaded(transactional_id):
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self._coordinator.verify(transactional_id, producer, partitions)

    def partition_of_group(self, group_id: str) -> TopicPartition:
        """Return the partition of `__consumer_offsets` that stands for a group in a transaction.

        See: T-32.
        """
        return OFFSETS_TOPIC, self._groups.partition_of(group_id)

    def write_marker(
        self,
        partition: TopicPartition,
        producer: Producer,
        marker: EndTransactionMarker,
        transaction_version: int,
    ) -> None:
        """Write a marker that an administrator asks for.

        Raises:
            BrokerError: see EndMarkers.write.

        See: T-59.
        """
        self._markers.write(partition, producer, marker, transaction_version)

    def find(self, transactional_id: str, node_id: int) -> Transaction | ErrorCode:
        """Return the transaction of an id, or the error if there is none or another broker has it.

        See: T-01 to T-06 (TransactionCoordinator.handleDescribeTransactions).
        """
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if not self.topic.is_led(transactional_id, node_id):
            return ErrorCode.NOT_COORDINATOR
        if not self._log.is_loaded(transactional_id):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._coordinator.get(transactional_id) or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def all(self, node_id: int) -> list[Transaction]:
        """Return the transactions of all ids that a broker coordinates, as they are now.

        Raises:
            CoordinatorLoadInProgress: a partition of the state log cannot be read.
        """
        for partition in [*self._log.unloaded]:
            if not self._log.is_readable(partition):
                raise CoordinatorLoadInProgress
        known = self._coordinator.all()
        if self.topic.leads_all(node_id):
            return known
        return [one for one in known if self.topic.is_led(one.transactional_id, node_id)]

    # -- time

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next, in steady milliseconds; None for never."""
        deadlines = [each.not_before_ms for each in self._unfinished.values() if not each.flushes]
        due_ms = self._coordinator.next_deadline_ms()
        if due_ms is not None:
            deadlines.append(max(due_ms, self._not_before_ms))
        if self._log.unloaded:
            deadlines.append(self._not_before_ms)
        return min(deadlines, default=None)

    def on_time(self) -> None:
        """Abort transactions that have timed out, remove idle ids, and write markers that are left.

        The work of one call is limited; if some is left, next_deadline_ms() is not in the future.

        See: T-60, T-64.
        """
        now_ms = self._clock.steady_ms()
        if now_ms >= self._not_before_ms:
            for partition in [*self._log.unloaded]:
                self._log.load(partition)
            due: dict[int, list[tuple[str, Outcome]]] = {}
            for transactional_id, outcome in self._coordinator.on_time(now_ms, _IDS_AT_A_TIME):
                partition = self.topic.partition_of(transactional_id)
                due.setdefault(partition, []).append((transactional_id, outcome))
            for partition, outcomes in due.items():
                self._write(partition, outcomes)
        self._finish_some()

    # -- changes of the cluster

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Forget all ids if the topic of the state log was deleted, as Kafka does."""
        if any(topic.name == TRANSACTIONS_TOPIC for topic in deleted):
            self._log.unloaded.clear()
            self._unfinished.clear()
            self._coordinator.forget(lambda _: True)

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Let go of the state of partitions that another broker leads from now on."""

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Do nothing: the coordinator reads its settings only at the start."""

    # -- handling an event

    async def _step(
        self, transactional_id: str, event: Callable[[int], Outcome], node_id: int
    ) -> Outcome:
        """Let an event happen, and the transaction end that it ends."""
        outcome = self._decide(transactional_id, event, node_id)
        while outcome.ending is not None:
            unfinished = self._unfinished.get(transactional_id)
            if unfinished is None or unfinished.ending is not outcome.ending:
                break
            self._write_markers(unfinished)
            if unfinished.not_before_ms or not (unfinished.left or unfinished.flushes):
                break  # the end is decided; failed markers are retried later
            # on_time() writes the markers that are left if this request is cancelled
            self.alarm.due_at(unfinished.not_before_ms)
            await checkpoint()
            await unfinished.is_flushed.wait()
        return outcome

    def _decide(
        self, transactional_id: str, event: Callable[[int], Outcome], node_id: int | None
    ) -> Outcome:
        """Let an event happen, and write its record.

        See: C-33.
        """
        if node_id is not None and not self.topic.is_led(transactional_id, node_id):
            return Outcome(ErrorCode.NOT_COORDINATOR)
        if not self._log.is_loaded(transactional_id):
            return Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        try:
            outcome = event(self._clock.steady_ms())
        except BrokerError as error:
            logger.error("no new producer id reason=%r", cause_of(error))
            return Outcome(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if outcome.record is not None:
            partition = self.topic.partition_of(transactional_id)
            error_code = self._write(partition, [(transactional_id, outcome)])
            if error_code is not None:
                return Outcome(error_code)
        return outcome

    def _write(self, partition: int, outcomes: Collection[tuple[str, Outcome]]) -> ErrorCode | None:
        """Write the records of outcomes as one batch, and note the transactions that end."""
        error_code = self._log.write(partition, outcomes)
        if error_code is None:
            endings = []
            for transactional_id, outcome in outcomes:
                if outcome.ending is not None:
                    endings.append(UnfinishedEnding(outcome.ending))
                    self._unfinished[transactional_id] = endings[-1]
            if self._cluster.logs.commits.held:
                for unfinished in endings:
                    unfinished.begin_flush()
                self.topic.when_flushed(partition, partial(self._on_flushed, partition, endings))
            self.alarm.due_at(self._coordinator.next_deadline_ms())
        else:
            self._pause()
        return error_code

    def _on_flushed(
        self, partition: int, endings: list[UnfinishedEnding], error: BrokerError | None
    ) -> None:
        """Go on after a flush; if it failed, load the partition from the log again."""
        if error is not None:
            logger.error("transactions may not be on disk partition=%d", partition)
            self._coordinator.forget(lambda each: self.topic.partition_of(each) == partition)
            self._log.load(partition)
        for unfinished in endings:
            unfinished.end_flush()
            self._go_on(unfinished)

    def _go_on(self, unfinished: UnfinishedEnding) -> None:
        if not unfinished.flushes:
            self.alarm.due_at(unfinished.not_before_ms)

    def _restored(self, partition: int, endings: list[Ending]) -> None:
        """Replace the unfinished transactions of a loaded partition by those in the log."""
        before = {
            transactional_id: self._unfinished.pop(transactional_id)
            for transactional_id in [*self._unfinished]
            if self.topic.partition_of(transactional_id) == partition
        }
        for ending in endings:
            known = before.get(ending.transactional_id)
            # an equal ending is kept, so that its markers are not written again
            if known is None or known.ending != ending:
                known = UnfinishedEnding(ending)
            self._unfinished[ending.transactional_id] = known
        self._pause()

    def _pause(self) -> None:
        """Delay due work by RETRY_MS, instead of retrying all the time while a disk fails."""
        now_ms = self._clock.steady_ms()
        if now_ms >= self._not_before_ms:  # otherwise failing requests would delay it for ever
            self._not_before_ms = now_ms + RETRY_MS
        self.alarm.due_at(self.next_deadline_ms())

    # -- markers

    def _finish_some(self) -> bool:
        """Write markers of unfinished transactions; return whether more can be written now."""
        now_ms = self._clock.steady_ms()
        until_ms = self._clock.monotonic_ms() + STEP_MS
        for unfinished in [*self._unfinished.values()]:
            is_current = self._unfinished.get(unfinished.ending.transactional_id) is unfinished
            if is_current and not unfinished.flushes and unfinished.not_before_ms <= now_ms:
                unfinished.not_before_ms = 0
                self._write_markers(unfinished)
                if self._clock.monotonic_ms() >= until_ms:
                    break
        return any(
            not (unfinished.not_before_ms or unfinished.flushes)
            for unfinished in self._unfinished.values()
        )

    def _write_markers(self, unfinished: UnfinishedEnding) -> None:
        """Write some of the markers that are left, and complete the transaction after the last.

        Markers are written when the decision is on disk, and the completion when the markers are on
        disk. Otherwise a crash could leave markers without a decision, or a completed transaction
        without its markers.
        """
        if unfinished.flushes:
            return
        transactional_id = unfinished.ending.transactional_id
        partition = self.topic.partition_of(transactional_id)
        coordinator_epoch = self._cluster.leader_epoch(TRANSACTIONS_TOPIC, partition)
        if not self._markers.write_some(unfinished, coordinator_epoch) or unfinished.flushes:
            return
        now_ms = self._clock.steady_ms()
        if not unfinished.failed:
            outcome = self._coordinator.completed(transactional_id, now_ms)
            if self._write(partition, [(transactional_id, outcome)]) is None:
                del self._unfinished[transactional_id]
                return
            # the transaction was loaded again from the log, or cannot be read
            unfinished = self._unfinished.get(transactional_id, unfinished)
        unfinished.wait(now_ms)
        self.alarm.due_at(unfinished.not_before_ms)

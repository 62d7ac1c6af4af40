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
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Moved
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.elsewhere import AsksCoordinator
from broker_lite.control.coordinators.end_markers import OffsetTransactions
from broker_lite.control.coordinators.endings import Endings
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.coordinators.transaction_log import TransactionLog
from broker_lite.control.metadata.topic import NO_LEADER, Topic
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.coordinator.transactions.coordinator import Outcome, TransactionCoordinator
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import TopicPartition, Transaction
from broker_lite.errors import BrokerError, CoordinatorLoadInProgress, ErrorCode, cause_of

logger = logging.getLogger("broker_lite.control")

_IDS_AT_A_TIME: Final = 500
_FEATURE: Final = "transaction.version"


class Transactions:
    """The transactions of a cluster; used by one thread, the event loop's.

    Attributes:
        topic: the topic of the state log.
        alarm: is told each new deadline.
        unreplicated: the ids whose newest record is not replicated yet.
        markers: writes the ends of transactions to their partitions.
        elsewhere: asks the coordinator, where this is the process of a broker that is none.
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
        self._coordinator = TransactionCoordinator(
            TransactionSettings.of(cluster.settings),
            next_producer_id=cluster.next_producer_id,
            transaction_version=lambda: cluster.features.get(_FEATURE, 0),
        )
        self._endings = Endings(
            cluster=cluster,
            clock=clock,
            groups=groups,
            topic=self.topic,
            alarm=self.alarm,
            complete=self._complete,
        )
        self._log = TransactionLog(
            topic=self.topic,
            coordinator=self._coordinator,
            endings=self._endings,
            clock=clock,
            alarm=self.alarm,
            next_deadline_ms=self.next_deadline_ms,
        )
        self.unreplicated = self._log.unreplicated
        self.elsewhere: AsksCoordinator | None = None
        self.markers = self._endings.markers

    def start(self) -> None:
        """Load the state log, and finish the transactions that were ending.

        The groups have to be started before, because this commits or drops their pending offsets.
        A partition that cannot be read is logged, and loaded again when it is needed.
        """
        for partition in self.topic.partitions_to_replay():
            self._log.load(partition)
        while self._endings.write_some():
            pass
        self._log.not_before_ms = 0
        self._cluster.watchers.add(self)

    # -- requests

    async def init_producer_id(
        self, transactional_id: str, terms: Terms, *, expected: Producer | None, node_id: int
    ) -> Outcome:
        """Assign a transactional id to a producer; the outcome has error and producer to respond.

        Args:
            transactional_id: whose.
            terms: of its transactions.
            expected: the producer's former id and epoch.
            node_id: the broker that is asked.

        See: T-14, T-16 to T-27, T-69, C-61.
        """
        refusal = self._coordinator.refused_init(transactional_id, terms)
        if refusal is not None:
            return Outcome(refusal)
        return await self._step(
            transactional_id,
            lambda now_ms: self._coordinator.init_producer_id(
                transactional_id, terms, expected=expected, now_ms=now_ms
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

        See: T-29, T-35, C-61.
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
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        node_id: int | None = None,
    ) -> dict[TopicPartition, ErrorCode]:
        """Return for each partition NONE if it is in the producer's transaction, else an error.

        Args:
            transactional_id: whose.
            producer: its id and epoch.
            partitions: to be looked for.
            node_id: as for `add_partitions`.

        See: T-31, T-34, C-61.
        """
        refusal = self._refused(transactional_id, node_id)
        if refusal is not None:
            return dict.fromkeys(partitions, refusal)
        return self.unreplicated.verify(transactional_id, producer, partitions)

    def partition_of_group(self, group_id: str) -> TopicPartition:
        """Return the partition of `__consumer_offsets` that stands for a group in a transaction.

        See: T-32.
        """
        return OFFSETS_TOPIC, self._groups.partition_of(group_id)

    def find(self, transactional_id: str, node_id: int) -> Transaction | ErrorCode:
        """Return the transaction of an id, or the error if there is none or another broker has it.

        See: T-01 to T-06, C-61 (TransactionCoordinator.handleDescribeTransactions).
        """
        refusal = self._refused(transactional_id, node_id)
        if refusal is not None:
            return refusal
        return self.unreplicated.get(transactional_id) or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def all(self, node_id: int) -> list[Transaction]:
        """Return the transactions of all ids that a broker coordinates, as they are now.

        Raises:
            CoordinatorLoadInProgress: a partition of the state log that it leads cannot be read.
        """
        for partition in [*self._log.unloaded]:
            is_led = self.topic.leader(partition) == node_id
            if is_led and not self._log.is_readable(partition):
                raise CoordinatorLoadInProgress
        known = self.unreplicated.all()
        if self.topic.leads_all(node_id):
            return known
        return [one for one in known if self.topic.is_led(one.transactional_id, node_id)]

    # -- time

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next, in steady milliseconds; None for never."""
        deadlines = [*self._endings.deadlines(), *self.unreplicated.deadlines()]
        due_ms = self._coordinator.next_deadline_ms()
        if due_ms is not None:
            deadlines.append(max(due_ms, self._log.not_before_ms))
        if self._log.unloaded:
            deadlines.append(self._log.not_before_ms)
        return min(deadlines, default=None)

    def on_time(self) -> None:
        """Abort transactions that have timed out, remove idle ids, and write markers that are left.

        The work of one call is limited; if some is left, next_deadline_ms() is not in the future.

        See: T-60, T-64.
        """
        self.unreplicated.on_time()
        now_ms = self._clock.steady_ms()
        if now_ms >= self._log.not_before_ms:
            for partition in [*self._log.unloaded]:
                self._log.load(partition)
            due: dict[int, list[tuple[str, Outcome]]] = {}
            for transactional_id, outcome in self._coordinator.on_time(now_ms, _IDS_AT_A_TIME):
                partition = self.topic.partition_of(transactional_id)
                due.setdefault(partition, []).append((transactional_id, outcome))
            for partition, outcomes in due.items():
                self._log.write(partition, outcomes)
        self._endings.write_some()

    # -- changes of the cluster

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Forget all ids if the topic of the state log was deleted, as Kafka does."""
        if any(topic.name == TRANSACTIONS_TOPIC for topic in deleted):
            self._log.unloaded.clear()
            self._endings.clear()
            self._coordinator.forget(lambda _: True)
            self.unreplicated.fail_all()

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Follow the leaders of the state log's partitions, and write markers to new leaders.

        See: C-67, C-69.
        """
        moves = {one.partition: one.after for one in self.topic.moves(moved)}
        if moves:
            self._log.hand_over(moves)
        self._endings.leaders_are_back(
            {
                (topic.name, partition)
                for topic, partition, before, after in moved
                if before.leader == NO_LEADER != after.leader
            }
        )
        self.alarm.due_at(self.next_deadline_ms())

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Do nothing: the coordinator reads its settings only at the start."""

    # -- handling an event

    async def _step(
        self, transactional_id: str, event: Callable[[int], Outcome], node_id: int
    ) -> Outcome:
        """Let an event happen, and the transaction end that it ends.

        Kafka answers when the decision is replicated. So the decision is the answer even if another
        broker coordinates the id before all markers are written.

        See: C-68, C-73.
        """
        outcome = self._decide(transactional_id, event, node_id)
        if self.unreplicated.events and outcome.record is not None:
            error_code = await self.unreplicated.settled(transactional_id)
            if error_code:
                return Outcome(error_code)
        while outcome.ending is not None:
            unfinished = self._endings.get(transactional_id)
            if unfinished is None or unfinished.ending is not outcome.ending:
                break
            self._endings.write_markers(unfinished)
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

        See: C-61, C-73.
        """
        refusal = self._refused(transactional_id, node_id)
        if refusal is None and transactional_id in self.unreplicated.events:
            refusal = ErrorCode.CONCURRENT_TRANSACTIONS
        if refusal is not None:
            return Outcome(refusal)
        try:
            outcome = event(self._clock.steady_ms())
        except BrokerError as error:
            logger.error("no new producer id reason=%r", cause_of(error))
            return Outcome(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if outcome.record is not None:
            partition = self.topic.partition_of(transactional_id)
            several = [(transactional_id, outcome)]
            error_code = self._log.write(partition, several, is_asked=True)
            if error_code is not None:
                return Outcome(error_code)
        return outcome

    def _refused(self, transactional_id: str, node_id: int | None) -> ErrorCode | None:
        """Return why a broker cannot be asked about an id now; None if it can.

        Args:
            transactional_id: whose.
            node_id: the broker that a client asks; None where a broker asks the coordinator itself.

        Rule: C-61 (TransactionStateManager.getTransactionState).
        See: C-70.
        """
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if node_id is None:
            if not self.topic.is_led_by_any(transactional_id):
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif not self.topic.is_led(transactional_id, node_id):
            return ErrorCode.NOT_COORDINATOR
        if not self._log.is_loaded(transactional_id):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return None

    def _complete(self, transactional_id: str) -> bool:
        """Write that the transaction of an id is complete; return whether that succeeded."""
        outcome = self._coordinator.completed(transactional_id, self._clock.steady_ms())
        partition = self.topic.partition_of(transactional_id)
        return self._log.write(partition, [(transactional_id, outcome)]) is None

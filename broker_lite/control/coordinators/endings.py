"""The prepared transactions, whose end markers are being written.

Markers are written when the decision is on disk, and the completion when the markers are on disk.
Otherwise a crash could leave markers without a decision, or a completed transaction without its
markers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.end_markers import (
    STEP_MS,
    EndMarkers,
    OffsetTransactions,
    UnfinishedEnding,
)
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.transaction import TopicPartition


class Endings:
    """Writes the markers of prepared transactions; used by one thread, the event loop's.

    Attributes:
        markers: writes single markers.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        clock: Clock,
        groups: OffsetTransactions,
        topic: StateTopic,
        alarm: Alarm,
        complete: Callable[[str], bool],
    ) -> None:
        """Store the parts.

        Args:
            cluster: has the logs of the partitions.
            clock: of the process.
            groups: commits or drops pending offsets.
            topic: the topic of the state log.
            alarm: is told when markers have to be written.
            complete: writes that the transaction of an id is complete, and returns whether that
                succeeded.
        """
        self.markers = EndMarkers(cluster, clock, groups, self.go_on)
        self._cluster = cluster
        self._clock = clock
        self._topic = topic
        self._alarm = alarm
        self._complete = complete
        self._by_id: dict[str, UnfinishedEnding] = {}

    def get(self, transactional_id: str) -> UnfinishedEnding | None:
        """Return the prepared transaction of an id, or None if it has none."""
        return self._by_id.get(transactional_id)

    def deadlines(self) -> Iterator[int]:
        """Iterate over the times at which markers can be written next; 0 is at once."""
        return (each.not_before_ms for each in self._by_id.values() if not each.flushes)

    def add(self, endings: Iterable[Ending]) -> list[UnfinishedEnding]:
        """Take on transactions whose decisions were just written to the state log."""
        added = [UnfinishedEnding(ending) for ending in endings]
        for unfinished in added:
            self._by_id[unfinished.ending.transactional_id] = unfinished
        return added

    def restore(self, partition: int, endings: Iterable[Ending]) -> None:
        """Replace the transactions of a loaded partition by those in the log."""
        before = {each.ending.transactional_id: each for each in self._take([partition])}
        for ending in endings:
            known = before.get(ending.transactional_id)
            # an equal ending is kept, so that its markers are not written again
            if known is None or known.ending != ending:
                known = UnfinishedEnding(ending)
            self._by_id[ending.transactional_id] = known

    def hand_over(self, partitions: Collection[int]) -> None:
        """Forget the transactions of partitions; requests that wait for their ends are answered.

        The new coordinator finds the decisions in the log, and writes all markers itself.

        Rule: C-68 (TransactionMarkerChannelManager.removeMarkersForTxnTopicPartition).
        """
        for unfinished in self._take(partitions):
            unfinished.is_flushed.set()

    def of(self, partition: int) -> list[UnfinishedEnding]:
        """Return the transactions of a partition of the state log."""
        partition_of = self._topic.partition_of
        return [each for name, each in self._by_id.items() if partition_of(name) == partition]

    def _take(self, partitions: Collection[int]) -> list[UnfinishedEnding]:
        """Remove and return the transactions of partitions of the state log."""
        partition_of = self._topic.partition_of
        names = [name for name in self._by_id if partition_of(name) in partitions]
        return [self._by_id.pop(name) for name in names]

    def discard(self, transactional_id: str) -> None:
        """Forget the transaction of an id, because the decision to end it was undone."""
        self._by_id.pop(transactional_id, None)

    def clear(self) -> None:
        """Forget all transactions, because the topic of the state log was deleted."""
        self._by_id.clear()

    def leaders_are_back(self, partitions: Collection[TopicPartition]) -> None:
        """Write the markers at once that waited for a leader of these partitions.

        See: C-69.
        """
        for unfinished in self._by_id.values():
            if unfinished.not_before_ms and unfinished.left_for(partitions):
                unfinished.not_before_ms = 0
                self.go_on(unfinished)

    def go_on(self, unfinished: UnfinishedEnding) -> None:
        """Set the alarm for the next markers, unless a flush has to end before."""
        if not unfinished.flushes:
            self._alarm.due_at(unfinished.not_before_ms)

    def write_some(self) -> bool:
        """Write markers of all transactions for a short time; return whether more can be written.

        See: T-52.
        """
        now_ms = self._clock.steady_ms()
        until_ms = self._clock.unfrozen_ms() + STEP_MS
        for unfinished in [*self._by_id.values()]:
            is_current = self._by_id.get(unfinished.ending.transactional_id) is unfinished
            if is_current and not unfinished.flushes and unfinished.not_before_ms <= now_ms:
                unfinished.not_before_ms = 0
                self.write_markers(unfinished)
                if self._clock.unfrozen_ms() >= until_ms:
                    break
        return any(
            not (unfinished.not_before_ms or unfinished.flushes)
            for unfinished in self._by_id.values()
        )

    def write_markers(self, unfinished: UnfinishedEnding) -> None:
        """Write some of the markers that are left, and complete the transaction after the last.

        See: C-67.
        """
        if unfinished.flushes:
            return
        transactional_id = unfinished.ending.transactional_id
        partition = self._topic.partition_of(transactional_id)
        coordinator_epoch = self._cluster.leader_epoch(self._topic.name, partition)
        if not self.markers.write_some(unfinished, coordinator_epoch) or unfinished.flushes:
            return
        if not unfinished.failed:
            if self._complete(transactional_id):
                del self._by_id[transactional_id]
                return
            # the transaction was loaded again from the log, or cannot be read
            unfinished = self._by_id.get(transactional_id, unfinished)
        unfinished.wait(self._clock.steady_ms())
        self._alarm.due_at(unfinished.not_before_ms)

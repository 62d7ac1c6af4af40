"""Waits until all replicas in sync have what a coordinator has written.

As long as no replica of any partition is behind, nothing waits: that costs one look at an empty
set. What waits is told by the appends and replicas that move the high watermark, or by the alarm
when its time is over, so that no task is needed for it.

A difference to Kafka: DescribeGroups, ConsumerGroupDescribe and ListGroups show the newest state of
groups, also before it is replicated. Kafka shows the state up to the high watermark (C-72).

A difference to Kafka: a classic group is Stable before the record of its assignment is replicated,
and stays so if that takes too long. Kafka lets it rebalance then (C-72).

A difference to Kafka: the markers of a transaction do not wait for the replicas of their partitions
(C-73).
"""

import asyncio
from collections.abc import Callable, Collection, Container
from functools import partial
from itertools import count
from typing import TypeAlias

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, NotCoordinator
from broker_lite.log.log import Log

Told: TypeAlias = Callable[[BrokerError | None], None]
"""Called once: with None when the replicas have the records, else with the error for the client."""


class _Partition:
    """A partition whose high watermark somebody waits for.

    Attributes:
        log: of the partition; a log that was cut since is another one.
        leader: the broker that led the partition when the first of the waits began.
        look: is called when the log changes.
        waits: offsets to be reached and who is told, by number; in the order of their offsets.
    """

    __slots__ = ("leader", "log", "look", "waits")

    def __init__(self, log: Log, leader: int, look: Callable[[], None]) -> None:
        self.log = log
        self.leader = leader
        self.look = look
        self.waits: dict[int, tuple[int, Told]] = {}


class ReplicationWaits:
    """What waits for the high watermarks of a state topic; used by the event loop's thread.

    Attributes:
        topic: the state topic.

    Rule: C-72 (CoordinatorRuntime, DeferredEventQueue, DelayedProduce).
    """

    def __init__(self, topic: StateTopic, clock: Clock, alarm: Alarm) -> None:
        """Store the parts.

        Args:
            topic: the state topic.
            clock: of the process.
            alarm: is told each new deadline.
        """
        self.topic = topic
        self._clock = clock
        self._alarm = alarm
        self._partitions: dict[int, _Partition] = {}
        self._timers: Timers[tuple[int, int]] = Timers()
        self._numbers = count()

    def offset_to_reach(self, partition: int, end_offset: int | None = None) -> int | None:
        """Return the high watermark to wait for; None if nothing has to wait.

        Args:
            partition: of the state topic.
            end_offset: the end of the records in question; None for all that were written so far.
        """
        if not self.topic.is_lagging:
            return None
        log = self.topic.loaded_log(partition)
        if log is None:
            return None
        offset = log.log_end_offset if end_offset is None else end_offset
        return offset if log.high_watermark < offset else None

    def add(self, partition: int, offset: int, timeout_ms: int | None, tell: Told) -> None:
        """Have a function called when a high watermark reaches an offset, or cannot in time.

        Args:
            partition: of the state topic; its log is loaded.
            offset: from offset_to_reach().
            timeout_ms: how long to wait; None for as long as it takes.
            tell: is called with COORDINATOR_NOT_AVAILABLE after that time, and with NOT_COORDINATOR
                if another broker leads the partition before.
        """
        waiting = self._partitions.get(partition)
        if waiting is None:
            log = self.topic.loaded_log(partition)
            assert log is not None
            look = partial(self._look, partition)
            waiting = _Partition(log, self.topic.leader(partition), look)
            self._partitions[partition] = waiting
            log.visibility.add_waiter(look)
        number = next(self._numbers)
        waiting.waits[number] = offset, tell
        if timeout_ms is not None:
            deadline_ms = self._clock.steady_ms() + timeout_ms
            self._timers.set((partition, number), deadline_ms)
            self._alarm.due_at(deadline_ms)

    async def written(self, partitions: Collection[int], timeout_ms: int) -> dict[int, BrokerError]:
        """Wait until all records that partitions have now are replicated.

        Args:
            partitions: of the state topic.
            timeout_ms: how long to wait.

        Returns:
            The partitions where that took too long, or that another broker leads by now.
        """
        pending: dict[int, asyncio.Future[BrokerError | None]] = {}
        for partition in partitions:
            offset = self.offset_to_reach(partition)
            if offset is not None:
                pending[partition] = asyncio.get_running_loop().create_future()
                self.add(partition, offset, timeout_ms, partial(_tell, pending[partition]))
        ended = [(partition, await future) for partition, future in pending.items()]
        return {partition: error for partition, error in ended if error is not None}

    def _look(self, partition: int) -> None:
        """Tell those whose records are replicated now.

        If another broker leads by now, its replica may have moved the high watermark before fail()
        is called. The old coordinator does not see that in Kafka.
        """
        waiting = self._partitions[partition]
        if self.topic.leader(partition) != waiting.leader:
            return
        high_watermark = waiting.log.high_watermark
        while waiting.waits:
            number, (offset, _) = next(iter(waiting.waits.items()))
            if offset > high_watermark:
                return
            self._end(partition, number, None)

    def _end(self, partition: int, number: int, error: BrokerError | None) -> None:
        waiting = self._partitions[partition]
        _, tell = waiting.waits.pop(number)
        self._timers.cancel((partition, number))
        if not waiting.waits:
            waiting.log.visibility.remove_waiter(waiting.look)
            del self._partitions[partition]
        tell(error)

    def fail(self, partitions: Container[int]) -> None:
        """End all waits of partitions that this coordinator does not have any more.

        See: C-63.
        """
        for partition, waiting in [*self._partitions.items()]:
            if partition in partitions:
                for number in [*waiting.waits]:
                    self._end(partition, number, NotCoordinator())

    def fail_all(self) -> None:
        """End all waits, because the topic was deleted."""
        self.fail([*self._partitions])

    # -- time

    def next_deadline_ms(self) -> int | None:
        """Return when on_time() has to be called next, in steady milliseconds; None for never."""
        return self._timers.next_deadline_ms()

    def on_time(self) -> None:
        """End the waits that have taken too long."""
        now_ms = self._clock.steady_ms()
        while (key := self._timers.pop_due(now_ms)) is not None:
            self._end(*key, CoordinatorNotAvailable())


def _tell(future: "asyncio.Future[BrokerError | None]", error: BrokerError | None) -> None:
    if not future.done():  # it is done (cancelled) if its client has disconnected
        future.set_result(error)

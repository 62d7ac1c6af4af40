"""Keeps the state of groups in memory equal to the state log.

The log is the source of truth. If a partition cannot be written, its state in memory is dropped and
loaded again. If it cannot be read, its groups are not available until it can.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.replication_waits import ReplicationWaits
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.effects import Effects, Reply, ShareStart
from broker_lite.coordinator.group_history import GroupHistory
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    KafkaStorageError,
    NotCoordinator,
    UnknownServerError,
    cause_of,
)
from broker_lite.record.batch import NO_PRODUCER_ID
from broker_lite.wire import DecodeError
from broker_lite.wire.structs import Struct

if TYPE_CHECKING:
    from broker_lite.coordinator.groups.coordinator import GroupCoordinator
    from broker_lite.coordinator.registry import GroupEffects

Asking: TypeAlias = "asyncio.Future[Struct] | None"

logger = logging.getLogger("broker_lite.control")

# After a failure, a log that takes longer than this to read is not read again at once, but after
# this many times as long. So other requests can run, even if the disk keeps failing.
_LOAD_MS_AT_ONCE: Final = 10
_PAUSE_PER_LOAD: Final = 20


class GroupState:
    """Writes the records of events, answers requests, and loads the state from the log.

    Attributes:
        topic: the topic of the log.
        waits: for the replicas of the log's partitions.
        unloaded: partitions that could not be read, or that have not been read again yet.
        history: what groups did since the start.
        put_share_starts: writes the states of share groups' partitions that begin or end.
    """

    def __init__(
        self,
        waits: ReplicationWaits,
        clock: Clock,
        alarm: Alarm,
        get_coordinator: "Callable[[], GroupCoordinator]",
        write_timeout_ms: int,
    ) -> None:
        self.topic = waits.topic
        self.waits = waits
        self.unloaded: set[int] = set()
        self.history = GroupHistory()
        # by partition, in monotonic milliseconds: how long reading it took; when to read it again
        self._load_ms: dict[int, int] = {}
        self._not_before_ms: dict[int, int] = {}
        # by partition: the effects whose replies wait for a flush
        self._unflushed: dict[int, dict[Effects, None]] = {}
        self._clock = clock
        self._alarm = alarm
        self._get_coordinator = get_coordinator
        self._write_timeout_ms = write_timeout_ms
        self.put_share_starts: Callable[[Sequence[ShareStart]], None] | None = None

    def open_partition(self, group_id: str) -> int:
        """Return the partition of a group, which is loaded now if it was not before.

        Raises:
            NotCoordinator: the partition cannot be read.
        """
        partition = self.topic.partition_of(group_id)
        if partition in self.unloaded:
            self.check_partition(partition)
        return partition

    def check_partition(self, partition: int) -> None:
        """Load a partition if it could not be read before.

        Raises:
            NotCoordinator: it still cannot be read, or may not be read again yet.
        """
        if partition in self.unloaded and self._may_load(partition):
            self.load(partition)
        if partition in self.unloaded:
            raise NotCoordinator

    def settle(self, partition: int, effects: Effects, asking: Asking = None) -> bool:
        """Write an event's records, then send its replies; return whether the write succeeded.

        If the records have to be flushed or replicated, the replies are sent after that.

        Args:
            partition: of the group.
            effects: of the event.
            asking: the request that is the event; None for a timer.
        """
        try:
            self._append(partition, effects)
        except BrokerError as error:
            self._on_failed_append(partition, effects, error)
            return False
        if not self.topic.may_wait:
            _answer_all(effects)
        elif effects.records and self.topic.is_held_back:
            self._unflushed.setdefault(partition, {})[effects] = None
            end_offset = self.topic.end_offset(partition)
            after = partial(self._on_flushed, partition, effects, asking, end_offset)
            self.topic.when_flushed(partition, after)
        else:
            self._answer_replicated(partition, effects, asking)
        return True

    def _on_flushed(
        self,
        partition: int,
        effects: Effects,
        asking: Asking,
        end_offset: int,
        error: KafkaStorageError | None,
    ) -> None:
        unflushed = self._unflushed.get(partition)
        if unflushed is None or effects not in unflushed:
            return  # the partition was handed over meanwhile
        del unflushed[effects]
        if error is None:
            self._answer_replicated(partition, effects, asking, end_offset)
        else:
            self._on_failed_append(partition, effects, error)

    def _answer_replicated(
        self, partition: int, effects: Effects, asking: Asking, end_offset: int | None = None
    ) -> None:
        """Send the replies that do not wait for replicas, and the others when these have caught up.

        An event without records waits for all records before it. A request without a reply yet, as
        a JoinGroup that waits for other members, is refused if that takes too long.

        See: C-72.
        """
        offset = self.waits.offset_to_reach(partition, end_offset)
        if offset is None:
            _answer_all(effects)
            return
        waiting: list[Reply] = []
        for token, response in effects.replies:
            if token in effects.prompt or _is_refusal(response):
                _answer(token, response)
            else:
                waiting.append((token, response))
        if waiting or (asking is not None and not asking.done()):
            tell = partial(_end_wait, waiting, asking)
            self.waits.add(partition, offset, self._write_timeout_ms, tell)

    async def replicated(self, partitions: Collection[int]) -> dict[int, BrokerError]:
        """Wait until all records that partitions have now are replicated.

        Returns:
            The partitions where that took too long, or that another broker leads by now.

        See: C-72.
        """
        return await self.waits.written(partitions, self._write_timeout_ms)

    def settle_all(self, several: "GroupEffects") -> set[str]:
        """Write the records of an event that changed several groups, and send its replies.

        If a partition could not be written, it was loaded again from the log. So the event's
        changes of other groups in that partition are lost, too.

        Returns:
            The groups with records that were not written.
        """
        failed: set[int] = set()
        unwritten = set()
        for group_id, effects in several:
            partition = self.topic.partition_of(group_id)
            if partition in failed:
                for token, _ in effects.replies:
                    _refuse(token, NotCoordinator())
            elif self.settle(partition, effects):
                continue
            failed.add(partition)
            unwritten.add(group_id)
        return unwritten

    def _append(self, partition: int, effects: Effects) -> None:
        if effects.notes:
            self.history.add(self._clock.now_ms(), effects.notes)
        if effects.share_starts and self.put_share_starts is not None:
            try:
                self.put_share_starts(effects.share_starts)
            except BrokerError as error:  # the client may ask again
                raise NotCoordinator(error.message or error.code.name) from error
        if effects.records:
            now_ms = self._clock.steady_ms()
            self.topic.append(partition, effects.records, now_ms=now_ms, producer=effects.producer)

    def _on_failed_append(self, partition: int, effects: Effects, error: BrokerError) -> None:
        cause = cause_of(error)
        reason = cause if cause is not error else error.message or error.code.name
        logger.error("group state not written partition=%d reason=%s", partition, reason)
        is_lost = isinstance(error, (KafkaStorageError, NotCoordinator))
        refusal = NotCoordinator if is_lost else UnknownServerError
        for token, _ in effects.replies:
            _refuse(token, refusal())
        self.reload(partition)

    def reload(self, partition: int) -> None:
        """Drop a partition's state in memory, and load it from the log now or later."""
        self.forget(partition)
        if self.topic.leader(partition) == NO_LEADER:
            return
        self._pause(partition)
        if self._may_load(partition):
            self.load(partition)
        else:
            self.unloaded.add(partition)

    def _may_load(self, partition: int) -> bool:
        return self._clock.monotonic_ms() >= self._not_before_ms.get(partition, 0)

    def _pause(self, partition: int) -> None:
        """Delay the next read of a partition if reading it takes long."""
        load_ms = self._load_ms.get(partition, 0)
        if load_ms > _LOAD_MS_AT_ONCE:
            pause_ms = load_ms * _PAUSE_PER_LOAD
            self._not_before_ms[partition] = self._clock.monotonic_ms() + pause_ms

    def forget_all(self) -> None:
        """Forget all groups, because the topic of the log was deleted."""
        self.unloaded.clear()
        self._load_ms.clear()
        self._not_before_ms.clear()
        self._refuse_unflushed([*self._unflushed])
        for token, response in self._get_coordinator().replay.unload_all():
            _answer(token, response)
        self.waits.fail_all()

    def forget(self, *partitions: int) -> None:
        """Drop the groups of partitions from memory; their open requests get a retriable error."""
        for token, response in self._get_coordinator().replay.unload(*partitions):
            _answer(token, response)

    def hand_over(self, partitions: Collection[int]) -> None:
        """Drop the state of partitions whose leader changed; nothing that waits for them waits on.

        Rule: C-63 (CoordinatorRuntime.CoordinatorContext.unload).
        """
        self.unloaded.difference_update(partitions)
        self._refuse_unflushed(partitions)
        self.forget(*partitions)
        self.waits.fail(partitions)

    def _refuse_unflushed(self, partitions: Collection[int]) -> None:
        """Answer the requests whose records in partitions wait for a flush."""
        for partition in partitions:
            for effects in self._unflushed.pop(partition, ()):
                for token, _ in effects.replies:
                    _refuse(token, NotCoordinator())

    def load(self, partition: int) -> None:
        """Load a partition with no state in memory; if that fails, it is added to `unloaded`."""
        self.unloaded.discard(partition)
        coordinator = self._get_coordinator()
        started_ms = self._clock.unfrozen_ms()
        is_loaded = False
        try:
            self._replay(partition)
            for _, effects in coordinator.replay.loaded(partition, self._clock.steady_ms()):
                self._append(partition, effects)
            is_loaded = True
        except (BrokerError, DecodeError) as error:
            logger.error("groups not loaded partition=%d reason=%s", partition, error)
        self._load_ms[partition] = self._clock.unfrozen_ms() - started_ms
        if not is_loaded:
            self.forget(partition)
            self.unloaded.add(partition)
            self._pause(partition)
        self._alarm.due_at(coordinator.timers.next_deadline_ms())

    def _replay(self, partition: int) -> None:
        """Replay the records that compaction would keep of a partition, in the log's order.

        Records that a later one replaces are not decoded. So a log of many commits for few
        partitions loads in a fraction of the time. Transactional batches are replayed unchanged.
        """
        newest: dict[bytes, bytes | None] = {}
        for batch in self.topic.replay_partition(partition):
            if not batch.is_transactional:
                for key, value in batch.records:
                    newest.pop(key, None)
                    newest[key] = value
                continue
            self._replay_newest(partition, newest)
            if batch.marker is not None:
                self._get_coordinator().registry.offsets.complete(
                    partition, batch.producer_id, committed=batch.marker.is_commit
                )
            else:
                self._get_coordinator().replay.batch(partition, batch.producer_id, batch.records)
        self._replay_newest(partition, newest)

    def _replay_newest(self, partition: int, newest: dict[bytes, bytes | None]) -> None:
        self._get_coordinator().replay.batch(partition, NO_PRODUCER_ID, newest.items())
        newest.clear()


def _answer_all(effects: Effects) -> None:
    for token, response in effects.replies:
        _answer(token, response)


def _is_refusal(response: Struct) -> bool:
    """Whether the coordinator refuses a request as a whole; Kafka fails such an event at once.

    A Heartbeat that is told of a rebalance is not refused.
    """
    error_code = getattr(response, "error_code", ErrorCode.NONE)
    return error_code not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def _end_wait(replies: list[Reply], asking: Asking, error: BrokerError | None) -> None:
    """Send the replies of an event whose records are replicated, or refuse its requests."""
    for token, response in replies:
        if error is None:
            _answer(token, response)
        else:
            _refuse(token, error)
    if error is not None and asking is not None:
        _refuse(asking, error)


def _answer(token: object, response: object) -> None:
    assert isinstance(token, asyncio.Future)
    if not token.done():  # it is done (cancelled) if its client has disconnected
        token.set_result(response)


def _refuse(token: object, error: BrokerError) -> None:
    assert isinstance(token, asyncio.Future)
    if not token.done():
        token.set_exception(error)

"""Keeps the states of share partitions in memory equal to their log, `__share_group_state`.

What is older than the last snapshot of every state in a partition of the log is deleted from time
to time, as Kafka does. States that have not changed for long are written once more before that.

What takes long is done in the background: very many states begin or end there, a long log is read
again, and pruned. Nothing is told of a state before that: who asks for a state that is still to
begin has it begin at once, and a partition of the log that is being read is not available.
"""

import logging
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.background import Background
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.effects import NO_START, ShareStart, StateRecord
from broker_lite.coordinator.share_records.state import StateUpdate
from broker_lite.coordinator.share_records.states import (
    ShareKey,
    ShareStates,
    coordinator_key,
)
from broker_lite.errors import BrokerError, CoordinatorNotAvailable
from broker_lite.wire import DecodeError

logger = logging.getLogger("broker_lite.control")

_PRUNED_RECORDS: Final = 20_000
"""So many records of a partition are kept before what is not needed is deleted."""
_AT_A_TIME: Final = 32
"""So many states are written or looked at in one step: 2 ms, or 20 while their logs are new."""
_BEGUN_AT_ONCE: Final = 32
"""So many states begin before the request that asks for them is answered."""
_READ_AT_ONCE: Final = 512
"""A log of so many records and states is read again at once."""


class ShareLog:
    """The log of the states; used by one thread.

    Attributes:
        topic: of the log.
        states: what it says.
        background: runs what takes long.
    """

    def __init__(
        self, topic: StateTopic, states: ShareStates, clock: Clock, background: Background
    ) -> None:
        """Store the parts; nothing is read before load()."""
        self.topic = topic
        self.states = states
        self.background = background
        self._clock = clock
        self._unloaded: set[int] = set()
        # by partition that is being read: the job that does so
        self._loading: dict[int, object] = {}
        # the states that still have to begin or end
        self._later: dict[tuple[str, bytes, int], ShareStart] = {}
        self._is_starting = False
        # by partition that is being pruned: the job that does so
        self._pruning: dict[int, object] = {}
        # by partition: when its log is pruned next
        self._prune_at: dict[int, int] = {}

    def place_of(self, key: ShareKey) -> int:
        """Return the partition of the log that has a share partition's state.

        See: K-22 (ShareCoordinatorService.partitionFor).
        """
        return self.topic.partition_of(coordinator_key(key))

    def check(self, key: ShareKey) -> int:
        """Return the place of a state, which can be read and written.

        Raises:
            CoordinatorNotAvailable: it cannot.
            BrokerError: the state still has to begin or end, and cannot be written.
        """
        place = self.place_of(key)
        if place in self._unloaded:
            self.load(place)
        if place in self._unloaded or place in self._loading:
            raise CoordinatorNotAvailable
        if self.topic.exists and self.topic.leader(place) == NO_LEADER:
            raise CoordinatorNotAvailable
        start = self._later.pop(key, None)
        if start is not None:
            self._start_or_keep([start])
        return place

    # -- writing

    def start(self, starts: Sequence[ShareStart]) -> None:
        """Begin states anew, or end them; most of very many do so in the background.

        If the broker is killed before, a state begins when it is read. A start offset that somebody
        has set is written at once, because nothing else has it.

        Raises:
            BrokerError: some of them may not be written.

        See: K-03.
        """
        now, later = [*starts[:_BEGUN_AT_ONCE]], {}
        for each in starts[_BEGUN_AT_ONCE:]:
            if each.start_offset is None or each.start_offset == NO_START:
                later[each[:3]] = each
            else:
                now.append(each)
        for each in now if self._later else ():
            self._later.pop(each[:3], None)
        self._start_now(now)
        self._later.update(later)
        if self._later and not self._is_starting:
            self._is_starting = True
            self.background.add(self._start_rest())

    def cancel(self, topic_ids: Container[bytes]) -> None:
        """Let no state of topics begin any more: they were deleted."""
        self._later = {key: start for key, start in self._later.items() if key[1] not in topic_ids}

    def _start_rest(self) -> Iterator[None]:
        """Begin or end the states that had to wait; what cannot be written waits on."""
        while self._later:
            some = [*islice(self._later.values(), _AT_A_TIME)]
            for each in some:
                del self._later[each[:3]]
            try:
                self._start_or_keep(some)
            except BrokerError as error:
                logger.error("share states do not begin yet reason=%s", error)
                break
            yield
        self._is_starting = False

    def _start_or_keep(self, starts: Sequence[ShareStart]) -> None:
        """Begin or end states; if they cannot be written, they still have to begin or end.

        Raises:
            BrokerError: some of them may not be written.
        """
        try:
            self._start_now(starts)
        except BrokerError:
            self._later.update((each[:3], each) for each in starts)
            raise

    def _start_now(self, starts: Sequence[ShareStart]) -> None:
        now_ms = self._clock.now_ms()
        places: dict[int, list[ShareStart]] = {}
        for start in starts:
            places.setdefault(self.check(ShareKey(*start[:3])), []).append(start)
        for place, several in places.items():
            self._write(place, partial(self._begin, several, now_ms))

    def _begin(self, starts: Sequence[ShareStart], now_ms: int) -> list[StateRecord]:
        return [self.states.start(each, now_ms) for each in starts]

    def update(self, key: ShareKey, update: StateUpdate, leader_epoch: int) -> None:
        """Change a state.

        Raises:
            BrokerError: the change may not be written.
        """
        now_ms = self._clock.now_ms()
        place = self.check(key)
        self._write(place, lambda: [self.states.update(key, update, leader_epoch, now_ms)])

    def _write(self, place: int, change: Callable[[], list[StateRecord]]) -> None:
        """Change states in memory, and write their records; if that fails, read the log again."""
        records = change()
        try:
            self.topic.append(place, records, now_ms=self._clock.now_ms())
        except BrokerError as error:
            logger.error("share state not written partition=%d reason=%s", place, error)
            self.reload(place)
            raise
        end_offset = self.topic.end_offset(place)
        if end_offset >= self._prune_at.setdefault(place, end_offset + _PRUNED_RECORDS):
            self._prune_at[place] = end_offset + _PRUNED_RECORDS
            job = self._pruning[place] = object()
            self.background.add(self._prune(place, end_offset, job))

    def _prune(self, place: int, end_offset: int, job: object) -> Iterator[None]:
        """Delete the records that are older than the last snapshots of all states of a place.

        Nothing is deleted if the states are read again meanwhile: the log may have been cut, and
        have other records before `end_offset`.

        Rule: K-23 (ShareCoordinatorService.performRecordPruning).
        """
        now_ms = self._clock.now_ms()
        try:
            for keys in self._keys_of(place):
                if self._pruning.get(place) is not job:
                    return
                records = [self.states.snapshot(key, now_ms) for key in keys]
                if records:
                    self.topic.append(place, records, now_ms=now_ms)
                yield
            log = self.topic.loaded_log(place)
            if log is not None and self._pruning.get(place) is job:
                log.delete_records_before(min(end_offset, log.high_watermark))
        except BrokerError as error:
            logger.error("share state not pruned partition=%d reason=%s", place, error)

    def _keys_of(self, place: int) -> Iterator[list[ShareKey]]:
        """Yield the states of a place, some at a time; they may change meanwhile."""
        keys = [*self.states]
        for begin in range(0, len(keys), _AT_A_TIME):
            some = keys[begin : begin + _AT_A_TIME]
            yield [
                each
                for each in some
                if self.place_of(each) == place and self.states.get(each) is not None
            ]

    # -- loading

    def load_all(self) -> None:
        """Load all partitions of the log; one that cannot be read is loaded when it is needed."""
        for place in self.topic.partitions_to_replay():
            self.load(place)

    def load(self, place: int) -> None:
        """Load a partition with no state in memory, if it can be read."""
        self._unloaded.discard(place)
        for _ in self._load(place):
            pass

    def _load(self, place: int) -> Iterator[None]:
        count = 0
        try:
            for batch in self.topic.replay_partition(place):
                for key, value in batch.records:
                    self.states.replay(key, value)
                    count += 1
                    if count % _AT_A_TIME == 0:
                        yield
        except (BrokerError, DecodeError) as error:
            logger.error("share states not loaded partition=%d reason=%s", place, error)
            yield from self._drop(place)
            self._unloaded.add(place)

    def reload(self, place: int) -> None:
        """Drop the states of a partition from memory, and load them again if it has a leader.

        If that takes long, it is done in the background. Until then the states are not available.
        """
        self._unloaded.discard(place)
        self._pruning.pop(place, None)
        self._prune_at.pop(place, None)
        job = self._loading[place] = object()
        steps = self._reload(place, job)
        log = self.topic.loaded_log(place)
        records = 0 if log is None else log.log_end_offset - log.log_start_offset
        if records + len(self.states) > _READ_AT_ONCE:
            self.background.add(steps)
        else:
            for _ in steps:
                pass

    def _reload(self, place: int, job: object) -> Iterator[None]:
        """Drop the states of a partition and load them, unless another job has begun to do so."""
        for _ in self._drop_and_load(place):
            yield
            if self._loading.get(place) is not job:
                return
        if self._loading.get(place) is job:
            del self._loading[place]

    def _drop_and_load(self, place: int) -> Iterator[None]:
        yield from self._drop(place)
        if self.topic.leader(place) != NO_LEADER:
            yield from self._load(place)

    def _drop(self, place: int) -> Iterator[None]:
        for keys in self._keys_of(place):
            self.states.forget(keys)
            yield

    def reload_some(self, places: Collection[int]) -> None:
        """Do as reload() for some partitions, whose leader changed."""
        for place in places:
            self.reload(place)

    def forget_all(self) -> None:
        """Forget all states, because the topic of the log was deleted."""
        self.states.forget(self.states)
        self._unloaded.clear()
        self._loading.clear()
        self._later.clear()
        self._pruning.clear()
        self._prune_at.clear()

"""Keeps the states of share partitions in memory equal to their log, `__share_group_state`.

What is older than the last snapshot of every state in a partition of the log is deleted from time
to time, as Kafka does. States that have not changed for long are written once more before that.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.effects import ShareStart, StateRecord
from broker_lite.coordinator.share_records.state import StateUpdate
from broker_lite.coordinator.share_records.states import (
    KeptState,
    ShareKey,
    ShareStates,
    coordinator_key,
)
from broker_lite.errors import BrokerError, CoordinatorNotAvailable
from broker_lite.wire import DecodeError

logger = logging.getLogger("broker_lite.control")

_PRUNED_RECORDS: Final = 20_000
"""So many records of a partition are kept before what is not needed is deleted."""
_BATCH_RECORDS_MAX: Final = 1000


class ShareLog:
    """The log of the states; used by one thread.

    Attributes:
        topic: of the log.
        states: what it says.
    """

    def __init__(self, topic: StateTopic, states: ShareStates, clock: Clock) -> None:
        """Store the parts; nothing is read before load()."""
        self.topic = topic
        self.states = states
        self._clock = clock
        self._unloaded: set[int] = set()
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
        """
        place = self.place_of(key)
        if place in self._unloaded and not self.load(place):
            raise CoordinatorNotAvailable
        if self.topic.exists and self.topic.leader(place) == NO_LEADER:
            raise CoordinatorNotAvailable
        return place

    # -- writing

    def start(self, starts: Sequence[ShareStart]) -> None:
        """Begin states anew, or end them.

        Raises:
            BrokerError: some of them may not be written.
        """
        now_ms = self._clock.now_ms()
        places: dict[int, list[ShareStart]] = {}
        for start in starts:
            places.setdefault(self.check(ShareKey(*start[:3])), []).append(start)
        for place, several in places.items():
            for begin in range(0, len(several), _BATCH_RECORDS_MAX):
                some = several[begin : begin + _BATCH_RECORDS_MAX]
                self._write(place, partial(self._begin, some, now_ms))

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
            self._prune(place, end_offset)

    def _prune(self, place: int, end_offset: int) -> None:
        """Delete the records that are older than the last snapshots of all states of a place.

        Rule: K-23 (ShareCoordinatorService.performRecordPruning).
        """
        self._prune_at[place] = end_offset + _PRUNED_RECORDS
        now_ms = self._clock.now_ms()
        keys = [key for key, _ in self._states_of(place)]
        try:
            for begin in range(0, len(keys), _BATCH_RECORDS_MAX):
                some = keys[begin : begin + _BATCH_RECORDS_MAX]
                records = [self.states.snapshot(key, now_ms) for key in some]
                self.topic.append(place, records, now_ms=now_ms)
            log = self.topic.loaded_log(place)
            if log is not None:
                log.delete_records_before(min(end_offset, log.high_watermark))
        except BrokerError as error:
            logger.error("share state not pruned partition=%d reason=%s", place, error)

    def _states_of(self, place: int) -> list[tuple[ShareKey, KeptState]]:
        return [pair for pair in self.states.items() if self.place_of(pair[0]) == place]

    # -- loading

    def load_all(self) -> None:
        """Load all partitions of the log; one that cannot be read is loaded when it is needed."""
        for place in self.topic.partitions_to_replay():
            self.load(place)

    def load(self, place: int) -> bool:
        """Load a partition with no state in memory; return whether it could be read."""
        self._unloaded.discard(place)
        try:
            for batch in self.topic.replay_partition(place):
                for key, value in batch.records:
                    self.states.replay(key, value)
        except (BrokerError, DecodeError) as error:
            logger.error("share states not loaded partition=%d reason=%s", place, error)
            self._forget(place)
            self._unloaded.add(place)
        return place not in self._unloaded

    def reload(self, place: int) -> None:
        """Drop the states of a partition from memory, and load them again if it has a leader."""
        self._forget(place)
        if self.topic.leader(place) != NO_LEADER:
            self.load(place)

    def _forget(self, place: int) -> None:
        self.states.forget(key for key, _ in self._states_of(place))
        self._unloaded.discard(place)
        self._prune_at.pop(place, None)

    def reload_some(self, places: Collection[int]) -> None:
        """Do as reload() for some partitions, whose leader changed."""
        for place in places:
            self.reload(place)

    def forget_all(self) -> None:
        """Forget all states, because the topic of the log was deleted."""
        self.states.forget(self.states)
        self._unloaded.clear()
        self._prune_at.clear()

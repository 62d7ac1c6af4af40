"""Keeps the states of share partitions in memory equal to their log, `__share_group_state`.

What takes long is done in the background: very many states begin or end there, and a long log is
read again. Nothing is told of a state before that: who asks for a state that is still to begin has
it begin at once, and a partition of the log that is being read is not available.

States whose topics do not exist any more end when they are read: the topic may have been deleted
while they could not be written.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.background import Background
from broker_lite.control.coordinators.share_pruning import SharePruning
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.effects import NO_START, ShareStart, StateRecord
from broker_lite.coordinator.share_records.held_states import HeldStates
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

_AT_A_TIME: Final = 32
"""So many states are written or looked at in one step: 2 ms, or 20 while their logs are new."""
_LOOKED_AT: Final = 2048
"""So many states are looked at in one step: less than a millisecond."""
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
        held: see KeepsStates: none.
    """

    held: Final[Collection[ShareKey]] = ()

    def __init__(
        self,
        topic: StateTopic,
        updates_max: int,
        clock: Clock,
        background: Background,
        has_topic: Callable[[bytes], bool],
        held: HeldStates,
    ) -> None:
        """Store the parts; nothing is read before load_all().

        Args:
            topic: of the log.
            updates_max: how many updates of a state may follow its snapshot.
            clock: of the process.
            background: runs what takes long.
            has_topic: returns whether there is a topic of an id.
            held: counts what is kept.
        """
        self.topic = topic
        self.states = ShareStates(updates_max, self.place_of, held)
        self.background = background
        self._clock = clock
        self._has_topic = has_topic
        self._pruning = SharePruning(topic, self.states, clock, background)
        self._unloaded: set[int] = set()
        # by partition that is being read: the job that does so
        self._loading: dict[int, object] = {}
        # the states that still have to begin or end
        self._later: dict[ShareKey, ShareStart] = {}
        # those of them that the job in the background has not looked at yet; None without a job
        self._rest: deque[ShareKey] | None = None
        # Partitions whose states that had to wait could not be written. They are read again then,
        # and what waits would fail again at once if it went on after that.
        self._stuck: set[int] = set()

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
        if not self._open(place):
            raise CoordinatorNotAvailable
        start = self._later.pop(key, None)
        if start is not None:
            self._start_or_keep({place: [start]})
        return place

    def _open(self, place: int) -> bool:
        """Load a partition if it could not be read before; return whether it is available."""
        if place in self._unloaded:
            self.load(place)
        return self._is_available(place)

    def _is_available(self, place: int) -> bool:
        """Return whether the states of a partition can be read and written."""
        if place in self._unloaded or place in self._loading:
            return False
        return not self.topic.exists or self.topic.leader(place) != NO_LEADER

    def get(self, key: ShareKey) -> KeptState | None:
        """See KeepsStates."""
        return self.states.get(key)

    def start_and_complete(self, key: ShareKey) -> tuple[int, int, int] | None:
        """Return start, number of records that are done behind it, and leader epoch, as kept."""
        state = self.states.get(key)
        if state is None:
            return None
        return state.start_offset, max(state.complete_count, 0), state.leader_epoch

    def forget(self, key: ShareKey) -> None:
        """See KeepsStates: here the states do not grow old."""

    def may_have(self, keys: Sequence[ShareKey]) -> Sequence[ShareKey]:
        """Return those that may have a state; of none is that known while some cannot be read."""
        if self._unloaded or self._loading:
            return keys
        return [key for key in keys if self.states.get(key) is not None]

    # -- writing

    def start(self, starts: Sequence[ShareStart]) -> None:
        """Begin states anew, or end them; most of very many do so in the background.

        Those that are not available now do so later. If the broker is killed before, a state begins
        when it is read. A start offset that somebody has set is written at once, because nothing
        else has it.

        Raises:
            CoordinatorNotAvailable: a start offset cannot be written; nothing was.
            BrokerError: some of them may not be written.

        See: K-03.
        """
        now, later = [*starts[:_BEGUN_AT_ONCE]], list[ShareStart]()
        for each in starts[_BEGUN_AT_ONCE:]:
            (later if _may_wait(each) else now).append(each)
        places, unavailable = self._by_place(now, self._open)
        if not all(map(_may_wait, unavailable)):
            raise CoordinatorNotAvailable
        for each in now if self._later else ():
            self._later.pop(ShareKey(*each[:3]), None)
        self._start_places(places)
        self._start_later([*unavailable, *later])

    def end(self, keys: Iterable[ShareKey]) -> None:
        """End states in the background."""
        self._start_later([ShareStart(*key, None, 0) for key in keys])

    def end_topics(
        self, topic_ids: Container[bytes], end: Callable[[Sequence[ShareStart]], object]
    ) -> None:
        """End the states of topics that were deleted, very many of them in the background.

        None of their states begins any more.

        Args:
            topic_ids: of the topics.
            end: ends some states; it calls start().
        """
        self._later = {key: start for key, start in self._later.items() if key[1] not in topic_ids}
        steps = self._end_topics(topic_ids, end)
        for _ in steps:
            self.background.add(steps)
            break

    def _end_topics(
        self, topic_ids: Container[bytes], end: Callable[[Sequence[ShareStart]], object]
    ) -> Iterator[None]:
        ended: list[ShareKey] = []
        for number, key in enumerate([*self.states], 1):
            if key.topic_id in topic_ids and self.states.get(key) is not None:
                ended.append(key)
            if len(ended) == _AT_A_TIME or number % _LOOKED_AT == 0:
                self._end_now(ended, end)
                ended = []
                yield
        self._end_now(ended, end)

    def _end_now(
        self, keys: Sequence[ShareKey], end: Callable[[Sequence[ShareStart]], object]
    ) -> None:
        try:
            end([ShareStart(*key, None, 0) for key in keys])
        except BrokerError as error:
            logger.error("share states of deleted topics end later reason=%s", error)
            self.end(keys)

    def _start_later(self, starts: Sequence[ShareStart]) -> None:
        """Begin or end states in the background, and those that had to wait before."""
        added = {ShareKey(*each[:3]): each for each in starts}
        self._later.update(added)
        if self._rest is not None:
            self._rest += added
        elif self._later:
            self._rest = deque(self._later)
            self.background.add(self._start_rest(self._rest))

    def _start_rest(self, rest: "deque[ShareKey]") -> Iterator[None]:
        """Begin or end the states that had to wait; what cannot be written waits on."""
        while rest:
            keys = [rest.popleft() for _ in range(min(len(rest), _AT_A_TIME))]
            some = {key: self._later.pop(key) for key in keys if key in self._later}
            places, unavailable = self._by_place([*some.values()], self._is_available)
            self._later.update((ShareKey(*each[:3]), each) for each in unavailable)
            self._stuck.update(places)
            try:
                self._start_or_keep(places)
            except BrokerError as error:
                logger.error("share states do not begin yet reason=%s", error)
                break
            yield
        if self._rest is rest:
            self._rest = None

    def _by_place(
        self, starts: Sequence[ShareStart], is_available: Callable[[int], bool]
    ) -> tuple[dict[int, list[ShareStart]], list[ShareStart]]:
        """Return starts by the partition of the log, and those whose partition is unavailable."""
        every: dict[int, list[ShareStart]] = {}
        for start in starts:
            every.setdefault(self.place_of(ShareKey(*start[:3])), []).append(start)
        places = {place: several for place, several in every.items() if is_available(place)}
        others = [several for place, several in every.items() if place not in places]
        return places, [each for several in others for each in several]

    def _start_or_keep(self, places: dict[int, list[ShareStart]]) -> None:
        """Begin or end states; if they cannot be written, they still have to begin or end.

        Raises:
            BrokerError: some of them may not be written.
        """
        waiting = dict(places)
        try:
            for place, starts in places.items():
                self._start_places({place: starts})
                del waiting[place]
        except BrokerError:
            for starts in waiting.values():
                self._later.update((ShareKey(*each[:3]), each) for each in starts)
            raise

    def _start_places(self, places: dict[int, list[ShareStart]]) -> None:
        now_ms = self._clock.now_ms()
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
        self._stuck.discard(place)
        self._pruning.on_append(place)

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
        self._go_on(place)

    def _go_on(self, place: int) -> None:
        """End the states of topics that do not exist, and go on with those that had to wait.

        See: K-04.
        """
        if place in self._unloaded or place in self._stuck:
            return
        self.end(key for key in self.states.keys_of(place) if not self._has_topic(key.topic_id))

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
        else:
            self.states.end_replay(place)

    def reload(self, place: int) -> None:
        """Drop the states of a partition from memory, and load them again if it has a leader.

        If that takes long, it is done in the background. Until then the states are not available.
        """
        self._unloaded.discard(place)
        self._pruning.cancel(place)
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
            self._go_on(place)

    def _drop_and_load(self, place: int) -> Iterator[None]:
        yield from self._drop(place)
        if self.topic.leader(place) != NO_LEADER:
            yield from self._load(place)

    def _drop(self, place: int) -> Iterator[None]:
        keys = self.states.keys_of(place)
        for begin in range(0, len(keys), _AT_A_TIME):
            self.states.forget(keys[begin : begin + _AT_A_TIME])
            yield

    def reload_some(self, places: Collection[int]) -> None:
        """Do as reload() for some partitions, whose leader changed."""
        self._stuck.difference_update(places)
        for place in places:
            self.reload(place)

    def forget_all(self) -> None:
        """Forget all states, because the topic of the log was deleted."""
        self.states.forget_all()
        self._unloaded.clear()
        self._loading.clear()
        self._later.clear()
        self._stuck.clear()
        self._pruning.cancel_all()


def _may_wait(start: ShareStart) -> bool:
    """Return whether a state may begin or end later: nothing is lost if it never does so."""
    return start.start_offset is None or start.start_offset == NO_START

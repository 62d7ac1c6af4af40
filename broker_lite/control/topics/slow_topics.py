"""Slow networks between the topics of a broker and their clients, for load tests.

A topic with such a network has a way in and a way out, which all of its clients share. A way is
busy with one request or answer at a time, for as long as its bytes take; the others wait in the
order in which they came. Who leaves meanwhile makes room for the next one. Nobody waits for a topic
without such a network.

The time is the machine's, as with the network of a connection (P-17).

A difference to Kafka: `broker.lite.load.rtt.ms`, `.in.byte.rate` and `.out.byte.rate` let a topic
be as slow as over a network. Kafka has only quotas of clients, which tell them that they are
throttled.

Rule: P-18.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import anyio

from broker_lite.settings import TopicConfig

# A timer that comes late is made up for, up to so much.
_LATE_S_MAX: Final = 0.01
# Bytes that take less time share a timer.
_TIMER_S_MIN: Final = 0.001
WAYS_MAX: Final = 100
"""A request waits for so many ways at the same time, those on which its bytes take longest."""


class Way:
    """One direction of a topic's network; used by the event loop.

    Attributes:
        bytes_per_s: how much it carries; 0 for no limit.
        waiting: for how many clients it carries bytes, or is to.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin without a limit.

        Args:
            now_s: the machine's time.
        """
        self.bytes_per_s = 0
        self.waiting = 0
        self._now_s = now_s
        self._free_at_s = 0.0
        self._turn = asyncio.Lock()
        self._changed: anyio.Event | None = None

    def set_rate(self, bytes_per_s: int) -> None:
        """Have another rate from now on, also for the bytes that are on their way; 0 for none."""
        if bytes_per_s != self.bytes_per_s:
            self.bytes_per_s = bytes_per_s
            if self._changed is not None:
                self._changed.set()

    async def carry(self, size_bytes: int) -> None:
        """Wait until it is the turn of some bytes, and for as long as they take."""
        if not self.bytes_per_s:
            return
        self.waiting += 1
        try:
            await self._carry_in_turn(size_bytes)
        finally:
            self.waiting -= 1

    async def _carry_in_turn(self, size_bytes: int) -> None:
        async with self._turn:
            begin_s = max(self._free_at_s, self._now_s() - _LATE_S_MAX)
            left_bytes = float(size_bytes)
            while rate := self.bytes_per_s:
                end_s = begin_s + left_bytes / rate
                self._free_at_s = begin_s  # for the next one, should this one leave
                pause_s = end_s - self._now_s()
                if pause_s > _TIMER_S_MIN:
                    self._changed = anyio.Event()
                    with anyio.move_on_after(pause_s):
                        await self._changed.wait()
                now_s = self._now_s()
                if end_s - now_s <= _TIMER_S_MIN:
                    self._free_at_s = end_s
                    return
                left_bytes -= max(now_s - begin_s, 0.0) * rate
                begin_s = max(now_s, begin_s)

    def seconds(self, size_bytes: int) -> float:
        """Return how long some bytes take without those that come before them."""
        return size_bytes / self.bytes_per_s if self.bytes_per_s else 0.0

    def take(self, size_bytes: int) -> None:
        """Let the next ones wait for some more bytes, which nobody has waited for."""
        if self.bytes_per_s:
            begin_s = max(self._free_at_s, self._now_s())
            self._free_at_s = begin_s + size_bytes / self.bytes_per_s


class Passage(NamedTuple):
    """What a request, or its answer, brings over the networks of slow topics.

    Attributes:
        loads: the ways that it takes at the same time, with how many bytes each carries.
        rtt_s: the longest of the round trip times.
    """

    loads: Sequence[tuple[Way, int]]
    rtt_s: float

    async def carry(self) -> None:
        """Wait until the ways have carried their bytes, of very many those that take longest.

        So a request of thousands of slow topics does not start, and end, a task for each at once.
        """
        loads = self.loads
        if len(loads) == 1:
            ((way, size_bytes),) = loads
            await way.carry(size_bytes)
            return
        if len(loads) > WAYS_MAX:
            loads = sorted(loads, key=lambda load: load[0].seconds(load[1]), reverse=True)
        async with anyio.create_task_group() as group:
            for way, size_bytes in loads[:WAYS_MAX]:
                group.start_soon(way.carry, size_bytes)
            for way, size_bytes in loads[WAYS_MAX:]:
                way.take(size_bytes)


class SlowTopic:
    """The network of one topic.

    Attributes:
        way_in: of its producers.
        way_out: of its consumers.
        rtt_s: the round trip time.
    """

    def __init__(self) -> None:
        """Begin with a fast one."""
        self.way_in = Way()
        self.way_out = Way()
        self.rtt_s = 0.0

    def set(self, config: TopicConfig) -> bool:
        """Be as the topic's settings say; return whether that is slow."""
        self.way_in.set_rate(config.broker_lite_load_in_byte_rate)
        self.way_out.set_rate(config.broker_lite_load_out_byte_rate)
        self.rtt_s = config.broker_lite_load_rtt_ms / 1000
        return bool(self.way_in.bytes_per_s or self.way_out.bytes_per_s or self.rtt_s)


class SlowTopics(dict[str, SlowTopic]):
    """The slow topics by their names; empty for nearly all brokers."""

    def follow(self, name: str, config: TopicConfig) -> None:
        """Let a topic be as its settings say; who waits goes on by the new ones."""
        slow = self.get(name) or SlowTopic()
        if slow.set(config):
            self[name] = slow
        else:
            self.pop(name, None)

    def passage_in(self, sizes: Mapping[str, int]) -> Passage | None:
        """Return the passage of records that a request brings to topics; None if none is slow."""
        return self._passage(sizes, lambda slow: slow.way_in)

    def passage_out(self, sizes: Mapping[str, int]) -> Passage | None:
        """Return the passage of records that an answer has of topics; None if none is slow."""
        return self._passage(sizes, lambda slow: slow.way_out)

    def _passage(
        self, sizes: Mapping[str, int], way_of: Callable[[SlowTopic], Way]
    ) -> Passage | None:
        found = [(self[name], size_bytes) for name, size_bytes in sizes.items() if name in self]
        if not found:
            return None
        loads = [(way_of(slow), size_bytes) for slow, size_bytes in found]
        return Passage(loads, max(slow.rtt_s for slow, _ in found))

    def forget(self, name: str) -> None:
        """Let nobody wait for a topic that is deleted."""
        slow = self.pop(name, None)
        if slow is not None:
            for way in (slow.way_in, slow.way_out):
                way.set_rate(0)

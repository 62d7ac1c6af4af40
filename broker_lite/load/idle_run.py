"""Runs idle connections: opens them at a rate, and lets each ask when its turn comes.

One thread, one epoll over all sockets. It wakes up to 1 ms after a due time, which counts in the
latencies. A connection that is lost is counted, and not opened again.
"""

from __future__ import annotations

import heapq
import select
import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from broker_lite.client import Connection
from broker_lite.client.broker_connection import ApiVersion
from broker_lite.errors import ClientError
from broker_lite.load.cluster import Cluster, View
from broker_lite.load.idle import IdleLane, IdleWork
from broker_lite.load.lane import ENDS, NOT_OPENED
from broker_lite.load.link import Link
from broker_lite.load.recorder import NS_PER_MS, NS_PER_S, Recorder
from broker_lite.load.schedule import Schedule

IDLE_CONNECTIONS_MAX: Final = 100_000
_OPENERS: Final = 32
"""Threads that open connections, because logging in blocks."""
_BUFFER_BYTES: Final = 4 << 10
_CHECK_NS: Final = 20 * NS_PER_MS
_CHECK_AGES_NS: Final = NS_PER_S
_DRAIN_NS: Final = 5 * NS_PER_S
_OPEN_WAIT_S: Final = 0.1
_LOST: Final = tuple(ENDS)


class _Opened(NamedTuple):
    """A connection, or why there is none."""

    number: int
    due_ns: int
    done_ns: int
    result: Connection | ClientError


class IdleRun:
    """Many connections for some time.

    Attributes:
        open_at_end: how many were still there at the end.
    """

    def __init__(
        self,
        cluster: Cluster,
        work: IdleWork,
        *,
        connections: int,
        opening: Schedule,
        connects: Recorder,
        clock: Callable[[], int],
    ) -> None:
        """Connect to nothing yet.

        Args:
            cluster: with the topic.
            work: what is asked.
            connections: how many to open.
            opening: when each is due to be opened.
            connects: gets how long each took, from when it was due.
            clock: nanoseconds that only grow.
        """
        self._cluster = cluster
        self._work = work
        self._wanted = connections
        self._opening = opening
        self._connects = connects
        self._clock = clock
        self._links: dict[int, Link] = {}
        self._turns: list[tuple[int, int]] = []  # a heap: when the next request is due, and of whom
        self._epoll = select.epoll()
        self._view = View({}, 0, {}, {})
        self._partitions = [0]
        self._versions: Mapping[int, ApiVersion] = {}
        self._opened: SimpleQueue[_Opened] = SimpleQueue()
        self._by_descriptor: dict[int, int] = {}
        self._is_told_to_stop = False
        self.open_at_end = 0

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(link.is_open for link in self._links.values())

    @property
    def partitions(self) -> int:
        """How many partitions have a leader."""
        return len(self._view.leaders)

    def stop(self) -> None:
        """End the run as soon as possible."""
        self._is_told_to_stop = True

    def open(self) -> None:
        """Open all connections.

        Raises:
            ClientError: none of them can be opened.
        """
        self._view = self._cluster.look()
        self._partitions = list(self._view.leaders) or self._partitions
        self._opening.begin(self._clock())
        openers = min(_OPENERS, self._wanted)
        for first in range(openers):
            numbers = range(first, self._wanted, openers)
            threading.Thread(target=self._open_some, args=(numbers,), daemon=True).start()
        left, first_error = self._wanted, None
        while left and not self._is_told_to_stop:
            try:
                opened = self._opened.get(timeout=_OPEN_WAIT_S)
            except Empty:
                continue
            left -= 1
            error = self._take_opened(opened)
            first_error = first_error or error
        if first_error is not None and not self._links:
            raise first_error

    def run(self, seconds: float, *, start_ns: int | None = None) -> None:
        """Let the connections ask for so long, or until stop()."""
        now_ns = self._clock()
        start_ns = now_ns if start_ns is None else start_ns
        end_ns = start_ns + int(seconds * NS_PER_S)
        recorders = (self._work.metadata, self._work.fetches)
        for recorder in recorders:
            recorder.begin(start_ns)
        for index, (number, link) in enumerate(self._links.items()):
            self._lane_of(link).begin(start_ns, index / len(self._links))
            heapq.heappush(self._turns, (link.next_due_ns() or start_ns, number))
        check_ns = start_ns
        while now_ns < end_ns and not self._is_told_to_stop:
            self._pump(now_ns)
            self._wait(min(end_ns, now_ns + _CHECK_NS))
            now_ns = self._clock()
            for recorder in recorders:
                recorder.tick(now_ns)
            if now_ns >= check_ns:
                check_ns = now_ns + _CHECK_AGES_NS
                self._check_ages(now_ns)
        if not self._is_told_to_stop:
            self._pump(end_ns - 1)  # what was due before the end, and not yet noticed
        for recorder in recorders:
            recorder.finish(max(min(now_ns, end_ns), start_ns))
        while now_ns < end_ns + _DRAIN_NS and not self._is_told_to_stop and self._is_awaited:
            self._wait(now_ns + _CHECK_NS)
            now_ns = self._clock()
        self._end(now_ns)

    # -- connections

    def _open_some(self, numbers: range) -> None:
        """Open connections one after the other, in a thread of its own."""
        for number in numbers:
            due_ns = self._opening.due_ns(number)
            while (wait_ns := due_ns - self._clock()) > 0 and not self._is_told_to_stop:
                time.sleep(min(wait_ns / NS_PER_S, _OPEN_WAIT_S))
            if self._is_told_to_stop:
                return
            due_ns = due_ns or self._clock()
            node_id = self._node_of(number)
            result: Connection | ClientError
            try:
                result = self._cluster.open(node_id, self._view.addresses.get(node_id))
            except ClientError as error:
                result = error
            self._opened.put(_Opened(number, due_ns, self._clock(), result))

    def _node_of(self, number: int) -> int:
        """Return the leader of the partition of a connection, or any broker if there is none."""
        node_id = self._view.leaders.get(self._partition_of(number))
        return next(iter(self._view.addresses), -1) if node_id is None else node_id

    def _partition_of(self, number: int) -> int:
        """Return the partition of a connection; connections have them in turns."""
        return self._partitions[number % len(self._partitions)]

    def _take_opened(self, opened: _Opened) -> ClientError | None:
        """Keep a connection, or count why there is none."""
        if isinstance(opened.result, ClientError):
            self._count_error(NOT_OPENED, opened.result)
            return opened.result
        connection = opened.result
        if self._is_told_to_stop:
            connection.close()
            return None
        lane = IdleLane(self._work, self._partition_of(opened.number))
        link = Link(lane, in_flight_max=1, clock=self._clock, idle_bytes=_BUFFER_BYTES)
        if connection.versions == self._versions:
            connection.versions = self._versions  # 10 KB less for each
        self._versions = connection.versions
        try:
            link.attach(connection)
        except ClientError as error:
            connection.close()
            self._count_error(NOT_OPENED, error)
            return error
        self._connects.open_for(opened.done_ns - opened.due_ns)
        self._links[opened.number] = link
        self._by_descriptor[link.fileno()] = opened.number
        self._epoll.register(link.fileno(), select.EPOLLIN)
        return None

    def _lose(self, number: int, error: ClientError) -> None:
        link = self._links[number]
        self._count_error(ENDS[type(error)], error)
        del self._by_descriptor[link.fileno()]
        link.detach(self._clock())

    def _count_error(self, name: str, error: ClientError) -> None:
        self._work.metadata.error(name, str(error))

    # -- one turn of the loop

    def _pump(self, now_ns: int) -> None:
        """Send what is due; a connection that waits for an answer has its turn after that."""
        while self._turns and self._turns[0][0] <= now_ns:
            _, number = heapq.heappop(self._turns)
            link = self._links[number]
            if not link.is_open:
                continue
            try:
                link.pump(now_ns)
            except _LOST as error:
                self._lose(number, error)
                continue
            if link.wants_to_write:
                self._epoll.modify(link.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def _wait(self, until_ns: int) -> None:
        """Wait for what happens next, and read what has arrived."""
        if self._turns:
            until_ns = min(until_ns, self._turns[0][0])
        wait_s = max(until_ns - self._clock(), 0) / NS_PER_S
        for descriptor, events in self._epoll.poll(wait_s):
            number = self._by_descriptor.get(descriptor)
            if number is None:
                continue
            link = self._links[number]
            try:
                if events & select.EPOLLOUT:
                    link.flush()
                    if not link.wants_to_write:
                        self._epoll.modify(descriptor, select.EPOLLIN)
                was_busy = bool(link.in_flight)
                link.receive()
            except _LOST as error:
                self._lose(number, error)
                continue
            if was_busy and not link.in_flight:
                heapq.heappush(self._turns, (link.next_due_ns() or 0, number))

    def _check_ages(self, now_ns: int) -> None:
        timeout_ns = int(self._cluster.timeout_s * NS_PER_S)
        for number, link in self._links.items():
            try:
                link.check_age(now_ns, timeout_ns)
            except _LOST as error:
                self._lose(number, error)

    @property
    def _is_awaited(self) -> bool:
        return any(link.in_flight for link in self._links.values())

    def _end(self, now_ns: int) -> None:
        self.open_at_end = self.connections
        for link in self._links.values():
            for request in link.in_flight:
                recorder = self._lane_of(link).recorder_of(request)
                recorder.unanswered += 1
                recorder.open_for(now_ns - request.due_ns)
            if link.is_open:
                self._lane_of(link).end(self._work.metadata.measured.ended_ns)
            link.close()
        self._epoll.close()

    def _lane_of(self, link: Link) -> IdleLane:
        assert isinstance(link.lane, IdleLane)
        return link.lane

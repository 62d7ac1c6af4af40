"""Runs a load: one thread, one loop over the sockets of all connections.

It waits by select(), because that wakes up within 0.1 ms of a due time; epoll and poll count in
whole milliseconds. A connection that fails is opened again after a pause that doubles. Leaders are
asked for again when a broker says that it is none, or when a connection fails.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from broker_lite.client import Address, Connection
from broker_lite.errors import ClientError
from broker_lite.load.cluster import Cluster, View
from broker_lite.load.jobs import Jobs
from broker_lite.load.lane import ENDS, NOT_OPENED, Work
from broker_lite.load.link import Link
from broker_lite.load.recorder import NS_PER_MS, NS_PER_S, Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.load.spread import Share, spread

CONNECTIONS_MAX: Final = 500
"""What select() can watch, with room for other descriptors of the process."""

_CHECK_NS: Final = 20 * NS_PER_MS
_DRAIN_NS: Final = 5 * NS_PER_S
_OPEN_WAIT_S: Final = 0.1
_PAUSE_NS: Final = 50 * NS_PER_MS
_PAUSE_NS_MAX: Final = NS_PER_S
_LOOK_EVERY_NS: Final = 100 * NS_PER_MS
_LOST: Final = tuple(ENDS)


class _Place:
    """A link with the broker that it belongs to.

    Attributes:
        node_id: the leader of its partitions; None without partitions.
        is_opening: whether a job opens its connection.
        reopen_ns: when to try again.
        pause_ns: how long the next pause is.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.node_id: int | None = None
        self.is_opening = False
        self.reopen_ns = 0
        self.pause_ns = _PAUSE_NS


class Load:
    """A work with its connections.

    Attributes:
        work: what is sent.
        places: the connections.
    """

    def __init__(self, work: Work, *, connections: int, in_flight: int) -> None:
        """Connect to nothing yet.

        Args:
            work: what is sent.
            connections: how many are wanted.
            in_flight: unanswered requests of a connection.
        """
        self.work = work
        self.places: list[_Place] = []
        self._connections = connections
        self._in_flight = in_flight

    def place(self, leaders: Mapping[int, int], clock: Callable[[], int]) -> None:
        """Give the partitions to connections to their leaders."""
        shares = spread(leaders, self._connections)
        while len(self.places) < len(shares):
            link = Link(self.work.make_lane(), in_flight_max=self._in_flight, clock=clock)
            self.places.append(_Place(link))
        for place, share in zip(self.places, self._placed(shares), strict=True):
            node_id = share.node_id if share else None
            if place.node_id != node_id:
                place.node_id = node_id
                place.reopen_ns = 0
                place.link.is_draining = True

    def _placed(self, shares: Sequence[Share]) -> Sequence[Share | None]:
        """Return the share of each place; connections to brokers that still lead are kept."""
        left = list(shares)
        placed: list[Share | None] = []
        for place in self.places:
            kept = next((share for share in left if share.node_id == place.node_id), None)
            placed.append(kept)
            if kept is not None:
                left.remove(kept)
        placed = [share or (left.pop() if left else None) for share in placed]
        self.work.assign([share.partitions if share else () for share in placed])
        return placed


class Run:
    """One run of one or several loads."""

    def __init__(
        self,
        cluster: Cluster,
        loads: Sequence[Load],
        *,
        schedule: Schedule,
        recorders: Sequence[Recorder],
        clock: Callable[[], int],
    ) -> None:
        """Connect to nothing yet.

        Args:
            cluster: with the topic.
            loads: what is sent.
            schedule: begins when all connections are open.
            recorders: all that count; the first one has the errors of connections.
            clock: nanoseconds that only grow.
        """
        self._cluster = cluster
        self._loads = loads
        self._schedule = schedule
        self._recorders = recorders
        self._recorder = recorders[0]
        self._clock = clock
        self._jobs = Jobs()
        self._places: list[_Place] = []  # of all loads
        self._leaders: Mapping[int, int] = {}
        self._addresses: Mapping[int, Address] = {}
        self._is_looking = False
        self._look_ns = 0
        self._check_ns = 0
        self._is_told_to_stop = False
        self._is_over = False
        self._first_error: ClientError | None = None

    @property
    def connections(self) -> int:
        """How many connections have partitions."""
        return sum(place.node_id is not None for place in self._places)

    @property
    def partitions(self) -> int:
        """How many partitions have a leader."""
        return len(self._leaders)

    def stop(self) -> None:
        """End the run as soon as possible; a handler of a signal may call it, also before run()."""
        self._is_told_to_stop = True

    def open(self) -> None:
        """Open all connections.

        Raises:
            ClientError: none of them can be opened.
        """
        self._take_view(self._cluster.look(self._missing()))
        self._reopen(self._clock())
        while self._jobs.running and not self._is_told_to_stop:
            self._jobs.collect(_OPEN_WAIT_S)
        if self._first_error and not any(place.link.is_open for place in self._places):
            raise self._first_error

    def run(self, seconds: float, *, start_ns: int | None = None) -> None:
        """Send for so long, or until stop(), and wait a moment for what is on its way.

        Args:
            seconds: how long.
            start_ns: when to begin; None for now.
        """
        now_ns = self._clock()
        start_ns = now_ns if start_ns is None else start_ns
        end_ns = start_ns + int(seconds * NS_PER_S)
        self._schedule.begin(start_ns)
        for recorder in self._recorders:
            recorder.begin(start_ns)
        while now_ns < start_ns and not self._is_told_to_stop:
            time.sleep(min(start_ns - now_ns, _CHECK_NS) / NS_PER_S)
            now_ns = self._clock()
        while now_ns < end_ns and not self._is_told_to_stop:
            self._turn(now_ns, end_ns, is_sending=True)
            now_ns = self._clock()
        if not self._is_told_to_stop:
            self._pump(end_ns - 1, self._places)  # what was due before the end, and not yet noticed
        for recorder in self._recorders:
            recorder.finish(max(min(now_ns, end_ns), start_ns))
        drained_ns = end_ns + _DRAIN_NS
        while now_ns < drained_ns and self._is_awaited and not self._is_told_to_stop:
            self._turn(now_ns, drained_ns, is_sending=False)
            now_ns = self._clock()
        self._end(now_ns)

    def _end(self, now_ns: int) -> None:
        self._is_over = True
        self._jobs.collect()
        for load in self._loads:
            for place in load.places:
                for request in place.link.in_flight:
                    load.work.unanswered(request, now_ns)
                place.link.close()
            load.work.end(self._recorder.measured.ended_ns)

    @property
    def _places_that_read_on(self) -> Sequence[_Place]:
        return [place for load in self._loads if load.work.reads_on for place in load.places]

    @property
    def _is_stale(self) -> bool:
        return any(load.work.is_stale for load in self._loads)

    @property
    def _is_awaited(self) -> bool:
        """Whether an answer, or a record, may still come."""
        return any(
            load.work.reads_on or (load.work.awaits_answers and place.link.in_flight)
            for load in self._loads
            for place in load.places
        )

    # -- one turn of the loop

    def _turn(self, now_ns: int, end_ns: int, *, is_sending: bool) -> None:
        """Send what is due, wait for what happens next, and read what has arrived."""
        places = self._places if is_sending else self._places_that_read_on
        self._pump(now_ns, places)
        links = {place.link: place for place in self._places if place.link.is_open}
        writers = [link for link in links if link.wants_to_write]
        wake_ns = min(end_ns, self._check_ns)
        dues_ns = (place.link.next_due_ns() for place in places)
        wake_ns = min((due_ns for due_ns in dues_ns if due_ns is not None), default=wake_ns)
        wait_s = max(min(wake_ns, self._check_ns, end_ns) - self._clock(), 0) / NS_PER_S
        readable, writable, _ = select.select(links, writers, (), wait_s)
        for link in writable:
            try:
                link.flush()
            except _LOST as error:
                self._lose(links[link], error)
        for link in readable:
            try:
                link.receive()
            except _LOST as error:
                self._lose(links[link], error)
        now_ns = self._clock()
        if now_ns >= self._check_ns:
            self._check_ns = now_ns + _CHECK_NS
            self._check(now_ns)

    def _pump(self, now_ns: int, places: Sequence[_Place]) -> None:
        for place in places:
            try:
                place.link.pump(now_ns)
            except _LOST as error:
                self._lose(place, error)

    def _check(self, now_ns: int) -> None:
        """Do what may wait for a moment: end seconds, find silent brokers, connect again."""
        for recorder in self._recorders:
            recorder.tick(now_ns)
        self._jobs.collect()
        timeout_ns = int(self._cluster.timeout_s * NS_PER_S)
        for place in self._places:
            link = place.link
            try:
                link.check_age(now_ns, timeout_ns)
            except _LOST as error:
                self._lose(place, error)
            link.is_draining |= link.must_log_in
            if link.is_open and link.is_draining and not link.in_flight:
                link.detach(now_ns)
        self._reopen(now_ns)
        if self._is_stale and not self._is_looking and now_ns >= self._look_ns:
            self._set_stale(False)
            self._is_looking = True
            self._look_ns = now_ns + _LOOK_EVERY_NS
            self._jobs.start(partial(self._cluster.look, self._missing()), self._on_view)

    # -- connections

    def _lose(self, place: _Place, error: ClientError) -> None:
        """Count an error that ended a connection, and open another one after a pause."""
        now_ns = self._clock()
        self._recorder.error(ENDS[type(error)], str(error))
        place.link.detach(now_ns)
        self._set_stale(True)
        self._pause(place, now_ns)

    def _pause(self, place: _Place, now_ns: int) -> None:
        place.reopen_ns = now_ns + place.pause_ns
        place.pause_ns = min(2 * place.pause_ns, _PAUSE_NS_MAX)

    def _reopen(self, now_ns: int) -> None:
        for place in self._places:
            node_id = place.node_id
            if node_id is None or place.link.is_open or place.is_opening:
                continue
            if now_ns >= place.reopen_ns:
                place.is_opening = True
                address = self._addresses.get(node_id)
                job = partial(self._opened, node_id, address)
                self._jobs.start(job, partial(self._on_opened, place, node_id))

    def _opened(self, node_id: int, address: Address | None) -> Connection:
        """Open a connection, in a thread of its own; the run may have ended meanwhile."""
        connection = self._cluster.open(node_id, address)
        if self._is_over:
            connection.close()
        return connection

    def _on_opened(self, place: _Place, node_id: int, result: Connection | ClientError) -> None:
        place.is_opening = False
        if isinstance(result, Connection):
            if place.node_id != node_id or self._is_over:
                result.close()
                return
            try:
                place.link.attach(result)
            except ClientError as error:
                result.close()
                result = error
        if isinstance(result, ClientError):
            self._first_error = self._first_error or result
            self._recorder.error(NOT_OPENED, str(result))
            self._set_stale(True)
            self._pause(place, self._clock())
        else:
            place.pause_ns = _PAUSE_NS

    # -- leaders

    def _on_view(self, result: View | ClientError) -> None:
        self._is_looking = False
        if isinstance(result, ClientError):
            self._set_stale(True)
            self._look_ns = self._clock() + _PAUSE_NS_MAX
        else:
            self._take_view(result)

    def _set_stale(self, is_stale: bool) -> None:
        for load in self._loads:
            load.work.is_stale = is_stale

    def _missing(self) -> Sequence[int]:
        return [partition for load in self._loads for partition in load.work.missing()]

    def _take_view(self, view: View) -> None:
        """Give the partitions to connections to their leaders, if leaders have changed."""
        self._addresses = view.addresses
        for load in self._loads:
            load.work.set_starts(view.starts)
            load.work.is_stale |= len(view.leaders) < view.partition_count
        if view.leaders == self._leaders:
            return
        self._leaders = view.leaders
        for load in self._loads:
            load.place(view.leaders, self._clock)
        self._places = [place for load in self._loads for place in load.places]

"""The lanes of `bench fetch`: each request asks for all partitions of its connection.

As in Kafka's consumers one request of a connection is on its way at a time, since its answer says
from where the next one reads. Only the headers of batches are read, no record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import error_name
from broker_lite.client.topic_partitions import MOVED
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.load.frames import FETCH_VERSION_MAX, frame_head, is_flexible
from broker_lite.load.lane import LOST, RETRY_AFTER_NS, Paced, Request, never_sent
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.record.batch import parse_header
from broker_lite.record.framing import CURRENT_MAGIC, walk
from broker_lite.wire import DecodeError, messages

_MAX_WAIT_MS: Final = 500
_NO_SESSION: Final = -1
_UNKNOWN: Final = -1


class Watcher(Protocol):
    """Counts the batches that are read."""

    def see(self, batch: memoryview, records: int, now_ns: int) -> None:
        """Count a batch, only valid during the call, of which so many records were wanted."""

    @property
    def is_waiting(self) -> bool:
        """Whether more batches are expected."""


class FetchWork:
    """What all lanes of a run share.

    Attributes:
        positions: the next offset of each partition; None until its start was asked for.
    """

    def __init__(
        self,
        *,
        topic: str,
        positions: Mapping[int, int],
        max_bytes: int,
        loops: bool,
        client_id: str,
        schedule: Schedule,
        recorder: Recorder,
        watcher: Watcher | None = None,
    ) -> None:
        """Keep what is to be read.

        Args:
            topic: its name.
            positions: where to begin, by partition.
            max_bytes: of an answer, and of each partition in it.
            loops: whether to begin again at the end of a partition.
            client_id: of all requests.
            schedule: of the requests of all lanes together.
            recorder: of the run.
            watcher: counts what is read instead of the recorder; None for nobody.
        """
        self.topic = topic
        self.positions: dict[int, int | None] = dict(positions)
        self.max_bytes = max_bytes
        self.loops = loops
        self.client_id = client_id.encode()
        self.schedule = schedule
        self.recorder = recorder
        self.watcher = watcher
        self.awaits_answers = watcher is None
        # what waits at the end of the log would keep no rate
        self.max_wait_ms = 0 if schedule.is_open else _MAX_WAIT_MS
        self.is_stale = False
        self._lanes: list[FetchLane] = []

    def make_lane(self) -> FetchLane:
        """Make the lane of a further connection; it has no partitions yet."""
        lane = FetchLane(self)
        self._lanes.append(lane)
        return lane

    def assign(self, shares: Sequence[Sequence[int]]) -> None:
        """Give each lane its partitions, in the order in which the lanes were made."""
        count = sum(map(bool, shares))
        index = 0
        for lane, partitions in zip(self._lanes, shares, strict=True):
            lane.assign(partitions, index, count)
            index += bool(partitions)

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent; with a watcher none is due."""
        if self.watcher is not None:
            return
        due_count = self.schedule.due_count(now_ns - 1)
        for lane in self._lanes:
            never_sent(lane.left(due_count), self.schedule, self.recorder, now_ns)
            for due_ns in lane.lost():
                self.recorder.never_sent(due_ns, due_ns, 1, now_ns)

    def unanswered(self, request: Request, now_ns: int) -> None:
        """Count a request that is open at the end; with a watcher they only wait for records."""
        if self.watcher is None:
            self.recorder.unanswered += 1
            self.recorder.open_for(now_ns - request.due_ns)

    @property
    def reads_on(self) -> bool:
        """Whether records may still come after the end."""
        return self.watcher is not None and self.watcher.is_waiting

    def missing(self) -> Sequence[int]:
        """Return the partitions whose start has to be asked for."""
        return [number for number, position in self.positions.items() if position is None]

    def set_starts(self, starts: Mapping[int, int]) -> None:
        """Take the log start offsets of partitions."""
        self.positions.update(starts)


class FetchLane(Paced):
    """The requests of one connection; see Lane."""

    is_answered = True

    def __init__(self, work: FetchWork) -> None:
        super().__init__(work.recorder)
        self._work = work
        self._schedule = work.schedule
        self._partitions: Sequence[int] = ()
        self._number = 0
        self._step = 1
        self._turn = 0
        self._version = FETCH_VERSION_MAX
        self._lost: deque[tuple[int, int]] = deque()  # due_ns and number of what is sent again

    def speak_to(self, connection: Connection) -> None:
        """Use the highest version of the broker."""
        self._version = connection.version_of(messages.FetchRequest, FETCH_VERSION_MAX)

    def assign(self, partitions: Sequence[int], index: int, count: int) -> None:
        """Read these partitions, with every request of so many from this one on."""
        self._partitions = partitions
        if self._number == 0:
            self._number = index
        self._step = max(count, 1)

    def left(self, due_count: int) -> range:
        """Return the numbers of the requests that are due and were not sent."""
        return range(self._number, due_count, self._step) if self._partitions else range(0)

    def lost(self) -> Iterable[int]:
        """Return when the requests were due that are to be sent again."""
        return (due_ns for due_ns, _ in self._lost)

    def next_due_ns(self) -> int | None:
        """Return when the next request is due; None without partitions."""
        if not self._partitions:
            return None
        due_ns = self._lost[0][0] if self._lost else self._schedule.due_ns(self._number)
        return max(due_ns, self._not_before_ns)

    def take(self, now_ns: int, correlation_id: int) -> Request:
        """Return the next request, which is due."""
        if self._lost:
            due_ns, number = self._lost.popleft()
        else:
            number = self._number
            self._number += self._step
            due_ns = self._schedule.due_ns(number) or now_ns
        body = messages.FetchRequest.encode(self._request(), self._version)
        head = frame_head(
            messages.FetchRequest, self._version, correlation_id, self._work.client_id, len(body)
        )
        return Request(due_ns, number, (head, body), len(head) + len(body))

    def on_sent(self, request: Request, now_ns: int) -> None:
        """Do nothing: every fetch is answered."""

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        """Count the records of an answer, and go on behind them."""
        flexible = is_flexible(messages.FetchRequest, self._version)
        answer, _ = messages.FetchResponse.decode(body[flexible:], self._version)
        self._throttle(answer.throttle_time_ms, now_ns)
        records = size_bytes = 0
        errors = [answer.error_code]
        for topic in answer.responses:
            for partition in topic.partitions:
                errors.append(partition.error_code)
                if partition.error_code == ErrorCode.NONE:
                    read, read_bytes = self._read(partition, now_ns)
                    records += read
                    size_bytes += read_bytes
                elif partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._work.positions[partition.partition_index] = None
                    self._work.is_stale = True
        failed = self._count_errors(errors)
        if failed or len(errors) == 1:
            # nothing was asked if all partitions wait for an offset
            self._not_before_ns = max(self._not_before_ns, now_ns + RETRY_AFTER_NS)
            if not records:
                self._again(request, error_name(failed or ErrorCode.OFFSET_OUT_OF_RANGE))
                return
        if self._work.watcher is None:
            self._recorder.answered(now_ns, request.due_ns, records, size_bytes)

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        """Ask again, from the same positions."""
        for request in requests:
            self._again(request, LOST)

    def _again(self, request: Request, error: str) -> None:
        self._recorder.retry(error)
        self._lost.append((request.due_ns, request.number))

    def _count_errors(self, codes: Iterable[int]) -> int:
        """Count the errors of an answer; return one of them, or NONE."""
        failed = [code for code in codes if code != ErrorCode.NONE]
        for code in failed:
            self._recorder.error(error_name(code))
            self._work.is_stale |= code in MOVED
        return failed[0] if failed else ErrorCode.NONE

    def _request(self) -> messages.FetchRequest:
        """Make the next request.

        Partitions take turns in being the first one, because a broker fills that one first.
        """
        self._turn = (self._turn + 1) % len(self._partitions)
        make = messages.FetchRequest
        positions = self._work.positions
        order = (*self._partitions[self._turn :], *self._partitions[: self._turn])
        asked = [
            make.FetchPartition(
                partition=number,
                current_leader_epoch=_UNKNOWN,
                fetch_offset=position,
                last_fetched_epoch=_UNKNOWN,
                log_start_offset=_UNKNOWN,
                partition_max_bytes=self._work.max_bytes,
            )
            for number in order
            if (position := positions[number]) is not None
        ]
        return make(
            replica_id=-1,
            max_wait_ms=self._work.max_wait_ms,
            min_bytes=1,
            max_bytes=self._work.max_bytes,
            session_epoch=_NO_SESSION,
            topics=[make.FetchTopic(topic=self._work.topic, partitions=asked)],
        )

    def _read(
        self, partition: messages.FetchResponse.PartitionData, now_ns: int
    ) -> tuple[int, int]:
        """Move the position of a partition; return the records and bytes that were read."""
        position = self._work.positions[partition.partition_index]
        if position is None:
            return 0, 0
        count = size_bytes = 0
        data = memoryview(partition.records or b"")
        for batch in _batches(data, position):
            count += batch.records
            size_bytes += len(batch.data)
            position = batch.next_offset
            if batch.records and self._work.watcher is not None:
                self._work.watcher.see(batch.data, batch.records, now_ns)
        start = partition.log_start_offset
        if self._work.loops and position >= partition.high_watermark > start >= 0:
            position = start
        self._work.positions[partition.partition_index] = position
        return count, size_bytes


class _Read(NamedTuple):
    """A complete batch, how many of its records are wanted, and the offset behind it."""

    data: memoryview
    records: int
    next_offset: int


def _batches(data: memoryview, position: int) -> Iterable[_Read]:
    """Yield the complete batches of an answer.

    A batch may begin before the position. A message of an older format counts as one record.

    Raises:
        DecodeError: it is not a batch.
    """
    try:
        for entry in walk(data):
            batch = data[entry.position : entry.position + entry.size_bytes]
            if entry.magic != CURRENT_MAGIC:
                yield _Read(batch, 1, int.from_bytes(batch[:8], "big") + 1)
                continue
            header = parse_header(batch)
            next_offset = header.base_offset + header.last_offset_delta + 1
            wanted = min(header.record_count, max(next_offset - position, 0))
            yield _Read(batch, wanted, next_offset)
    except BrokerError as error:
        raise DecodeError(f"records of a fetch: {error}") from error

"""The lanes of `bench produce`: one batch a request, for the partitions in turns.

Request n of a run is for partition n modulo the count of partitions. Each lane sends the requests
of its partitions in the order in which they are due, so a slow connection delays its own only.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Final, NamedTuple

from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import error_name
from broker_lite.client.topic_partitions import MOVED
from broker_lite.errors import ErrorCode
from broker_lite.load.content import Batch
from broker_lite.load.frames import PRODUCE_VERSION_MAX, Around, ProduceFrames, frame_head
from broker_lite.load.lane import LOST, RETRY_AFTER_NS, Request
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.wire import DecodeError, messages

_RETRIED: Final = MOVED | {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}
_NO_ANSWER: Final = 0
_RETRIES_MAX: Final = 100
"""Of a lane; with more, nothing new is sent, so that a broker that only refuses fills no memory."""


class Retry(NamedTuple):
    """A request to send again."""

    at_ns: int
    due_ns: int
    number: int


class Left(NamedTuple):
    """What a lane has not sent yet."""

    numbers: Sequence[int]
    retries: Sequence[Retry]


class ProduceWork:
    """What all lanes of a run share."""

    def __init__(
        self,
        *,
        topic: str,
        partition_count: int,
        batches: Sequence[Batch],
        acks: int,
        timeout_ms: int,
        client_id: str,
        schedule: Schedule,
        recorder: Recorder,
    ) -> None:
        """Keep what is to be sent.

        Args:
            topic: its name.
            partition_count: of the topic.
            batches: sent in turns.
            acks: -1 for all, 1, or 0.
            timeout_ms: how long the broker may wait for replicas.
            client_id: of all requests.
            schedule: of the requests of all lanes together.
            recorder: of the run.
        """
        self.topic = topic
        self.partition_count = partition_count
        self.batches = batches
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.client_id = client_id.encode()
        self.schedule = schedule
        self.recorder = recorder
        self.is_stale = False
        self._lanes: list[ProduceLane] = []
        self._owners: dict[int, ProduceLane] = {}
        # the next numbers of partitions without a lane, and what is to be sent again for them
        self._idle = {partition: partition for partition in range(partition_count)}
        self._parked: list[Retry] = []

    def make_lane(self) -> ProduceLane:
        """Make the lane of a further connection; it has no partitions yet."""
        lane = ProduceLane(self)
        self._lanes.append(lane)
        return lane

    def assign(self, shares: Sequence[Sequence[int]]) -> None:
        """Give each lane its partitions, in the order in which the lanes were made."""
        for lane in self._lanes:
            numbers, retries = lane.release()
            self._idle.update((number % self.partition_count, number) for number in numbers)
            self._parked += retries
        self._owners = {}
        for lane, partitions in zip(self._lanes, shares, strict=True):
            lane.assign([self._idle.pop(partition) for partition in partitions])
            self._owners.update(dict.fromkeys(partitions, lane))
        parked, self._parked = self._parked, []
        for retry in parked:
            self.retry(retry)

    def retry(self, retry: Retry) -> None:
        """Let the lane that has the partition now send a request again."""
        owner = self._owners.get(retry.number % self.partition_count)
        if owner is None:
            self._parked.append(retry)
        else:
            owner.retry(retry)

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent."""
        numbers, retries = list(self._idle.values()), self._parked
        for lane in self._lanes:
            of_lane = lane.release()
            numbers += of_lane.numbers
            retries = [*retries, *of_lane.retries]
        for retry in retries:
            self.recorder.never_sent(retry.due_ns, retry.due_ns, 1, now_ns)
        due_count = self.schedule.due_count(now_ns - 1)
        for number in numbers:
            left = range(number, due_count, self.partition_count)
            if left:
                first_ns, last_ns = (self.schedule.due_ns(each) for each in (left[0], left[-1]))
                self.recorder.never_sent(first_ns, last_ns, len(left), now_ns)

    def missing(self) -> Sequence[int]:
        """A producer needs no offsets."""
        return ()

    def set_starts(self, starts: Mapping[int, int]) -> None:
        """A producer needs no offsets."""

    def batch_of(self, number: int) -> Batch:
        """Return the batch of a request; each partition gets all of them in turns."""
        return self.batches[(number // self.partition_count + number) % len(self.batches)]


class ProduceLane:
    """The requests of one connection; see Lane."""

    def __init__(self, work: ProduceWork) -> None:
        self.is_answered = work.acks != _NO_ANSWER
        self._work = work
        self._schedule = work.schedule
        self._recorder = work.recorder
        self._numbers: list[int] = []  # a heap: the next one of each partition
        self._retries: deque[Retry] = deque()
        self._frames: ProduceFrames | None = None
        self._around: dict[tuple[int, int], Around] = {}

    def speak_to(self, connection: Connection) -> None:
        """Use the highest version of the broker."""
        version = connection.version_of(messages.ProduceRequest, PRODUCE_VERSION_MAX)
        if self._frames is None or self._frames.version != version:
            self._around = {}
            work = self._work
            self._frames = ProduceFrames(
                work.topic, version=version, acks=work.acks, timeout_ms=work.timeout_ms
            )

    def release(self) -> Left:
        """Give up all partitions."""
        left = Left(self._numbers, list(self._retries))
        self._numbers = []
        self._retries.clear()
        return left

    def assign(self, numbers: Sequence[int]) -> None:
        """Go on with these numbers, one for each partition."""
        self._numbers = list(numbers)
        heapify(self._numbers)

    def retry(self, retry: Retry) -> None:
        """Send a request again; it comes before those that are due, once its pause is over."""
        self._retries.append(retry)

    def next_due_ns(self) -> int | None:
        """Return when the next request is due; None without partitions."""
        if not self._numbers:
            return None
        if len(self._retries) >= _RETRIES_MAX:
            return self._retries[0].at_ns
        due_ns = self._schedule.due_ns(self._numbers[0])
        return min(due_ns, self._retries[0].at_ns) if self._retries else due_ns

    def take(self, now_ns: int, correlation_id: int) -> Request:
        """Return the next request, which is due."""
        if self._retries and self._retries[0].at_ns <= now_ns:
            _, due_ns, number = self._retries.popleft()
        else:
            number = self._numbers[0]
            heapreplace(self._numbers, number + self._work.partition_count)
            due_ns = self._schedule.due_ns(number) or now_ns
        batch = self._work.batch_of(number)
        around = self._around_of(number % self._work.partition_count, len(batch.data))
        size = len(around.before) + len(batch.data) + len(around.after)
        assert self._frames is not None
        head = frame_head(
            messages.ProduceRequest,
            self._frames.version,
            correlation_id,
            self._work.client_id,
            size,
        )
        parts = (head + around.before, batch.data, around.after)
        return Request(due_ns, number, parts, len(head) + size)

    def on_sent(self, request: Request, now_ns: int) -> None:
        """Count a request without an answer, which has left."""
        batch = self._work.batch_of(request.number)
        self._recorder.answered(now_ns, request.due_ns, batch.records, len(batch.data))

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        """Count an answer, or send the request again if the error may pass."""
        assert self._frames is not None
        try:
            code = self._frames.error_code(body)
        except struct.error:
            raise DecodeError("ProduceResponse ends too early") from None
        if code == ErrorCode.NONE:
            self.on_sent(request, now_ns)
            return
        self._recorder.error(error_name(code))
        if code not in _RETRIED:
            self._recorder.refused += 1
            return
        self._work.is_stale |= code in MOVED
        self._again(request, now_ns + RETRY_AFTER_NS, error_name(code))

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        """Send the requests of a connection that ended again, if they would have been answered."""
        for request in requests:
            self._again(request, now_ns, LOST)

    def _again(self, request: Request, at_ns: int, error: str) -> None:
        self._recorder.retry(error)
        self._work.retry(Retry(at_ns, request.due_ns, request.number))

    def _around_of(self, partition: int, records_bytes: int) -> Around:
        found = self._around.get((partition, records_bytes))
        if found is None:
            assert self._frames is not None
            found = self._around[partition, records_bytes] = self._frames.around(
                partition, records_bytes
            )
        return found

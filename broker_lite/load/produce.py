"""The lanes of `bench produce`: one batch a request, for the partitions in turns.

Request n of a run is for partition n modulo the count of partitions. Each lane sends the requests
of its partitions in the order in which they are due, so a slow connection delays its own only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, Protocol

from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import error_name
from broker_lite.client.topic_partitions import MOVED
from broker_lite.errors import ErrorCode
from broker_lite.load.frames import PRODUCE_VERSION_MAX, Around, ProduceFrames, frame_head
from broker_lite.load.lane import LOST, RETRY_AFTER_NS, Paced, Request, never_sent
from broker_lite.load.partition_queue import PartitionQueue, Retry
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.load.stamped import Batch, Filler, Producer
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.primitives import Buffer

_RETRIED: Final = MOVED | {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}
_NOT_NEXT: Final = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID}
)
_WRITTEN: Final = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
_NO_ANSWER: Final = 0
_AROUND_MAX: Final = 10_000


class Witness(Protocol):
    """Counts the requests of a run by what readers see, not by the answers."""

    def stamp(self, number: int, due_ns: int) -> bytes:
        """Return the stamp of a request, which leaves now, perhaps again."""

    def written(self, request: Request, batch: Batch, now_ns: int) -> None:
        """Note that the broker has acknowledged a request."""

    def refused(self, number: int) -> None:
        """Note that a request was refused for good."""

    def end(self, now_ns: int) -> None:
        """Count what was not seen before the end."""


class ProduceWork:
    """What all lanes of a run share; see Work."""

    def __init__(
        self,
        *,
        topic: str,
        partitions: Sequence[int],
        batches: Sequence[Batch],
        acks: int,
        timeout_ms: int,
        client_id: str,
        schedule: Schedule,
        recorder: Recorder,
        producer: Producer | None = None,
        witness: Witness | None = None,
    ) -> None:
        """Keep what is to be sent.

        Args:
            topic: its name.
            partitions: of the topic, which this process writes to.
            batches: sent in turns.
            acks: -1 for all, 1, or 0.
            timeout_ms: how long the broker may wait for replicas.
            client_id: of all requests.
            schedule: of the requests of all lanes together.
            recorder: of the run.
            producer: whose sequences the batches carry; None for none.
            witness: counts instead of the recorder, and stamps the batches; None for nobody.
        """
        self.topic = topic
        self.batches = batches
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.client_id = client_id.encode()
        self.schedule = schedule
        self.recorder = recorder
        self.is_stale = False
        self.awaits_answers = True
        self.reads_on = False
        self.witness = witness
        self._lanes: list[ProduceLane] = []
        self._queues = [
            PartitionQueue(partition, number, producer)
            for number, partition in enumerate(partitions)
        ]
        self._queue_of = {queue.partition: queue for queue in self._queues}
        self._sends_as_is = producer is None and witness is None
        self._fillers = [] if self._sends_as_is else [Filler(batch) for batch in batches]

    def make_lane(self) -> ProduceLane:
        """Make the lane of a further connection; it has no partitions yet."""
        lane = ProduceLane(self)
        self._lanes.append(lane)
        return lane

    def assign(self, shares: Sequence[Sequence[int]]) -> None:
        """Give each lane its partitions, in the order in which the lanes were made."""
        for queue in self._queues:
            queue.lane = None
        for lane, partitions in zip(self._lanes, shares, strict=True):
            lane.assign([self._queue_of[partition] for partition in partitions])

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent."""
        due_count = self.schedule.due_count(now_ns - 1)
        for queue in self._queues:
            for retry in queue.retries:
                self.recorder.never_sent(retry.due_ns, retry.due_ns, 1, now_ns)
            left = range(queue.number, due_count, len(self._queues))
            never_sent(left, self.schedule, self.recorder, now_ns)
        if self.witness is not None:
            self.witness.end(now_ns)

    def unanswered(self, request: Request, now_ns: int) -> None:
        """Count a request that is open at the end."""
        self.recorder.unanswered += 1
        if self.witness is None:
            self.recorder.open_for(now_ns - request.due_ns)

    def missing(self) -> Sequence[int]:
        """A producer needs no offsets."""
        return ()

    def set_starts(self, starts: Mapping[int, int]) -> None:
        """A producer needs no offsets."""

    def queue_of(self, number: int) -> PartitionQueue:
        """Return the queue of the partition that a request is for."""
        return self._queues[number % len(self._queues)]

    def next_number(self, number: int) -> int:
        """Return the number of the next request for the same partition."""
        return number + len(self._queues)

    def batch_of(self, number: int) -> Batch:
        """Return the batch of a request; each partition gets all of them in turns."""
        return self.batches[self._index_of(number)]

    def bytes_of(
        self, queue: PartitionQueue, number: int, sequence: int, due_ns: int
    ) -> Sequence[Buffer]:
        """Return the parts of the batch of a request as it is sent."""
        index = self._index_of(number)
        if self._sends_as_is:
            return (self.batches[index].data,)
        stamp = b"" if self.witness is None else self.witness.stamp(number, due_ns)
        return self._fillers[index].fill(queue.producer, sequence, stamp)

    def _index_of(self, number: int) -> int:
        return (number // len(self._queues) + number) % len(self.batches)


class ProduceLane(Paced):
    """The requests of one connection; see Lane."""

    def __init__(self, work: ProduceWork) -> None:
        super().__init__(work.recorder)
        self.is_answered = work.acks != _NO_ANSWER
        self._work = work
        self._schedule = work.schedule
        # heaps; who takes from them checks that an entry still holds
        self._ready: list[int] = []  # the next number of each partition
        self._pauses: list[tuple[int, int]] = []  # at_ns and number of a request to send again
        self._has_held = False  # whether entries of `_ready` may no longer hold
        self._due_ns = (-1, 0)  # of a number
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

    def assign(self, queues: Sequence[PartitionQueue]) -> None:
        """Send the requests of these partitions, and of no others."""
        self._ready, self._pauses = [], []
        for queue in queues:
            queue.lane = self
            if not queue.is_held:
                self.enqueue(queue)
        heapify(self._ready)

    def enqueue(self, queue: PartitionQueue) -> None:
        """Go on with a partition; what is to be sent again comes first."""
        if queue.retries:
            heappush(self._pauses, (queue.retries[0].at_ns, queue.retries[0].number))
        else:
            heappush(self._ready, queue.number)

    def look_again(self) -> None:
        """Expect that a partition is held, which was ready."""
        self._has_held = True

    def next_due_ns(self) -> int | None:
        """Return when the next request is due; None if there is none."""
        number = self._next_number() if self._has_held else self._first_number()
        due_ns = None if number is None else self._due_ns_of(number)
        if self._pauses:
            pause = self._next_pause()
            if pause is not None:
                due_ns = pause[0] if due_ns is None else min(due_ns, pause[0])
        return due_ns if due_ns is None else max(due_ns, self._not_before_ns)

    def take(self, now_ns: int, correlation_id: int) -> Request:
        """Return the next request, which is due."""
        pause = self._next_pause() if self._pauses else None
        if pause is not None and pause[0] <= now_ns:
            heappop(self._pauses)
            queue = self._work.queue_of(pause[1])
            number, _, due_ns, sequence = queue.take_retry()
            self.enqueue(queue)
        else:
            found = self._next_number()
            assert found is not None
            number = found
            queue = self._work.queue_of(number)
            queue.number = self._work.next_number(number)
            heapreplace(self._ready, queue.number)
            due_ns, sequence = self._due_ns_of(number) or now_ns, -1
        if sequence < 0:
            sequence = queue.take_sequence(self._work.batch_of(number).records)
        queue.in_flight += 1
        data = self._work.bytes_of(queue, number, sequence, due_ns)
        parts, size_bytes = self._framed(queue.partition, data, correlation_id)
        return Request(due_ns, number, parts, size_bytes, sequence)

    def on_sent(self, request: Request, now_ns: int) -> None:
        """Count a request without an answer, which has left."""
        self._count_written(request, now_ns)
        self._settle(request)

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        """Count an answer, or send the request again if the error may pass."""
        assert self._frames is not None
        try:
            code = self._frames.error_code(body)
            throttle_ms = self._frames.throttle_ms(body)
        except struct.error:
            raise DecodeError("ProduceResponse ends too early") from None
        self._throttle(throttle_ms, now_ns)
        if code in _WRITTEN:
            self._count_written(request, now_ns)
        else:
            self._on_error(request, code, now_ns)
        self._settle(request)

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        """Send the requests of a connection that ended again, if they would have been answered."""
        for request in requests:
            self._again(request, now_ns, LOST, request.sequence)
            self._settle(request)

    def _on_error(self, request: Request, code: int, now_ns: int) -> None:
        name, queue = error_name(code), self._work.queue_of(request.number)
        self._recorder.error(name)
        at_ns = now_ns + RETRY_AFTER_NS
        if code in _NOT_NEXT and queue.producer is not None:
            queue.out_of_order(request.number, request.sequence)
            self._again(request, at_ns, name, -1)
        elif code in _RETRIED:
            self._work.is_stale |= code in MOVED
            self._again(request, at_ns, name, request.sequence)
        else:
            self._recorder.refused += 1
            queue.refused(request.sequence)
            _note_held(queue)
            if self._work.witness is not None:
                self._work.witness.refused(request.number)

    def _again(self, request: Request, at_ns: int, error: str, sequence: int) -> None:
        self._recorder.retry(error)
        retry = Retry(request.number, at_ns, request.due_ns, sequence)
        queue = self._work.queue_of(request.number)
        queue.put_retry(retry)
        _note_held(queue)

    def _count_written(self, request: Request, now_ns: int) -> None:
        batch, witness = self._work.batch_of(request.number), self._work.witness
        if witness is None:
            self._recorder.answered(now_ns, request.due_ns, batch.records, len(batch.data))
        else:
            witness.written(request, batch, now_ns)

    def _settle(self, request: Request) -> None:
        queue = self._work.queue_of(request.number)
        if queue.is_settled() and queue.lane is not None:
            queue.lane.enqueue(queue)

    def _due_ns_of(self, number: int) -> int:
        """Return when a request is due; it is asked again and again for the same one."""
        if self._due_ns[0] != number:
            self._due_ns = (number, self._schedule.due_ns(number))
        return self._due_ns[1]

    def _first_number(self) -> int | None:
        return self._ready[0] if self._ready else None

    def _next_number(self) -> int | None:
        """Return the oldest number in `_ready` that still holds."""
        while self._ready:
            number = self._ready[0]
            queue = self._work.queue_of(number)
            if queue.number == number and not queue.is_held and not queue.retries:
                return number
            heappop(self._ready)
        return None

    def _next_pause(self) -> tuple[int, int] | None:
        """Return the first entry in `_pauses` that still holds."""
        while self._pauses:
            at_ns, number = self._pauses[0]
            queue = self._work.queue_of(number)
            if not queue.is_held and queue.retries and queue.retries[0].number == number:
                return at_ns, number
            heappop(self._pauses)
        return None

    def _framed(
        self, partition: int, data: Sequence[Buffer], correlation_id: int
    ) -> tuple[Sequence[Buffer], int]:
        """Return a request around the parts of a batch, and its size."""
        assert self._frames is not None
        around = self._around_of(partition, sum(map(len, data)))
        size = len(around.before) + sum(map(len, data)) + len(around.after)
        head = frame_head(
            messages.ProduceRequest,
            self._frames.version,
            correlation_id,
            self._work.client_id,
            size,
        )
        return (head + around.before, *data, around.after), len(head) + size

    def _around_of(self, partition: int, records_bytes: int) -> Around:
        found = self._around.get((partition, records_bytes))
        if found is None:
            assert self._frames is not None
            found = self._frames.around(partition, records_bytes)
            if len(self._around) < _AROUND_MAX:  # batches compressed anew have ever new sizes
                self._around[partition, records_bytes] = found
        return found


def _note_held(queue: PartitionQueue) -> None:
    """Let the lane of a queue look at what it has ready."""
    if queue.lane is not None:
        queue.lane.look_again()

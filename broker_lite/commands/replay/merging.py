"""Merges the records of partitions by time, without ever changing the order within a partition.

A record is due when the latest record in front of it in its partition is, if that has a later
timestamp. So timestamps that go back neither change the order nor make a replay wait twice.
Memory holds one batch of each partition.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.record.records import Record

NO_TIME: Final = -1
"""When records are due that have no timestamp, and none in front of them has one."""

_RUN_MAX: Final = 4096


class Due(NamedTuple):
    """A record, and the time at which it is due, in ms."""

    due_ms: int
    record: Record


class Run(NamedTuple):
    """Records of one partition that come one after the other, also among those of the others."""

    partition: TopicPartition
    records: Sequence[Due]


def merged(sources: Mapping[TopicPartition, Iterator[Sequence[Record]]]) -> Iterator[Run]:
    """Merge the records of partitions.

    Args:
        sources: records in order of their offsets, a batch at a time, none of them empty.
    """
    heap: list[tuple[int, int, _Cursor]] = []
    for number, (partition, batches) in enumerate(sources.items()):
        cursor = _Cursor(partition, batches)
        if cursor.fill():
            heappush(heap, (cursor.due_ms, number, cursor))
    while heap:
        _, number, cursor = heappop(heap)
        yield Run(cursor.partition, cursor.take(heap[0][:2] if heap else None, number))
        if cursor.fill():
            heappush(heap, (cursor.due_ms, number, cursor))


class _Cursor:
    """The records of a partition that were read and are not taken yet."""

    def __init__(self, partition: TopicPartition, batches: Iterator[Sequence[Record]]) -> None:
        self.partition = partition
        self._batches = batches
        self._waiting: list[Due] = []
        self._at = 0
        self._latest_ms = NO_TIME

    @property
    def due_ms(self) -> int:
        """When the next record is due."""
        return self._waiting[self._at].due_ms

    def fill(self) -> bool:
        """Read the next batch if nothing waits; tell whether there is a record."""
        if self._at < len(self._waiting):
            return True
        self._waiting, self._at = [], 0
        latest_ms = self._latest_ms
        for record in next(self._batches, ()):
            if record.timestamp > latest_ms:
                latest_ms = record.timestamp
            self._waiting.append(Due(latest_ms, record))
        self._latest_ms = latest_ms
        return bool(self._waiting)

    def take(self, limit: tuple[int, int] | None, number: int) -> Sequence[Due]:
        """Take the records that are due before that of another partition.

        Args:
            limit: time and number of the other partition's; None without another one.
            number: of this partition, which decides between records of the same time.
        """
        start = self._at
        end = min(len(self._waiting), start + _RUN_MAX)
        if limit is not None:
            while self._at < end and (self._waiting[self._at].due_ms, number) <= limit:
                self._at += 1
        else:
            self._at = end
        return self._waiting[start : self._at]

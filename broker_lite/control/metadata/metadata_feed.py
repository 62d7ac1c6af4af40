"""Hands the metadata log on to other processes: its bytes on one side, its records on the other.

A process that follows the log gets its batches as they are on disk: first all that there are, later
each one when it is written. So what a follower knows is what a restart would know.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Final, NamedTuple

from broker_lite.control.metadata.metadata_batches import make_batch
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import MetadataRecord, decode
from broker_lite.log.files.segment import LogSegment
from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import walk
from broker_lite.record.records import iterate_records

FEED_BYTES: Final = 256 * 1024
"""So many bytes are read at a time; a larger batch comes alone."""
_SIZE_OFFSET: Final = 8
_HEAD_BYTES: Final = 12
_RECORDS_AT_A_TIME: Final = 256


class Followed(NamedTuple):
    """One batch of the metadata log; control batches have no records here."""

    records: list[MetadataRecord]
    end_offset: int


class MetadataReader:
    """Reads the metadata log from its start to its end, and goes on when there is more."""

    def __init__(self, log: MetadataLog, metadata_version: int) -> None:
        """Begin before the first record.

        Args:
            log: an open one.
            metadata_version: the level in force, for the records of a snapshot.
        """
        self._log = log
        self._segment: LogSegment = log.segments[0]
        self._position = 0
        self._snapshot: list[Sequence[MetadataRecord]] = []
        self._start_offset = 0
        if log.snapshot is not None:
            self._snapshot += log.snapshot.batches
            self._start_offset = log.snapshot.end_offset
        self._metadata_version = metadata_version

    def go_to_end(self) -> None:
        """Skip all that there is."""
        self._snapshot.clear()
        self._segment = self._log.segments[-1]
        self._position = self._segment.size_bytes

    def read(self) -> bytes:
        """Return the next whole batches; nothing at the end of the log.

        Raises:
            OSError: the log cannot be read.
        """
        if self._snapshot:
            return make_batch(self._snapshot.pop(0), 0, self._metadata_version)
        while True:
            if self._position == self._segment.size_bytes and not self._has_next_segment():
                return b""
            begin, data = self._read_some()
            if begin < len(data):
                return data[begin:]

    def _has_next_segment(self) -> bool:
        base_offset = self._segment.base_offset
        later = [each for each in self._log.segments if each.base_offset > base_offset]
        if later:
            self._segment, self._position = later[0], 0
        return bool(later) and later[0].size_bytes > 0

    def _read_some(self) -> tuple[int, bytes]:
        """Read whole batches, and return where those begin that no snapshot has."""
        position, file = self._position, self._segment.file()
        data = file.read_at(position, min(FEED_BYTES, self._segment.size_bytes - position))
        entries = list(walk(data))
        if not entries:
            size_bytes = _HEAD_BYTES + int.from_bytes(data[_SIZE_OFFSET:_HEAD_BYTES], "big")
            data = file.read_at(position, size_bytes)
            entries = list(walk(data))
        begin = end = 0
        for entry in entries:
            end = entry.position + entry.size_bytes
            base_offset = int.from_bytes(data[entry.position : entry.position + _SIZE_OFFSET])
            begin = end if base_offset < self._start_offset else begin
        self._position += end
        return begin, data[:end]


def batches_of(data: bytes) -> Iterator[Generator[None, None, Followed]]:
    """Iterate over the batches of some bytes; each is decoded in slices.

    Raises:
        BrokerError: a batch is damaged.
        DecodeError: a record cannot be decoded; raised by a slice.
    """
    for entry in walk(data):
        batch = RecordBatch(memoryview(data), entry.position, entry.size_bytes)
        batch.ensure_valid()
        yield _decoded(batch)


def _decoded(batch: RecordBatch) -> Generator[None, None, Followed]:
    records: list[MetadataRecord] = []
    for number, record in enumerate(() if batch.is_control else iterate_records(batch), 1):
        records.append(decode(record.value or b""))
        if number % _RECORDS_AT_A_TIME == 0:
            yield
    return Followed(records, batch.next_offset)

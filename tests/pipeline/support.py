"""Partition directories for tests: written by the log room, by hand, or damaged on purpose.

A `Partition` appends as a broker does, through the broker's own code: segments, indexes, the index
of aborted transactions and producer snapshots are its files. It remembers what it wrote, as the
rows that the record view has to give back.
"""

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import partition_directory, segment_stem
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.builder import BatchBuilder, normalised_header_key
from broker_lite.record.control import EndTransactionMarker

T0 = 1_700_000_000_000
FOREVER_MS = 1 << 62

CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = 0, 1, -1

Headers = tuple[tuple[bytes, bytes | None], ...]


class NewRecord(NamedTuple):
    """A record to be written; the timestamp is T0 + its index unless it is given."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


class Row(NamedTuple):
    """A record as the record view tells it, timestamps in ms."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes | None], ...] | None


def numbered(count: int, *, value_bytes: int = 20, first: int = 0) -> list[NewRecord]:
    """Records that differ, each with a key, all of one size."""
    return [
        NewRecord(b"key-%06d" % index, (b"%08d" % index * (value_bytes // 8 + 1))[:value_bytes])
        for index in range(first, first + count)
    ]


class Partition:
    """A partition below a log directory; a context manager that closes its log as a stop does.

    Args:
        root: the log directory; made when it is missing.
        topic: its topic.
        partition: its number.
        segment_bytes: when a segment is rolled.
        index_interval_bytes: how far apart the index entries are.
    """

    def __init__(
        self,
        root: Path,
        topic: str = "topic",
        partition: int = 0,
        *,
        segment_bytes: int = 1 << 30,
        index_interval_bytes: int = 4096,
    ) -> None:
        self.topic, self.partition = topic, partition
        self.directory = root / partition_directory(topic, partition)
        self.directory.mkdir(parents=True, exist_ok=True)
        config = LogConfig(
            segment_ms=FOREVER_MS,
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
        )
        request = LoadRequest(topic, partition, str(self.directory), config, 0, None, True)
        self.log = load_log(request, FileCache(), now_ms=T0)
        self.log.become_leader(0)
        self.rows: list[Row] = []
        self._sequences: dict[int, int] = {}

    def append(
        self,
        records: Iterable[NewRecord],
        *,
        codec: int = 0,
        producer_id: int = -1,
        is_transactional: bool = False,
        log_append_time_ms: int | None = None,
    ) -> int:
        """Append one batch and give its base offset; sequences follow by themselves."""
        base_offset = self.log.log_end_offset
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        builder = BatchBuilder(
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
            log_append_time_ms=log_append_time_ms,
        )
        for index, record in enumerate(records):
            given = record.timestamp_ms
            timestamp_ms = T0 + base_offset + index if given is None else given
            builder.append(timestamp_ms, record.key, record.value, record.headers)
            if log_append_time_ms is not None:
                timestamp_ms = log_append_time_ms
            self.rows.append(
                Row(
                    record.key,
                    record.value,
                    self.topic,
                    self.partition,
                    base_offset + index,
                    timestamp_ms,
                    CREATE_TIME if log_append_time_ms is None else LOG_APPEND_TIME,
                    _told_headers(record.headers),
                )
            )
        self._sequences[producer_id] = sequence + builder.record_count
        self.log.append_batch(builder.build(), now_ms=T0)
        return base_offset

    def end_transaction(self, producer_id: int, *, commit: bool) -> int:
        """Append a marker and give its offset."""
        marker = EndTransactionMarker(commit, 0)
        return self.log.append_control(producer_id, 0, marker, now_ms=T0)

    def roll(self) -> None:
        """Begin a new segment."""
        self.log.roll(T0)

    def flush(self) -> None:
        """Put everything on disk, the active segment's index entries too."""
        self.log.flush()

    def close(self) -> None:
        """Close the files; indexes are cut to their size and a snapshot is taken."""
        self.log.flush()
        self.log.segments.take_snapshot(self.log.log_end_offset, self.log.producer_state)
        self.log.close()

    def crash(self) -> None:
        """Remove what only a stop leaves, and what knows the end of the log: after close()."""
        for suffix in (".snapshot", ".index", ".timeindex"):
            for path in self.directory.glob(f"*{suffix}"):
                path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _told_headers(headers: Headers) -> tuple[tuple[str, bytes | None], ...] | None:
    return tuple((normalised_header_key(key).decode(), value) for key, value in headers) or None


def whole_split(root: Path, *, first_offset: int = 0, end_offset: int = 1 << 62) -> Split:
    """One split over all files of the only partition below a log directory, or of a partition."""
    (found,) = find_partitions(LocalFileIO(), str(root)).values()
    ranges = tuple(SegmentRange(one, 0, one.size_bytes) for one in found.segments)
    return Split(str(root), found.topic, found.partition, ranges, first_offset, end_offset)


def write_segment(
    root: Path, data: bytes, *, topic: str = "topic", partition: int = 0, base_offset: int = 0
) -> Path:
    """Write bytes as a .log file without any index and give its path."""
    directory = root / partition_directory(topic, partition)
    directory.mkdir(parents=True, exist_ok=True)
    path = Path(segment_stem(str(directory), base_offset) + ".log")
    path.write_bytes(data)
    return path


def damage(path: Path, position: int, xor: int = 0xFF) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[position] ^= xor
    path.write_bytes(data)


def cut(path: Path, size_bytes: int) -> None:
    """Cut a file to a size."""
    path.write_bytes(path.read_bytes()[:size_bytes])


def legacy_message(
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    magic: int = 1,
    timestamp_ms: int = T0,
    attributes: int = 0,
) -> bytes:
    """A message of magic 0 or 1 (R-60)."""
    body = bytes((magic, attributes))
    if magic == 1:
        body += timestamp_ms.to_bytes(8, "big", signed=True)
    body += _legacy_sized(key) + _legacy_sized(value)
    checked = zlib.crc32(body).to_bytes(4, "big") + body
    return offset.to_bytes(8, "big") + len(checked).to_bytes(4, "big") + checked


def legacy_wrapper(
    offset: int, messages: Iterable[bytes], *, magic: int = 1, attributes: int = 0
) -> bytes:
    """A gzip wrapper around messages (R-65)."""
    value = gzip.compress(b"".join(messages), mtime=0)
    return legacy_message(offset, None, value, magic=magic, attributes=attributes | 1)


def _legacy_sized(value: bytes | None) -> bytes:
    return b"\xff" * 4 if value is None else len(value).to_bytes(4, "big") + value

"""A log directory of any size that takes no disk: names, sizes, and what a plan reads of the files.

Each segment has a batch at its start and at each entry of its index, as in tests.bench.planning.
The files are made when they are opened. Opening one may cost a round trip, as in an object store.
"""

import struct
import time
from typing import Final, NamedTuple

from broker_lite.log.files.names import parse_segment_file
from broker_lite.pipeline.files.file_io import REMOTE_READ_BYTES, FileInfo, Lasting, ReadableFile
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder

ENTRIES: Final = 4
SEGMENT_RECORDS: Final = 1_000
T0: Final = 1_700_000_000_000
ROOT: Final = "/logs"


class _Shape(NamedTuple):
    """How large it is.

    Attributes:
        partitions: of one topic.
        segments: of each partition.
        segment_bytes: the size of each .log file.
        round_trip_s: how long it takes to list a directory or to open a file.
    """

    partitions: int
    segments: int
    segment_bytes: int
    round_trip_s: float = 0.0


class SimulatedLog(_Shape):
    """The read part of a FileIO."""

    @property
    def read_bytes(self) -> int:
        """See FileIO."""
        return REMOTE_READ_BYTES

    def list(self, path: str) -> list[FileInfo]:
        """See FileIO."""
        time.sleep(self.round_trip_s)
        if path == ROOT:
            return [FileInfo(f"bench-{number}", 0, True) for number in range(self.partitions)]
        sizes = {".index": ENTRIES * 8, ".log": self.segment_bytes, ".timeindex": 12}
        return [
            FileInfo(f"{number * SEGMENT_RECORDS:020}{suffix}", size_bytes, False)
            for number in range(self.segments)
            for suffix, size_bytes in sizes.items()
        ]

    def exists(self, path: str) -> bool:
        """See FileIO; there are no checkpoints."""
        time.sleep(self.round_trip_s)
        return False

    def open(self, path: str) -> ReadableFile:
        """See FileIO."""
        time.sleep(self.round_trip_s)
        parsed = parse_segment_file(path.rpartition("/")[2])
        assert parsed is not None
        base_offset, suffix = parsed
        if suffix == ".log":
            return _Segment(base_offset, self.segment_bytes)
        if suffix == ".index":
            entries = (
                (part * whole // (ENTRIES + 1) for whole in (SEGMENT_RECORDS, self.segment_bytes))
                for part in range(1, ENTRIES + 1)
            )
            return _Small(b"".join(struct.pack(">ii", *entry) for entry in entries))
        assert suffix == ".timeindex"
        return _Small(struct.pack(">qi", T0 + base_offset // SEGMENT_RECORDS, 0))


class _Small(Lasting):
    """An index."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self._data[position : position + size_bytes]

    def next_data(self, position: int) -> int:
        return position


class _Segment(Lasting):
    """A .log file: some batches, zeros in between, and a batch at the end."""

    def __init__(self, base_offset: int, size_bytes: int) -> None:
        self._base_offset = base_offset
        self._size_bytes = size_bytes

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        size_bytes = max(min(size_bytes, self._size_bytes - position), 0)
        data = bytearray(size_bytes)
        for part in range(ENTRIES + 2):
            begin = min(part * self._size_bytes // (ENTRIES + 1), self._size_bytes - len(_BATCH))
            if position < begin + len(_BATCH) and begin < position + size_bytes:
                batch = self._batch(part)
                low, high = max(begin, position), min(begin + len(batch), position + size_bytes)
                data[low - position : high - position] = batch[low - begin : high - begin]
        return bytes(data)

    def next_data(self, position: int) -> int:
        for part in range(ENTRIES + 2):
            begin = min(part * self._size_bytes // (ENTRIES + 1), self._size_bytes - len(_BATCH))
            if position < begin + len(_BATCH):
                return max(position, begin)
        return max(position, self._size_bytes)

    def _batch(self, part: int) -> bytes:
        batch = bytearray(_BATCH)
        view = RecordBatch(memoryview(batch), 0, len(batch))
        relative = min(part * SEGMENT_RECORDS // (ENTRIES + 1), SEGMENT_RECORDS - 1)
        view.set_last_offset(self._base_offset + relative)
        return bytes(batch)


def _one_batch() -> bytes:
    builder = BatchBuilder()
    builder.append(T0, b"key", b"value" * 20)
    return bytes(builder.build())


_BATCH: Final = _one_batch()

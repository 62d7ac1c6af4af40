"""One canned run in memory, and any range of its endless repetition as parts to send.

Batch number b of a synthetic log is batch `b % batch_count` of the run, with the base offset
`b * batch_records`. Only its first 16 bytes differ from those of the run: base offset, length,
leader epoch.

The batches are in an anonymous file: of each, 16 bytes are sent from memory, and the rest from the
file by os.sendfile. That is two system calls a batch, so small batches are copied together with
their first 16 bytes into one part. Measured on two busy cores of a virtual machine: the broker's
CPU for answers of 1 MB, beside stored records of the same sizes in the same run.

    batches of        2 KB    4 KB    8 KB    16 KB   1 MB
    from the file     x 6.2   x 2.9   x 2.2   x 1.35  x 1.07
    copied            x 1.7   x 1.7   x 1.5   x 1.55  x 1.85

See: F-16.
"""

import os
import struct
from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

from broker_lite.log.files.open_file import FileSlice
from broker_lite.record.batch import LOG_OVERHEAD
from broker_lite.record.canned import CannedShape, canned_batches

SENDFILE_BYTES_MIN: Final = 12 * 1024
"""Batches that are smaller on average are copied."""
COPIED_BYTES_MAX: Final = 1 << 20
"""So much of one answer is copied at most: its memory is held until the client has taken it."""
SENT_BYTES_MAX: Final = 16 << 20
"""So much of one answer comes from the file at most, which is less than 3,000 parts."""

_STAMP: Final = struct.Struct(">qii")
_STAMP_BYTES: Final = _STAMP.size


class AnonymousFile:
    """A file without a name, in memory; it is gone with the last reference to this object."""

    __slots__ = ("fd",)

    def __init__(self) -> None:
        self.fd = -1
        self.fd = os.memfd_create("canned-run", os.MFD_CLOEXEC)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def write(self, data: memoryview) -> None:
        """Append all data.

        Raises:
            OSError: there is no memory.
        """
        while data:
            data = data[os.write(self.fd, data) :]


class CannedRun:
    """The batches of one shape.

    Attributes:
        shape: that decides the batches.
        size_bytes: the memory of the run.
        answer_bytes_max: how much of it one answer may have.
    """

    def __init__(self, shape: CannedShape, batches: Iterable[memoryview]) -> None:
        """Keep batches.

        Args:
            shape: of the batches.
            batches: the whole ones, then the tail if the shape has one.

        Raises:
            OSError: there is no memory, or no descriptor.
        """
        kept = list(batches)
        self.shape = shape
        self._batch_count = shape.batch_count
        self._sizes = [len(batch) for batch in kept]
        # where each whole batch begins in a run, and where the run ends
        self._positions = array("q", [0])
        for size_bytes in self._sizes[: self._batch_count]:
            self._positions.append(self._positions[-1] + size_bytes)
        self._run_bytes = self._positions[-1]
        self.size_bytes = sum(self._sizes)
        self._is_copied = self._run_bytes < SENDFILE_BYTES_MIN * self._batch_count
        self.answer_bytes_max = COPIED_BYTES_MAX if self._is_copied else SENT_BYTES_MAX
        self._rests: list[memoryview | FileSlice] = []
        if self._is_copied:
            self._rests += [batch[_STAMP_BYTES:] for batch in kept]
        else:
            self._rests += _in_file(kept)

    def position_of(self, batch: int) -> int:
        """Return the bytes of all batches before a whole batch, in a log that begins at 0."""
        runs, index = divmod(batch, self._batch_count)
        return runs * self._run_bytes + self._positions[index]

    def size_of(self, batch: int, batch_end: int) -> int:
        """Return the size of a batch; number `batch_end` is the tail."""
        return self._sizes[self._index(batch, batch_end)]

    def size_to_end(self, batch: int, batch_end: int) -> int:
        """Return the bytes from a batch to the end of a log of `batch_end` batches and the tail."""
        tail_bytes = self._sizes[-1] if self.shape.tail_records else 0
        return self.position_of(batch_end) + tail_bytes - self.position_of(batch)

    def parts(self, piece: "CannedSlice") -> list[bytes | FileSlice]:
        """Return the bytes of a piece of the log in the order in which they are sent."""
        parts: list[bytes | memoryview | FileSlice] = []
        batch, left_bytes, epoch = piece.batch, piece.size_bytes, piece.leader_epoch
        while left_bytes > 0:
            index = self._index(batch, piece.batch_end)
            size_bytes = self._sizes[index]
            base_offset = batch * self.shape.batch_records
            parts.append(_STAMP.pack(base_offset, size_bytes - LOG_OVERHEAD, epoch))
            parts.append(self._rests[index])
            left_bytes -= size_bytes
            batch += 1
        if left_bytes < 0:
            _cut(parts, size_bytes + left_bytes)
        if self._is_copied:
            return [b"".join(part for part in parts if not isinstance(part, FileSlice))]
        return [part for part in parts if not isinstance(part, memoryview)]

    def _index(self, batch: int, batch_end: int) -> int:
        return self._batch_count if batch == batch_end else batch % self._batch_count


class CannedSlice(NamedTuple):
    """A piece of a synthetic log: it stands for `size_bytes` bytes, from a whole batch on.

    Attributes:
        run: that is repeated.
        batch: the number of the first batch.
        batch_end: the number of whole batches of the log, which is that of the tail.
        leader_epoch: stamped into each batch.
        size_bytes: the piece may end inside a batch.
    """

    run: CannedRun
    batch: int
    batch_end: int
    leader_epoch: int
    size_bytes: int

    def parts(self) -> list[bytes | FileSlice]:
        """Return the bytes in the order in which they are sent."""
        return self.run.parts(self)


def make_run(shape: CannedShape) -> CannedRun:
    """Make the run of a shape; this takes up to 0.8 s, and belongs into a thread.

    Raises:
        OSError: there is no memory, or no descriptor.
    """
    return CannedRun(shape, canned_batches(shape))


def _in_file(batches: list[memoryview]) -> list[FileSlice]:
    """Write batches into a new file; return where each is, without its first 16 bytes."""
    file, position, rests = AnonymousFile(), 0, []
    for batch in batches:
        file.write(batch)
        rest_bytes = len(batch) - _STAMP_BYTES
        rests.append(FileSlice(file.fd, position + _STAMP_BYTES, rest_bytes, file))
        position += len(batch)
    return rests


def _cut(parts: "list[bytes | memoryview | FileSlice]", size_bytes: int) -> None:
    """Keep only so many bytes of the last batch, which is two parts."""
    rest, stamp = parts.pop(), parts.pop()
    assert isinstance(stamp, bytes)
    parts.append(stamp[:size_bytes])
    rest_bytes = size_bytes - _STAMP_BYTES
    if rest_bytes <= 0:
        return
    if isinstance(rest, FileSlice):
        parts.append(rest._replace(size_bytes=rest_bytes))
    else:
        parts.append(rest[:rest_bytes])

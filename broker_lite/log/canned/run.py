"""One canned run in memory, and any range of its endless repetition as parts to send.

Batch number b of a synthetic log is batch `b % batch_count` of the run, with the base offset
`b * batch_records`. Only its first 16 bytes differ from those of the run: base offset, length,
leader epoch.

Large batches are in a file without a name: of each, 16 bytes are sent from memory, and the rest
from the file by os.sendfile. That is two system calls a batch. The rests of small batches are in
memory: one system call sends many of them with their first 16 bytes, and the kernel copies them.

What was measured beside it, as CPU for 10^9 bytes in answers of 1 MB over loopback, with nothing
but the sending process (one sendfile of a stored file took 0.05 s):

    batches of                      4 KB      16 KB     1 MB
    two calls a batch, from a file  0.99 s    0.30 s    0.05 s
    the same, from a memfd          0.99 s    0.34 s    0.07 s
    one call for many, from memory  0.15 s    0.12 s    0.10 s
    each run written anew, to a     0.75 s    0.68 s    0.63 s
    memfd, and one sendfile of it

A memfd costs more than a file on disk, because its pages are small. To change the first bytes of
batches in a file that was sent is no way: the receiver's kernel may still refer to its pages.

See: F-16.
"""

import os
import struct
from array import array
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.log.files.open_file import FileSlice
from broker_lite.record.batch import LOG_OVERHEAD
from broker_lite.record.canned import CannedShape, canned_batches

SENDFILE_BYTES_MIN: Final = 64 * 1024
"""Batches that are smaller on average are sent from memory."""
ANSWER_BYTES_MAX: Final = 16 << 20
ANSWER_BATCHES_MAX: Final = 2048
"""So many batches are in one answer at most: to list their parts takes 1 ms."""

_STAMP: Final = struct.Struct(">qii")
_STAMP_BYTES: Final = _STAMP.size


class AnonymousFile:
    """A file without a name; it is gone with the last reference to this object."""

    __slots__ = ("fd",)

    def __init__(self, directory: Path | None) -> None:
        """Make it in a directory if its file system has such files, else in memory only.

        Raises:
            OSError: there is no descriptor.
        """
        self.fd = -1
        if directory is not None:
            with suppress(OSError):
                self.fd = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
                return
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


class RunBytes(bytes):
    """A part of a run."""

    __slots__ = ()


class CannedRun:
    """The batches of one shape.

    Attributes:
        shape: that decides the batches.
        size_bytes: the memory of the run.
        answer_bytes_max: how much of it one answer may have.
    """

    def __init__(
        self, shape: CannedShape, batches: Iterable[memoryview], directory: Path | None = None
    ) -> None:
        """Keep batches.

        Args:
            shape: of the batches.
            batches: the whole ones, then the tail if the shape has one.
            directory: see make_run().

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
        batch_bytes = self._run_bytes // self._batch_count
        self.answer_bytes_max = min(ANSWER_BYTES_MAX, ANSWER_BATCHES_MAX * batch_bytes)
        self._rests: list[bytes | FileSlice] = []
        if batch_bytes < SENDFILE_BYTES_MIN:
            self._rests += [RunBytes(batch[_STAMP_BYTES:]) for batch in kept]
        else:
            self._rests += _in_file(kept, directory)

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
        parts: list[bytes | FileSlice] = []
        batch, left_bytes, epoch = piece.batch, piece.size_bytes, piece.leader_epoch
        batch_end, batch_count = piece.batch_end, self._batch_count
        batch_records, sizes, rests = self.shape.batch_records, self._sizes, self._rests
        while left_bytes > 0:
            index = batch_count if batch == batch_end else batch % batch_count
            size_bytes = sizes[index]
            parts.append(_STAMP.pack(batch * batch_records, size_bytes - LOG_OVERHEAD, epoch))
            parts.append(rests[index])
            left_bytes -= size_bytes
            batch += 1
        if left_bytes < 0:
            _cut(parts, size_bytes + left_bytes)
        return parts

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


def make_run(shape: CannedShape, directory: Path | None = None) -> CannedRun:
    """Make the run of a shape; this takes up to 0.8 s, and belongs into a thread.

    Args:
        shape: of the batches.
        directory: where the file of large batches is made, which has no name.

    Raises:
        OSError: there is no memory, no space, or no descriptor.
    """
    return CannedRun(shape, canned_batches(shape), directory)


def _in_file(batches: list[memoryview], directory: Path | None) -> list[FileSlice]:
    """Write batches into a new file; return where each is, without its first 16 bytes."""
    file, position, rests = AnonymousFile(directory), 0, []
    # At once: a file system that has pages of several sizes takes large ones then.
    file.write(memoryview(b"".join(batches)))
    for batch in batches:
        rest_bytes = len(batch) - _STAMP_BYTES
        rests.append(FileSlice(file.fd, position + _STAMP_BYTES, rest_bytes, file))
        position += len(batch)
    return rests


def _cut(parts: "list[bytes | FileSlice]", size_bytes: int) -> None:
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

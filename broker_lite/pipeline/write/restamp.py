"""Moves the batches of a file to other offsets, by bytes that no checksum covers.

See: R-20 (DefaultRecordBatch.setLastOffset, DefaultRecordBatch.setPartitionLeaderEpoch).
"""

import mmap
import struct
from typing import Final

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.record.batch import LOG_OVERHEAD

_PREFIX: Final = struct.Struct(">qii")
"""Base offset, length and leader epoch."""
READ_BYTES: Final = 4 << 20


def restamp_local(path: str, shift: int, leader_epoch: int | None) -> None:
    """Shift the offsets of a local file of v2 batches in place, and set their leader epoch.

    Without a leader epoch, each batch keeps its own.

    Raises:
        OSError: the file cannot be opened.
    """
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        _restamp(data, 0, len(data), shift, leader_epoch)


def restamp_copy(
    io: FileIO,
    source: str,
    target: str,
    shift: int,
    leader_epoch: int | None,
    *,
    read_bytes: int = READ_BYTES,
) -> None:
    """Do the same in a copy, for storage whose files cannot be changed in place.

    Args:
        io: opens both files.
        source: path of the file.
        target: path of the copy.
        shift: is added to all offsets.
        leader_epoch: of all batches; None lets each keep its own.
        read_bytes: how much is read at once; a larger batch is read as a whole.

    Raises:
        OSError: a file cannot be read or written.
    """
    with io.open(source) as file, io.create(target) as copy:
        position, size_bytes = 0, read_bytes
        while position < file.size_bytes:
            data = bytearray(file.read_at(position, size_bytes))
            end = _restamp(data, 0, len(data), shift, leader_epoch)
            if not end:  # a batch that is larger than what was read
                size_bytes = LOG_OVERHEAD + _PREFIX.unpack_from(data)[1]
                continue
            copy.write(memoryview(data)[:end])
            position, size_bytes = position + end, read_bytes


def _restamp(
    data: bytearray | mmap.mmap, position: int, end: int, shift: int, leader_epoch: int | None
) -> int:
    """Change the whole batches from a position on; return the position after them."""
    while position + _PREFIX.size <= end:
        base_offset, length, epoch = _PREFIX.unpack_from(data, position)
        following = position + LOG_OVERHEAD + length
        if following > end:
            break
        if leader_epoch is not None:
            epoch = leader_epoch
        _PREFIX.pack_into(data, position, base_offset + shift, length, epoch)
        position = following
    return position

"""Checks of index files, snapshots and epoch checkpoints as a whole, not of their entries."""

from collections.abc import Iterator
from typing import Final

from broker_lite.log.files.index import OffsetIndex, TimeIndex
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
)
from broker_lite.log.files.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.log.files.txn_index import CorruptTransactionIndex
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot
from broker_lite.pipeline.audit.task import Finding
from broker_lite.pipeline.files.file_io import FileIO, join
from broker_lite.pipeline.files.indexes import aborted_transactions
from broker_lite.pipeline.files.layout import PartitionLog, Segment

_SMALL_BYTES: Final = 64 << 20
"""No sound snapshot or epoch checkpoint is larger; of a larger one only this much is read."""
_ENTRY_BYTES: Final = {
    INDEX_SUFFIX: OffsetIndex.ENTRY.size,
    TIME_INDEX_SUFFIX: TimeIndex.ENTRY.size,
    TRANSACTION_INDEX_SUFFIX: TRANSACTION_ENTRY.size,
}
_BOTH_OR_NONE: Final = {INDEX_SUFFIX: "S-10", TIME_INDEX_SUFFIX: "S-11"}


def partition_files(io: FileIO, log: PartitionLog) -> Iterator[Finding]:
    """Check sizes and encoding of a partition's indexes, producer snapshots and epoch checkpoint.

    See: S-10 to S-12, S-16, S-17, S-60.
    """
    try:
        sizes = {info.name: info.size_bytes for info in io.list(log.directory)}
    except FileNotFoundError:
        return  # deleted since it was listed
    for segment in log.segments:
        yield from _judge_indexes(io, segment, sizes)
    for name in sizes:
        parsed = parse_segment_file(name)
        if name == EPOCH_FILE or (parsed is not None and parsed[1] == SNAPSHOT_SUFFIX):
            yield from _judge_small(io, join(log.directory, name))


def _judge_indexes(io: FileIO, segment: Segment, sizes: dict[str, int]) -> Iterator[Finding]:
    for suffix, entry_bytes in _ENTRY_BYTES.items():
        path = segment.stem + suffix
        size_bytes = sizes.get(path.rpartition("/")[2])
        if size_bytes is None:
            # A log may be copied without its indexes; but if one of the two is there, the other was
            # lost.
            if suffix in _BOTH_OR_NONE and segment.suffixes & _BOTH_OR_NONE.keys():
                yield Finding(path, -1, _BOTH_OR_NONE[suffix], "is not there")
        elif size_bytes % entry_bytes:
            text = f"{size_bytes} bytes are no whole entries of {entry_bytes}"
            yield Finding(path, size_bytes // entry_bytes * entry_bytes, "S-12", text)
    try:
        transactions = aborted_transactions(io, segment)
    except CorruptTransactionIndex as error:
        yield Finding(segment.stem + TRANSACTION_INDEX_SUFFIX, -1, "S-16", str(error))
        return
    for number, one in enumerate(transactions):
        if not 0 <= one.last_stable_offset <= one.last_offset + 1:
            text = f"last stable offset {one.last_stable_offset} with a marker at {one.last_offset}"
            position = number * TRANSACTION_ENTRY.size
            yield Finding(segment.stem + TRANSACTION_INDEX_SUFFIX, position, "S-16", text)


def _judge_small(io: FileIO, path: str) -> Iterator[Finding]:
    try:
        with io.open(path) as file:
            data = file.read_at(0, min(file.size_bytes, _SMALL_BYTES))
    except FileNotFoundError:
        return  # deleted since it was listed
    try:
        if path.endswith(SNAPSHOT_SUFFIX):
            decode_snapshot(data)
        else:
            LeaderEpochCache.from_text(data.decode())
    except CorruptSnapshot as error:
        yield Finding(path, -1, "S-17", str(error))
    except ValueError as error:  # a CorruptCheckpoint is one
        yield Finding(path, -1, "S-60", str(error))

"""Which records of a partition belong to aborted or undecided transactions, told by its files.

Two questions. Up to where is everything decided (the last stable offset): the newest producer
snapshot says which transactions were open, the batches after it how they went on. And which batches
below it were aborted: the indexes of aborted transactions say so, as a broker does it. A log that
has none of these indexes may have lost them when it was copied; then the markers among its batches
are looked at, from where a split begins to where the last of its transactions ends.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.log.names import SNAPSHOT_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.log.producer_snapshot import CorruptSnapshot, decode_snapshot
from broker_lite.log.txn_index import CorruptTransactionIndex
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.indexes import aborted_transactions
from broker_lite.pipeline.files.layout import PartitionLog, Segment, find_partitions
from broker_lite.pipeline.files.positions import boundary
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import read_end_transaction_marker

_NEVER: Final = 1 << 63


class AbortedRanges:
    """Ranges of offsets by producer, within which its transactional batches do not count."""

    def __init__(self) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}

    def add(self, producer_id: int, first_offset: int, last_offset: int) -> None:
        """Add a transaction; last_offset is that of its marker."""
        self._ranges.setdefault(producer_id, []).append((first_offset, last_offset))

    def hides(self, batch: RecordBatch) -> bool:
        """Whether a batch is part of one of them.

        Rule: F-14 (CompletedFetch.isBatchAborted).
        """
        return batch.is_transactional and any(
            first_offset <= batch.base_offset <= last_offset
            for first_offset, last_offset in self._ranges.get(batch.producer_id, ())
        )


def last_stable_offset(
    io: FileIO, log: PartitionLog, end_offset: int, *, decided_below: int = 0
) -> int:
    """Find the first offset of the oldest transaction that is open, else the end of the log.

    Args:
        io: of the log.
        log: as it was listed.
        end_offset: of the log; what lies behind it does not count.
        decided_below: an earlier answer about the same log; what is in front of it is not read.

    Raises:
        OSError: a file cannot be read.

    Rule: S-17, V-64 (ProducerStateManager.firstUnstableOffset).
    """
    if not log.segments:
        return end_offset
    index, position, started = _undecided_from(io, log, decided_below)
    ranges = [SegmentRange(segment, 0, segment.size_bytes) for segment in log.segments[index:]]
    ranges[0] = ranges[0]._replace(start_position=position)
    # Its end was found after the listing, and may lie in what was appended in between.
    ranges[-1] = ranges[-1]._replace(end_position=io.size(ranges[-1].segment.log_path))
    for found in _batches(io, ranges, decided_below, end_offset, _pass_over):
        batch = found.batch
        if isinstance(batch, RecordBatch) and batch.is_transactional:
            if batch.is_control:
                started.pop(batch.producer_id, None)
            else:
                started.setdefault(batch.producer_id, batch.base_offset)
    return min(started.values(), default=end_offset)


def _undecided_from(
    io: FileIO, log: PartitionLog, decided_below: int
) -> tuple[int, int, dict[int, int]]:
    """Where open transactions are looked for: a segment's index, a position, what is open there."""
    for index in range(len(log.segments) - 1, 0, -1):
        segment = log.segments[index]
        if segment.base_offset <= decided_below:
            return index, boundary(io, segment, decided_below).start_position, {}
        started = _open_transactions(io, segment)
        if started is not None:
            return index, 0, started
    return 0, boundary(io, log.segments[0], decided_below).start_position, {}


def _open_transactions(io: FileIO, segment: Segment) -> dict[int, int] | None:
    """First offsets by producer of what is open where a segment begins; None if nothing tells."""
    if SNAPSHOT_SUFFIX not in segment.suffixes:
        return None
    try:
        with io.open(segment.stem + SNAPSHOT_SUFFIX) as file:
            entries = decode_snapshot(file.read_at(0, file.size_bytes))
    except (FileNotFoundError, CorruptSnapshot):
        return None
    return {
        entry.producer_id: entry.transaction_first_offset
        for entry in entries
        if entry.transaction_first_offset >= 0
    }


def find_aborted(io: FileIO, split: Split, on_corrupt: OnCorruption) -> AbortedRanges:
    """Find what of a split, below the last stable offset, belongs to aborted transactions.

    Args:
        io: of the split.
        split: with one range at least.
        on_corrupt: gets markers that cannot be read; their transactions count as aborted.

    Raises:
        OSError: a file cannot be read.

    Rule: F-14, S-16 (LocalLog.collectAbortedTransactions).
    """
    first = split.ranges[0].segment
    (log,) = find_partitions(io, first.directory).values()
    segments = [one for one in log.segments if one.base_offset >= first.base_offset]
    found = AbortedRanges()
    if any(TRANSACTION_INDEX_SUFFIX in segment.suffixes for segment in log.segments):
        try:
            for segment in segments:
                for entry in aborted_transactions(io, segment):
                    found.add(entry.producer_id, entry.first_offset, entry.last_offset)
        except CorruptTransactionIndex:
            found = AbortedRanges()
        else:
            return found
    _add_by_markers(found, io, split, _to_the_end(split, segments), on_corrupt)
    return found


def _to_the_end(split: Split, segments: Iterable[Segment]) -> Iterator[SegmentRange]:
    """The ranges of a split, and what comes behind them."""
    yield from split.ranges
    last = split.ranges[-1]
    for segment in segments:
        if segment.base_offset == last.segment.base_offset:
            yield SegmentRange(segment, last.end_position, segment.size_bytes)
        elif segment.base_offset > last.segment.base_offset:
            yield SegmentRange(segment, 0, segment.size_bytes)


def _add_by_markers(
    found: AbortedRanges,
    io: FileIO,
    split: Split,
    ranges: Iterable[SegmentRange],
    on_corrupt: OnCorruption,
) -> None:
    """Look for the markers of all transactions that have batches in a split."""
    started: dict[int, int] = {}
    for one in _batches(io, ranges, split.first_offset, _NEVER, _pass_over):
        batch = one.batch
        is_behind = batch.last_offset >= split.end_offset
        if isinstance(batch, RecordBatch) and batch.is_transactional:
            if not batch.is_control:
                if batch.base_offset < split.end_offset:
                    started.setdefault(batch.producer_id, batch.base_offset)
            elif batch.producer_id in started:
                first_offset = started.pop(batch.producer_id)
                if not _is_commit(one, batch, on_corrupt):
                    found.add(batch.producer_id, first_offset, batch.base_offset)
        if is_behind and not started:
            return
    for producer_id, first_offset in started.items():
        found.add(producer_id, first_offset, _NEVER)


def _is_commit(place: LogBatch, batch: RecordBatch, on_corrupt: OnCorruption) -> bool:
    try:
        marker = read_end_transaction_marker(batch)
    except BrokerError as error:
        path = place.segment.log_path
        on_corrupt(Corruption(path, place.position, "R-43", f"no marker: {error}"))
        return False
    return marker is not None and marker.is_commit


def _pass_over(corruption: Corruption) -> None:
    """Damage is told by who reads the records; here it would be told twice."""


def _batches(
    io: FileIO,
    ranges: Iterable[SegmentRange],
    first_offset: int,
    end_offset: int,
    on_corrupt: OnCorruption,
) -> Iterator[LogBatch]:
    split = Split("", "", 0, tuple(ranges), first_offset, end_offset)
    return read_batches(io, split, check_crc=False, on_corrupt=on_corrupt, skip_missing=True)

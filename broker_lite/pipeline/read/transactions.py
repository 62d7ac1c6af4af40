"""Finds the records of aborted and of open transactions in the files of a partition.

It answers two questions. First, the last stable offset, below which every transaction is decided:
the newest producer snapshot lists the open transactions, and the batches after it show how they
ended. Second, which batches below it were aborted: the markers tell, so they are read from the
start of a split to the end of its last transaction. The indexes of aborted transactions, which a
broker trusts, are used only for a transaction that ends far behind the split, and where damage may
have destroyed a marker.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.log.files.txn_index import AbortedTransaction, CorruptTransactionIndex
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot
from broker_lite.pipeline.files.file_io import FileIO, read_whole
from broker_lite.pipeline.files.indexes import aborted_transactions
from broker_lite.pipeline.files.layout import PartitionLog, Segment, find_partitions
from broker_lite.pipeline.files.positions import boundary
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.options import IsolationLevel
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import read_end_transaction_marker

LOOK_AHEAD_BYTES: Final = 256 << 20
"""How far behind a split to read for markers. Without a limit, all splits of a very long
transaction would read to its end.
"""

_NEVER: Final = 1 << 63
_FOREVER: Final = 1 << 63


class AbortedRanges:
    """The aborted transactions: ranges of offsets by producer."""

    def __init__(self) -> None:
        # Those of a producer are sorted and apart, so that one is found among 100,000.
        self._ranges: dict[int, list[tuple[int, int]]] = {}

    def add(self, producer_id: int, first_offset: int, last_offset: int) -> None:
        """Add a transaction; last_offset is that of its marker."""
        ranges = self._ranges.setdefault(producer_id, [])
        begin = end = bisect_left(ranges, (first_offset,))
        if begin and ranges[begin - 1][1] >= first_offset:
            begin -= 1
        while end < len(ranges) and ranges[end][0] <= last_offset:
            end += 1
        for first, last in ranges[begin:end]:
            first_offset, last_offset = min(first, first_offset), max(last, last_offset)
        ranges[begin:end] = [(first_offset, last_offset)]

    def hides(self, batch: RecordBatch) -> bool:
        """Tell whether a batch belongs to one of them.

        See: F-14 (CompletedFetch.isBatchAborted).
        """
        if not batch.is_transactional:
            return False
        ranges = self._ranges.get(batch.producer_id, [])
        behind = bisect_left(ranges, (batch.base_offset + 1,))
        return behind > 0 and batch.base_offset <= ranges[behind - 1][1]


class HiddenBatches:
    """The batches of a split that a reader of committed records does not see.

    The first transactional batch triggers the search for the aborted ones.
    """

    def __init__(
        self, io: FileIO, split: Split, level: IsolationLevel, on_corrupt: OnCorruption
    ) -> None:
        self._io = io
        self._split = split
        self._is_committed_only = level is IsolationLevel.READ_COMMITTED
        self._on_corrupt = on_corrupt
        self._aborted: AbortedRanges | None = None

    def has(self, batch: RecordBatch) -> bool:
        """Tell whether a batch of the split was aborted, and that counts."""
        if not (self._is_committed_only and batch.is_transactional):
            return False
        if self._aborted is None:
            self._aborted = find_aborted(self._io, self._split, self._on_corrupt)
        return self._aborted.hides(batch)


def last_stable_offset(
    io: FileIO,
    log: PartitionLog,
    end_offset: int,
    *,
    on_corrupt: OnCorruption,
    decided_below: int = 0,
) -> int:
    """Return the first offset of the oldest open transaction, else the end of the log.

    Args:
        io: opens the log.
        log: as it was listed.
        end_offset: of the log; anything behind it is ignored.
        on_corrupt: called for damage; a damaged marker leaves its transaction open.
        decided_below: an earlier result for the same log; nothing below it is read again.

    Raises:
        OSError: a file cannot be read.

    See: S-17, V-64 (ProducerStateManager.firstUnstableOffset).
    """
    if not log.segments:
        return end_offset
    index, position, started = _undecided_from(io, log, decided_below)
    ranges = [SegmentRange(segment, 0, segment.size_bytes) for segment in log.segments[index:]]
    ranges[0] = ranges[0]._replace(start_position=position)
    # end_offset is newer than the listing, so the last segment may have grown meanwhile.
    ranges[-1] = ranges[-1]._replace(end_position=io.size(ranges[-1].segment.log_path))
    reached = decided_below

    def tell(corruption: Corruption) -> None:
        if reached < end_offset:  # behind it are a torn tail and newer appends
            on_corrupt(corruption)

    first_offset = max(decided_below, ranges[0].segment.base_offset)
    split = Split("", "", 0, tuple(ranges), first_offset, _NEVER, log.cleaned_end)
    for found in _batches(io, split, tell):
        batch = found.batch
        if isinstance(batch, RecordBatch) and batch.base_offset >= end_offset:
            break
        reached = batch.next_offset
        if isinstance(batch, RecordBatch) and batch.is_transactional:
            if batch.is_control:
                started.pop(batch.producer_id, None)
            else:
                started.setdefault(batch.producer_id, batch.base_offset)
    return min(started.values(), default=end_offset)


def _undecided_from(
    io: FileIO, log: PartitionLog, decided_below: int
) -> tuple[int, int, dict[int, int]]:
    """Return where to begin: index of a segment, position, and the transactions open there."""
    for index in range(len(log.segments) - 1, 0, -1):
        segment = log.segments[index]
        if segment.base_offset <= decided_below:
            return index, boundary(io, segment, decided_below).start_position, {}
        started = _open_transactions(io, segment)
        if started is not None:
            return index, 0, started
    return 0, boundary(io, log.segments[0], decided_below).start_position, {}


def _open_transactions(io: FileIO, segment: Segment) -> dict[int, int] | None:
    """Read the transactions open at a segment's start, by producer; None without a snapshot."""
    if SNAPSHOT_SUFFIX not in segment.suffixes:
        return None
    try:
        entries = decode_snapshot(read_whole(io, segment.stem + SNAPSHOT_SUFFIX))
    except (FileNotFoundError, CorruptSnapshot):
        return None
    return {
        entry.producer_id: entry.transaction_first_offset
        for entry in entries
        if entry.transaction_first_offset >= 0
    }


def find_aborted(
    io: FileIO,
    split: Split,
    on_corrupt: OnCorruption,
    *,
    look_ahead_bytes: int = LOOK_AHEAD_BYTES,
) -> AbortedRanges:
    """Find the aborted transactions of a split that ends below the last stable offset.

    Args:
        io: opens the split.
        split: with at least one range.
        on_corrupt: called for unreadable markers; their transactions count as aborted.
        look_ahead_bytes: how far behind the split markers are looked for if there are indexes.

    Raises:
        OSError: a file cannot be read.

    See: F-14, S-16 (LocalLog.collectAbortedTransactions).
    """
    first = split.ranges[0].segment
    (log,) = find_partitions(io, first.directory).values()
    segments = [one for one in log.segments if one.base_offset >= first.base_offset]
    indexed = _indexed(io, log, segments)
    ahead_bytes = _FOREVER if indexed is None else look_ahead_bytes
    search = _MarkerSearch(split, on_corrupt)
    search.look(io, _from(split, segments, ahead_bytes))
    if indexed is None:
        for producer_id, first_offset in search.started.items():
            search.found.add(producer_id, first_offset, _NEVER)
    else:
        for entry in indexed:
            if search.met_damage or entry.producer_id in search.started:
                search.found.add(entry.producer_id, entry.first_offset, entry.last_offset)
    return search.found


def _indexed(
    io: FileIO, log: PartitionLog, segments: Iterable[Segment]
) -> list[AbortedTransaction] | None:
    """Read the index entries from a segment on; None if there are no indexes, or one is wrong."""
    if not any(TRANSACTION_INDEX_SUFFIX in segment.suffixes for segment in log.segments):
        return None
    try:
        return [entry for one in segments for entry in aborted_transactions(io, one)]
    except CorruptTransactionIndex:
        return None


def _from(split: Split, segments: Iterable[Segment], ahead_bytes: int) -> Iterator[SegmentRange]:
    """Yield the ranges of a split, and then about `ahead_bytes` behind them."""
    yield from split.ranges
    last = split.ranges[-1]
    for segment in segments:
        if segment.base_offset < last.segment.base_offset:
            continue
        is_last = segment.base_offset == last.segment.base_offset
        start = last.end_position if is_last else 0
        end = min(segment.size_bytes, start + ahead_bytes)
        if start < end:
            yield SegmentRange(segment, start, end)
            ahead_bytes -= end - start


class _MarkerSearch:
    """Searches for the markers of all transactions that have batches in a split.

    Attributes:
        found: the aborted transactions.
        started: first offset, by producer, of each transaction without a marker yet.
        met_damage: whether damage may have destroyed a marker.
    """

    def __init__(self, split: Split, on_corrupt: OnCorruption) -> None:
        self.found = AbortedRanges()
        self.started: dict[int, int] = {}
        self.met_damage = False
        self._split = split
        self._on_corrupt = on_corrupt

    def look(self, io: FileIO, ranges: Iterable[SegmentRange]) -> None:
        """Read ranges until all transactions of the split have ended."""
        end_offset = self._split.end_offset
        split = Split("", "", 0, tuple(ranges), self._split.first_offset, _NEVER)
        for one in _batches(io, split, self._pass_over):
            batch = one.batch
            if isinstance(batch, RecordBatch) and batch.is_transactional:
                if batch.is_control:
                    self._end(one, batch)
                elif batch.base_offset < end_offset:
                    self.started.setdefault(batch.producer_id, batch.base_offset)
            if batch.last_offset >= end_offset and not self.started:
                return

    def _end(self, place: LogBatch, batch: RecordBatch) -> None:
        first_offset = self.started.pop(batch.producer_id, None)
        if first_offset is not None and not _is_commit(place, batch, self._on_corrupt):
            self.found.add(batch.producer_id, first_offset, batch.base_offset)

    def _pass_over(self, corruption: Corruption) -> None:
        """Only note damage: the reader of the records reports it."""
        self.met_damage = True


def _is_commit(place: LogBatch, batch: RecordBatch, on_corrupt: OnCorruption) -> bool:
    try:
        marker = read_end_transaction_marker(batch)
    except BrokerError as error:
        path = place.segment.log_path
        on_corrupt(Corruption(path, place.position, "R-43", f"no marker: {error}"))
        return False
    return marker is not None and marker.is_commit


def _batches(io: FileIO, split: Split, on_corrupt: OnCorruption) -> Iterator[LogBatch]:
    return read_batches(io, split, check_crc=True, on_corrupt=on_corrupt, skip_missing=True)

"""Checks every index entry of a segment against its batches, in one pass over the segment.

Each kind of index has a judge. It takes the batches in order and returns an entry as soon as a
batch decides whether it is right. An entry out of order is wrong at once, so that it does not make
all later entries wrong.

A caller that only needs the wrong entries lets a BatchWalk pass over sound batches and right
entries in compiled code. hand_over() gives it the state of the judges, take_over() takes it back.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import BrokerError
from broker_lite.log.files.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.index_entries import (
    offset_entries,
    time_entries,
    transaction_entries,
)
from broker_lite.pipeline.files.layout import EVERY_OFFSET, Segment
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.batch_walk import BatchWalk, IndexCursor
from broker_lite.record.control import read_end_transaction_marker
from broker_lite.record.legacy.messages import LegacyMessage

LEADS_BEHIND: Final = "leads behind the last batch"

_BEHIND_ALL: Final = 1 << 64
_NO_OFFSET: Final = -1
_ORDER: Final = "is not below the entry behind it"


class JudgedEntry(NamedTuple):
    """An index entry, and what is wrong with it.

    Attributes:
        kind: offset, time or transaction.
        suffix: of its file.
        key: an offset, a timestamp, or the first offset of a transaction.
        leads_to: a position, an offset, or the offset of a marker.
        error: rule and text; None if the entry is right.
    """

    kind: str
    suffix: str
    key: int
    leads_to: int
    error: str | None


class IndexEntry(NamedTuple):
    """A key and the place it leads to; relative offsets are made absolute."""

    key: int
    value: int


class Judge(Protocol):
    """Judges the entries of one index."""

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """Yield the entries that a batch decides."""

    def rest(self) -> Iterator[JudgedEntry]:
        """Yield the entries that no batch decided."""


class SegmentJudges:
    """A judge for each index of a segment."""

    def __init__(self, io: FileIO, segment: Segment) -> None:
        self._base_offset = segment.base_offset
        self._offsets = OffsetJudge(offset_entries(io, segment), segment.base_offset)
        self._times = TimeJudge(time_entries(io, segment), segment.base_offset)
        self._transactions = TransactionJudge(io, segment)
        self._all: tuple[Judge, ...] = (self._offsets, self._times, self._transactions)

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """Yield the entries that a batch decides; the batches come in order."""
        for judge in self._all:
            yield from judge.take(found)

    def rest(self) -> Iterator[JudgedEntry]:
        """Yield the entries that no batch decided."""
        for judge in self._all:
            yield from judge.rest()

    def hand_over(self, walk: BatchWalk) -> bool:
        """Give the state of the judges to a walk; False if the next batch must go to take()."""
        pending = self._offsets.pending
        if len(pending) > 1:
            return False
        walk.file_offset = self._base_offset
        walk.offsets = self._offsets.entries
        walk.times = self._times.entries
        if pending:
            walk.pending = pending[0].key - self._base_offset
            walk.pending_position = pending[0].value
        else:
            walk.pending = _NO_OFFSET
        walk.max_timestamp = self._times.max_timestamp
        entries = self._transactions.entries
        walk.stop_offset = entries[0].last_offset if entries else EVERY_OFFSET
        return True

    def take_over(self, walk: BatchWalk) -> None:
        """Take the state back from the walk that hand_over() started."""
        self._times.max_timestamp = walk.max_timestamp
        self._offsets.pending.clear()
        if walk.pending != _NO_OFFSET:
            self._offsets.pending.append(
                IndexEntry(self._base_offset + walk.pending, walk.pending_position)
            )


def judged_entries(
    io: FileIO, split: Split, segment: Segment, *, skip_missing: bool
) -> Iterator[JudgedEntry]:
    """Check all index entries of a segment in a separate pass.

    Damage is skipped here, because other views report it; an entry that leads there is wrong.

    Args:
        io: opens the segment.
        split: a split that has the segment.
        segment: read from its start to the end that it had when it was listed.
        skip_missing: a segment that vanished counts as empty.

    Raises:
        FileNotFoundError: the segment vanished.
        OSError: a file cannot be read.
    """
    judges = SegmentJudges(io, segment)
    whole = SegmentRange(segment, 0, segment.size_bytes)
    for found in read_batches(
        io,
        split._replace(ranges=(whole,), first_offset=0, end_offset=EVERY_OFFSET),
        check_crc=False,
        on_corrupt=_pass_over,
        skip_missing=skip_missing,
    ):
        yield from judges.take(found)
    yield from judges.rest()


def _pass_over(corruption: Corruption) -> None:
    """Do nothing: the record view and the batch view report damage."""


def _due(entries: IndexCursor, value: int) -> Iterator[tuple[int, int, bool]]:
    """Take the entries that lead below a value, and entries out of order in front of them.

    An entry out of order behind a right one is left for the next call, as the compiled walk does.

    Yields:
        Key and value of an entry, and whether it is in order.
    """
    in_front = True
    while entries.is_there and (entries.value < value or (in_front and not entries.is_below)):
        entry = entries.key, entries.value, entries.is_below
        in_front = in_front and not entries.is_below
        entries.advance()
        yield entry


class OffsetJudge:
    """Checks .index: an entry has the last offset of an append, and the position where it starts.

    An append can have several batches, so the position and the offset may be those of two batches.

    Attributes:
        pending: entries whose position is right and whose offset is still to come.

    See: S-10, S-13 (OffsetIndex).
    """

    def __init__(self, entries: IndexCursor, base_offset: int) -> None:
        self.entries = entries
        self.pending: deque[IndexEntry] = deque()
        self._base_offset = base_offset

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch, end = found.batch, found.position + found.batch.size_bytes
        for relative, position, is_below in _due(self.entries, end):
            entry = IndexEntry(self._base_offset + relative, position)
            if not is_below:
                yield self._judged(entry, _ORDER)
            elif position != found.position:
                yield self._judged(entry, f"no batch starts at {position}")
            elif isinstance(batch, RecordBatch) and entry.key < batch.base_offset:
                yield self._judged(entry, f"the batch there begins at {batch.base_offset}")
            else:
                self.pending.append(entry)
        while self.pending and self.pending[0].key <= batch.last_offset:
            entry = self.pending.popleft()
            is_last = entry.key == batch.last_offset
            yield self._judged(entry, None if is_last else "is not the last offset of a batch")

    def rest(self) -> Iterator[JudgedEntry]:
        """See Judge."""
        for entry in self.pending:
            yield self._judged(entry, "is not the last offset of a batch")
        for relative, position, is_below in _due(self.entries, _BEHIND_ALL):
            entry = IndexEntry(self._base_offset + relative, position)
            yield self._judged(entry, LEADS_BEHIND if is_below else _ORDER)

    def _judged(self, entry: IndexEntry, text: str | None) -> JudgedEntry:
        error = None if text is None else f"S-10: offset {entry.key} {text}"
        return JudgedEntry("offset", INDEX_SUFFIX, entry.key, entry.value, error)


class TimeJudge:
    """Checks .timeindex: an entry has the largest timestamp up to an offset.

    Attributes:
        max_timestamp: of the batches so far.

    See: S-11, S-14 (TimeIndex).
    """

    def __init__(self, entries: IndexCursor, base_offset: int) -> None:
        self.entries = entries
        self.max_timestamp = -1
        self._base_offset = base_offset

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch = found.batch
        own = batch.timestamp if isinstance(batch, LegacyMessage) else batch.max_timestamp
        self.max_timestamp = max(self.max_timestamp, own)
        relative_end = batch.last_offset + 1 - self._base_offset
        for timestamp, relative, is_below in _due(self.entries, relative_end):
            offset = self._base_offset + relative
            text = None if is_below else _ORDER
            if text is None and timestamp != self.max_timestamp:
                text = f"is not the youngest up to offset {offset}: {self.max_timestamp}"
            elif text is None and timestamp != own:
                text = f"is not that of the batch with offset {offset}: {own}"
            yield self._judged(timestamp, offset, text)

    def rest(self) -> Iterator[JudgedEntry]:
        """See Judge."""
        for timestamp, relative, is_below in _due(self.entries, _BEHIND_ALL):
            text = LEADS_BEHIND if is_below else _ORDER
            yield self._judged(timestamp, self._base_offset + relative, text)

    def _judged(self, timestamp: int, offset: int, text: str | None) -> JudgedEntry:
        error = None if text is None else f"S-11: timestamp {timestamp} {text}"
        return JudgedEntry("time", TIME_INDEX_SUFFIX, timestamp, offset, error)


class TransactionJudge:
    """Checks .txnindex: an entry has an aborted transaction whose marker lies in the segment.

    See: S-16 (TransactionIndex).
    """

    def __init__(self, io: FileIO, segment: Segment) -> None:
        # There are few entries, so a deque of them is small.
        self.entries = deque(transaction_entries(io, segment))

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch, entries = found.batch, self.entries
        while entries and entries[0].last_offset <= batch.last_offset:
            entry = entries.popleft()
            text = None
            if entry.first_offset > entry.last_offset:
                text = "ends before it begins"
            elif not _is_abort_marker(batch, entry.producer_id, entry.last_offset):
                text = f"of producer {entry.producer_id} has no marker at {entry.last_offset}"
            yield self._judged(entry.first_offset, entry.last_offset, text)

    def rest(self) -> Iterator[JudgedEntry]:
        """See Judge."""
        for entry in self.entries:
            yield self._judged(entry.first_offset, entry.last_offset, LEADS_BEHIND)

    def _judged(self, first_offset: int, last_offset: int, text: str | None) -> JudgedEntry:
        error = None if text is None else f"S-16: transaction from {first_offset} {text}"
        return JudgedEntry(
            "transaction", TRANSACTION_INDEX_SUFFIX, first_offset, last_offset, error
        )


def _is_abort_marker(batch: RecordBatch | LegacyMessage, producer_id: int, offset: int) -> bool:
    if not (
        isinstance(batch, RecordBatch)
        and batch.is_control
        and batch.producer_id == producer_id
        and batch.last_offset == offset
    ):
        return False
    try:
        marker = read_end_transaction_marker(batch)
    except BrokerError:
        return False
    return marker is not None and not marker.is_commit

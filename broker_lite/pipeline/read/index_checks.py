"""Is every entry of a segment's indexes true? Judged by the batches, in one pass over the segment.

Each kind of index has a judge. It takes the batches by rising offset, and gives each of its entries
back as soon as the batch is there that decides about it. An entry that is not below the one behind
it is judged at once, so that one wrong entry does not make all behind it wrong.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import BrokerError
from broker_lite.log.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.index_entries import (
    IndexEntry,
    offset_entries,
    time_entries,
    transaction_entries,
)
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.batches import LogBatch
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import read_end_transaction_marker
from broker_lite.record.legacy import LegacyMessage

_BEHIND_ALL: Final = 1 << 64
_BEHIND: Final = "leads behind the last batch"
_ORDER: Final = "is not below the entry behind it"


class JudgedEntry(NamedTuple):
    """An entry, and what is wrong with it.

    Attributes:
        kind: offset, time or transaction.
        suffix: of its file.
        key: an offset, a timestamp, or the first offset of a transaction.
        leads_to: a position, an offset, or the offset of a marker.
        error: rule and text, None when the entry is true.
    """

    kind: str
    suffix: str
    key: int
    leads_to: int
    error: str | None


class Judge(Protocol):
    """Judges the entries of one index."""

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """Give the entries about which a batch decides."""

    def rest(self) -> Iterator[JudgedEntry]:
        """Give the entries about which none decided."""


def judges_of(io: FileIO, segment: Segment) -> tuple[Judge, ...]:
    """Give a judge for each index of a segment."""
    return (
        OffsetJudge(offset_entries(io, segment)),
        TimeJudge(time_entries(io, segment)),
        TransactionJudge(io, segment),
    )


class _Entries:
    """Entries with a look at the next one; keys rise, values never fall, or rise as well."""

    def __init__(self, entries: Iterator[IndexEntry], *, values_rise: bool) -> None:
        self._entries = entries
        self._step = 1 if values_rise else 0
        self._next = next(entries, None)
        self._behind = next(entries, None)

    def due(self, value: int) -> Iterator[tuple[IndexEntry, bool]]:
        """Take the entries that lead below a value, or are not below the one behind them.

        Yields:
            The entry, and whether it is below the one behind it.
        """
        while (entry := self._next) is not None:
            behind = self._behind
            is_below = behind is None or (
                entry.key < behind.key and entry.value + self._step <= behind.value
            )
            if is_below and entry.value >= value:
                return
            self._next, self._behind = behind, next(self._entries, None)
            yield entry, is_below


class OffsetJudge:
    """An entry of .index names the last offset of an append, and the position where it starts.

    An append can have several batches, so the batch at the position and the one with the offset
    need not be the same.

    Rule: S-10, S-13 (OffsetIndex).
    """

    def __init__(self, entries: Iterator[IndexEntry]) -> None:
        self._entries = _Entries(entries, values_rise=True)
        self._started: deque[IndexEntry] = deque()

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch, end = found.batch, found.position + found.batch.size_bytes
        for entry, is_below in self._entries.due(end):
            if not is_below:
                yield self._judged(entry, _ORDER)
            elif entry.value != found.position:
                yield self._judged(entry, f"no batch starts at {entry.value}")
            elif isinstance(batch, RecordBatch) and entry.key < batch.base_offset:
                yield self._judged(entry, f"the batch there begins at {batch.base_offset}")
            else:
                self._started.append(entry)
        while self._started and self._started[0].key <= batch.last_offset:
            entry = self._started.popleft()
            is_last = entry.key == batch.last_offset
            yield self._judged(entry, None if is_last else "is not the last offset of a batch")

    def rest(self) -> Iterator[JudgedEntry]:
        """See Judge."""
        for entry in self._started:
            yield self._judged(entry, "is not the last offset of a batch")
        for entry, is_below in self._entries.due(_BEHIND_ALL):
            yield self._judged(entry, _BEHIND if is_below else _ORDER)

    def _judged(self, entry: IndexEntry, text: str | None) -> JudgedEntry:
        error = None if text is None else f"S-10: offset {entry.key} {text}"
        return JudgedEntry("offset", INDEX_SUFFIX, entry.key, entry.value, error)


class TimeJudge:
    """An entry of .timeindex says how young the records are up to an offset.

    Rule: S-11, S-14 (TimeIndex).
    """

    def __init__(self, entries: Iterator[IndexEntry]) -> None:
        self._entries = _Entries(entries, values_rise=False)
        self._max_timestamp = -1

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch = found.batch
        own = batch.timestamp if isinstance(batch, LegacyMessage) else batch.max_timestamp
        self._max_timestamp = max(self._max_timestamp, own)
        for entry, is_below in self._entries.due(batch.last_offset + 1):
            text = None if is_below else _ORDER
            if text is None and entry.key != self._max_timestamp:
                text = f"is not the youngest up to offset {entry.value}: {self._max_timestamp}"
            elif text is None and entry.key != own:
                text = f"is not that of the batch with offset {entry.value}: {own}"
            yield self._judged(entry, text)

    def rest(self) -> Iterator[JudgedEntry]:
        """See Judge."""
        for entry, is_below in self._entries.due(_BEHIND_ALL):
            yield self._judged(entry, _BEHIND if is_below else _ORDER)

    def _judged(self, entry: IndexEntry, text: str | None) -> JudgedEntry:
        error = None if text is None else f"S-11: timestamp {entry.key} {text}"
        return JudgedEntry("time", TIME_INDEX_SUFFIX, entry.key, entry.value, error)


class TransactionJudge:
    """An entry of .txnindex names an aborted transaction, whose marker lies in the segment.

    Rule: S-16 (TransactionIndex).
    """

    def __init__(self, io: FileIO, segment: Segment) -> None:
        # There are few: a transaction takes longer than a batch.
        self._entries = deque(transaction_entries(io, segment))

    def take(self, found: LogBatch) -> Iterator[JudgedEntry]:
        """See Judge."""
        batch, entries = found.batch, self._entries
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
        for entry in self._entries:
            yield self._judged(entry.first_offset, entry.last_offset, _BEHIND)

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

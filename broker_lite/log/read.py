"""Reading a log by offset: finds the bytes of a file that answer a fetch.

No record is read here, only batch headers; for a reader at the end of the log not even those.

Rule: F-10, F-12.
"""

import errno
import logging
from bisect import bisect_left
from operator import attrgetter
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError, OffsetOutOfRange, UnknownServerError
from broker_lite.log.canned.endless import LOG_START
from broker_lite.log.files.open_file import FileSlice
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction, CorruptTransactionIndex
from broker_lite.log.files.walk import first_batch_size
from broker_lite.log.log import Log
from broker_lite.log.segments import Segments

logger = logging.getLogger("broker_lite.log")

READ_UNCOMMITTED: Final = 0
WHOLE_LOG: Final = -1
READ_COMMITTED: Final = 1
# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

_LAST_OFFSET: Final = attrgetter("last_offset")
_OUT_OF_DESCRIPTORS: Final = frozenset((errno.EMFILE, errno.ENFILE))


class LogRead(NamedTuple):
    """The answer to a fetch of one partition, with the offsets as they were when it was read.

    aborted_transactions is None for readers of uncommitted records.

    See: F-06 (FetchDataInfo).
    """

    slice: FileSlice | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted_transactions: list[AbortedTransaction] | None


class SeenOffsets(NamedTuple):
    """The offsets of a partition as clients see them: those of a synthetic topic are not stored."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int


def seen_offsets(log: Log) -> SeenOffsets:
    """Return the offsets of a partition as clients see them.

    See: F-16.
    """
    if log.visibility.synthetic is not None:
        end_offset = log.visibility.synthetic.end_offset
        return SeenOffsets(LOG_START, end_offset, end_offset, end_offset)
    return SeenOffsets(
        log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_stable_offset
    )


def read_log(
    log: Log,
    offset: int,
    *,
    max_bytes: int,
    isolation_level: int = READ_UNCOMMITTED,
    min_one_batch: bool = True,
    replica_end: int = WHOLE_LOG,
    with_aborted: bool = True,
) -> LogRead:
    """Find the stored bytes that a fetch from an offset gets.

    Args:
        log: to read.
        offset: of the first record that is wanted; the answer begins with the batch that holds it.
        max_bytes: at least 0; the range may end inside a batch.
        isolation_level: READ_COMMITTED for committed records only.
        min_one_batch: give the first batch even if it is larger than max_bytes.
        replica_end: where the replica ends that is read, if it has less than the log.
        with_aborted: list the aborted transactions for a reader of committed records. Who reads
            few of the batches asks aborted_within() for those, because there may be a million.

    Raises:
        OffsetOutOfRange: below the log start offset or above the log end offset.
        UnknownServerError: max_bytes is negative.
        KafkaStorageError: a file cannot be read.

    See: F-05, F-10 to F-14, S-20 to S-22 (UnifiedLog.read).
    """
    end, start = log.visibility.high_watermark, log.log_start_offset
    if offset < start or offset > log.log_end_offset:
        raise OffsetOutOfRange
    stable = log.last_stable_offset
    if replica_end != WHOLE_LOG:
        if offset > replica_end:
            raise OffsetOutOfRange
        end, stable = min(end, replica_end), min(stable, replica_end)
    limit = stable if isolation_level == READ_COMMITTED else end
    if offset < limit:
        if max_bytes < 0:
            raise UnknownServerError
        try:
            found = _read_below(
                log, offset, limit, max_bytes, isolation_level, min_one_batch, with_aborted
            )
            if replica_end != WHOLE_LOG:
                return found._replace(high_watermark=end, last_stable_offset=stable)
            return found
        except (OSError, CorruptTransactionIndex) as error:
            if not _may_ask_again(log, error):
                raise KafkaStorageError from error
            return LogRead(None, end, stable, start, [] if isolation_level else None)
    aborted: list[AbortedTransaction] | None = [] if isolation_level == READ_COMMITTED else None
    return LogRead(None, end, stable, start, aborted)


def _may_ask_again(log: Log, error: OSError | CorruptTransactionIndex) -> bool:
    """Return whether a read failed only because too many ranges are being sent.

    Then the reader gets nothing now, and asks again. Another reason is logged.
    """
    if isinstance(error, OSError) and error.errno in _OUT_OF_DESCRIPTORS:
        return True
    logger.warning("read failed directory=%s reason=%s", log.directory, error)
    return False


def _read_below(
    log: Log,
    offset: int,
    limit: int,
    max_bytes: int,
    isolation_level: int,
    min_one_batch: bool,
    with_aborted: bool,
) -> LogRead:
    end, start = log.visibility.high_watermark, log.log_start_offset
    stable = limit if isolation_level == READ_COMMITTED else log.last_stable_offset
    segments = log.segments
    segment = segments.active
    if offset < segment.base_offset:
        segment = segments.holding(offset)
    position = segment.recent.get(offset, -1)
    first_bytes = 0
    if position < 0:
        located = locate(segments, segment, offset)
        if located is None:
            return LogRead(None, end, stable, start, [] if isolation_level else None)
        segment, position, first_bytes = located
    limit_position = segment.size_bytes
    if limit != log.log_end_offset:
        limit_position = limit_in(segments, segment, limit)
    size_bytes = limit_position - position
    file = segment.file()
    if max_bytes < size_bytes:
        # One whole batch if min_one_batch asks for it; otherwise nothing, but no fragment (F-11).
        if max_bytes < segment.largest_bytes:
            first_bytes = first_bytes or first_batch_size(file, position)
        if max_bytes < first_bytes and not min_one_batch:
            # Kafka answers with a list if it did not try to read, and with none if it dropped a
            # fragment.
            tried = max_bytes > 0 or isolation_level != READ_COMMITTED
            found = None if tried else aborted_transactions(log, segment, offset, position)
            return LogRead(None, end, stable, start, found)
        size_bytes = max(max_bytes, first_bytes)
    if size_bytes <= 0:
        return LogRead(None, end, stable, start, [] if isolation_level else None)
    aborted = None
    if isolation_level == READ_COMMITTED and with_aborted:
        aborted = aborted_transactions(log, segment, offset, position + size_bytes)
    found_slice = _make(FileSlice, (file.fd, position, size_bytes, file))
    return _make(LogRead, (found_slice, end, stable, start, aborted))


def locate(
    segments: Segments, segment: LogSegment, offset: int
) -> tuple[LogSegment, int, int] | None:
    """Find the first batch that reaches an offset, in a segment or the ones after it.

    Returns:
        The segment, the position and the size of the batch; None if no batch reaches the offset.

    Rule: S-20 (LocalLog.read).
    """
    while True:
        found = segment.find(offset)
        if found is not None:
            return segment, *found
        following = segments.after(segment)
        if following is None:
            return None
        segment = following


def limit_in(segments: Segments, segment: LogSegment, limit: int) -> int:
    """Find the position in a segment at which a reader's limit offset lies.

    Rule: F-13, S-22 (UnifiedLog.convertToOffsetMetadataOrThrow).
    """
    if limit <= segment.base_offset:
        return 0
    following = segments.after(segment)
    if following is not None and limit >= following.base_offset:
        return segment.size_bytes
    position = segment.recent.get(limit, -1)
    if position >= 0:
        return position
    found = segment.find(limit)
    return found[0] if found is not None else segment.size_bytes


def aborted_transactions(
    log: Log, segment: LogSegment, offset: int, end_position: int
) -> list[AbortedTransaction]:
    """List the aborted transactions that a reader of these bytes needs.

    Args:
        log: that is read.
        segment: that holds the bytes.
        offset: of the first record.
        end_position: where the bytes end in the segment.

    Rule: F-14 (LocalLog.addAbortedTransactions).
    """
    following = log.segments.after(segment)
    upper_bound = segment.offset_behind(end_position)
    if upper_bound is None:
        upper_bound = following.base_offset if following is not None else log.log_end_offset
    return _aborted_between(log, segment, offset, upper_bound)


def aborted_within(
    log: Log, first_offset: int, last_offset: int
) -> list[AbortedTransaction] | None:
    """List the aborted transactions that have any offset of a range.

    Args:
        log: that is read.
        first_offset: that of a batch which was found just now.
        last_offset: inclusive.

    Returns:
        Those; None if they cannot be read now, so that the reader gets nothing, and asks again.

    Raises:
        KafkaStorageError: an index cannot be read.

    See: F-14.
    """
    try:
        segment = log.segments.holding(first_offset)
        return _aborted_between(log, segment, first_offset, last_offset + 1)
    except (OSError, CorruptTransactionIndex) as error:
        if not _may_ask_again(log, error):
            raise KafkaStorageError from error
        return None


def _aborted_between(
    log: Log, segment: LogSegment, offset: int, upper_bound: int
) -> list[AbortedTransaction]:
    """List the aborted transactions from a segment on that have any offset below a bound."""
    found: list[AbortedTransaction] = []
    current: LogSegment | None = segment
    while current is not None:
        entries = current.transaction_index.entries()
        # there may be a million, and a reader at the end of the log needs the last few
        for index in range(bisect_left(entries, offset, key=_LAST_OFFSET), len(entries)):
            entry = entries[index]
            if entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return found
        current = log.segments.after(current)
    return found

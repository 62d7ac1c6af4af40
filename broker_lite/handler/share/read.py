"""Read the records of share partitions for a member that acquires them.

A difference to Kafka: where several partitions have records, the first gets as many bytes as the
request allows, and the others what is left. Kafka gives each the same share of the bytes.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from anyio import to_thread

from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.share_records.aborted import (
    AbortedTransaction,
    AbortedTransactions,
    archive_aborted,
    told_apart,
)
from broker_lite.coordinator.share_records.acquire import (
    Range,
    Wish,
    acquire,
    last_wanted,
    may_acquire,
)
from broker_lite.coordinator.share_records.missing import archive_missing
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import KafkaStorageError, OffsetOutOfRange
from broker_lite.handler.share.partition import Answer, Found
from broker_lite.log.files import txn_index
from broker_lite.log.files.headers import BatchHeader, walk_headers
from broker_lite.log.files.open_file import FileSlice, OpenFile, ReadsAt
from broker_lite.log.log import Log
from broker_lite.log.read import READ_COMMITTED, READ_UNCOMMITTED, LogRead, aborted_within, read_log
from broker_lite.record.batch import CURRENT_MAGIC, RecordBatch

logger = logging.getLogger("broker_lite.handler")

_AT_ONCE_BYTES_MAX: Final = 1 << 20
_SHORT_BYTES: Final = 64 << 10
"""So many bytes are read by one call, the headers of their record batches as well."""
_NOTHING: Final = LogRead(None, -1, -1, -1, None)


class Room(NamedTuple):
    """What is left of the limits of a request.

    Attributes:
        size_bytes: of the records.
        is_first: whether a batch that is larger may be given all the same.
    """

    size_bytes: int
    is_first: bool


class _Batches(NamedTuple):
    """Record batches that lie one behind the other in a file.

    Attributes:
        headers: of the record batches.
        data: their bytes, from the first to the last.
        listed: the aborted transactions among them; none for readers of uncommitted records.
    """

    headers: list[BatchHeader]
    data: bytes
    listed: Sequence[txn_index.AbortedTransaction]


class _Loaded:
    """A range of a file that is read at once, to be read as the file."""

    def __init__(self, file: OpenFile, found: FileSlice) -> None:
        """Read it.

        Raises:
            OSError: it cannot be read.
        """
        self._position = found.position
        self._data = file.read_at(found.position, found.size_bytes)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return bytes of the range, fewer where it ends."""
        begin = position - self._position
        return self._data[begin : begin + size_bytes]


def readable_bytes(partition: SharePartition, log: Log, wish: Wish, bytes_max: int) -> int:
    """Return how many bytes a member could get now; 0 for none."""
    if not may_acquire(partition, wish):
        return 0
    found = _read(partition, log, Room(bytes_max, True)).slice
    return 0 if found is None else found.size_bytes


async def read_and_acquire(
    shares: Shares,
    found: Found,
    partition: SharePartition,
    wish: Wish,
    room: Room,
    answer: Answer,
) -> bool:
    """Let a member acquire records of a partition, and read them.

    They are read before they are acquired: what cannot be read stays available to others. If there
    are many bytes, a thread reads them. Meanwhile others may acquire the same records, and this
    member gets what is left.

    Returns:
        Whether the member is answered for what was read, even if all of it was aborted.
        Without memory to acquire any it waits.

    Raises:
        BrokerError: the log cannot be read, or what has changed cannot be written.

    See: K-11 (DelayedShareFetch).
    """
    key, log = found
    shares.run_due(key)
    if not _may_acquire(shares, key, partition, wish):
        return False
    first_offset = partition.next_offset()
    read = _read(partition, log, room)
    if read.slice is None:
        return False
    batches = await _batches(log, read.slice, partition, wish)
    if batches is None:
        return False
    deadline_ms = shares.run_due(key) + partition.settings.lock_duration_ms
    if not _may_acquire(shares, key, partition, wish):
        return False
    headers = batches.headers
    ranges = [Range(each.base_offset, each.last_offset) for each in headers]
    shares.settle(key, archive_missing(partition, ranges, first_offset), log.leader_epoch)
    aborted = _aborted(batches)
    acquired = acquire(partition, wish, told_apart(partition, ranges, aborted), deadline_ms)
    if acquired and aborted:
        acquired = archive_aborted(partition, acquired, aborted)
    shares.follow(key)
    if acquired:
        answer.acquired = acquired
        answer.records = _bytes_of(batches, acquired[0][0], acquired[-1][1])
    return bool(acquired) or partition.in_flight.has_room(2)


def _may_acquire(shares: Shares, key: ShareKey, partition: SharePartition, wish: Wish) -> bool:
    """Return whether records can be acquired; they cannot if the share partition was dropped."""
    return shares.partition(key) is partition and may_acquire(partition, wish)


def _read(partition: SharePartition, log: Log, room: Room) -> LogRead:
    """Find the bytes from the next offset on; none if it is behind the end of the log."""
    if log.visibility.synthetic is not None:
        return _NOTHING
    isolation = READ_COMMITTED if partition.settings.is_committed else READ_UNCOMMITTED
    try:
        return read_log(
            log,
            partition.next_offset(),
            max_bytes=room.size_bytes,
            isolation_level=isolation,
            min_one_batch=room.is_first,
            with_aborted=False,
        )
    except OffsetOutOfRange:
        return _NOTHING


async def _batches(
    log: Log, found: FileSlice, partition: SharePartition, wish: Wish
) -> _Batches | None:
    """Read the record batches that a member may acquire records of.

    Returns:
        None if they cannot be read now, because too many files are open.

    Raises:
        KafkaStorageError: they cannot be read.
    """
    # of records that were never delivered, no more are acquired than there is room for
    room = max(partition.settings.locks_max - partition.in_flight_count, 0)
    last = min(last_wanted(partition, wish), partition.end_offset + room)
    file = found.owner
    assert isinstance(file, OpenFile)
    is_short = found.size_bytes <= min(_SHORT_BYTES, _AT_ONCE_BYTES_MAX)
    try:
        source: ReadsAt = _Loaded(file, found) if is_short else file
        headers = _headers(source, found, partition.next_offset(), last)
        if not headers:
            return _Batches(headers, b"", ())
        # They are listed before others have their turn, who may drop the segments.
        listed: Sequence[txn_index.AbortedTransaction] | None = ()
        if partition.settings.is_committed:
            listed = aborted_within(log, headers[0].base_offset, headers[-1].base_offset)
        if listed is None:
            return None
        begin, end = headers[0].position, headers[-1].end_position
        work = partial(source.read_at, begin, end - begin)
        data = work() if end - begin <= _AT_ONCE_BYTES_MAX else await to_thread.run_sync(work)
    except OSError as error:
        logger.warning("read failed directory=%s reason=%s", log.directory, error)
        raise KafkaStorageError from error
    if len(data) < end - begin:  # the next read would fail, or the file was cut
        logger.warning("read failed directory=%s reason=file ends early", log.directory)
        raise KafkaStorageError
    return _Batches(headers, data, listed)


def _headers(file: ReadsAt, found: FileSlice, next_offset: int, last: int) -> list[BatchHeader]:
    """Return the headers of record batches up to the one with the last offset that is wanted.

    Raises:
        OSError: the file cannot be read.
    """
    headers = []
    end = found.position + found.size_bytes
    for header in walk_headers(file, found.position, end, next_offset):
        headers.append(header)
        if header.last_offset >= last:
            break
    return headers


def _bytes_of(batches: _Batches, first_offset: int, last_offset: int) -> bytes:
    """Return the record batches that have any record of a range."""
    some = [
        each
        for each in batches.headers
        if each.last_offset >= first_offset and each.base_offset <= last_offset
    ]
    at = batches.headers[0].position
    return batches.data[some[0].position - at : some[-1].end_position - at]


def _aborted(batches: _Batches) -> list[Range]:
    """Return the record batches of aborted transactions among those that were read.

    See: F-14.
    """
    if not batches.listed:
        return []
    transactions = AbortedTransactions(
        [
            AbortedTransaction(each.producer_id, each.first_offset, each.last_offset)
            for each in batches.listed
        ]
    )
    data, at = memoryview(batches.data), batches.headers[0].position
    aborted = []
    for header in batches.headers:
        if header.magic < CURRENT_MAGIC:
            continue
        batch = RecordBatch(data, header.position - at, header.size_bytes)
        is_of_records = batch.is_transactional and not batch.is_control
        if is_of_records and transactions.has(batch.producer_id, header.base_offset):
            aborted.append(Range(header.base_offset, header.last_offset))
    return aborted

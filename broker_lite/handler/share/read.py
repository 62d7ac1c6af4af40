"""Read the records of share partitions for a member that acquires them.

A difference to Kafka: where several partitions have records, the first gets as many bytes as the
request allows, and the others what is left. Kafka gives each the same share of the bytes.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.share_records.aborted import AbortedTransaction, archive_aborted
from broker_lite.coordinator.share_records.acquire import Range, Wish, acquire, last_wanted
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.errors import OffsetOutOfRange
from broker_lite.handler.share.partition import Answer, Found
from broker_lite.log.files.headers import BatchHeader, walk_headers
from broker_lite.log.files.open_file import FileSlice, OpenFile
from broker_lite.log.log import Log
from broker_lite.log.read import READ_COMMITTED, READ_UNCOMMITTED, LogRead, read_log
from broker_lite.record.batch import CURRENT_MAGIC, RECORD_BATCH_OVERHEAD, RecordBatch

_NOTHING: Final = LogRead(None, -1, -1, -1, None)


class Room(NamedTuple):
    """What is left of the limits of a request.

    Attributes:
        size_bytes: of the records.
        is_first: whether a batch that is larger may be given all the same.
    """

    size_bytes: int
    is_first: bool


def readable_bytes(partition: SharePartition, log: Log, bytes_max: int) -> int:
    """Return how many bytes a member could get now; 0 for none."""
    if not partition.may_acquire():
        return 0
    found = _read(partition, log, Room(bytes_max, True)).slice
    return 0 if found is None else found.size_bytes


def read_and_acquire(
    shares: Shares,
    found: Found,
    partition: SharePartition,
    wish: Wish,
    room: Room,
    answer: Answer,
) -> None:
    """Let a member acquire records of a partition, and read them.

    Raises:
        BrokerError: the log cannot be read, or what has changed cannot be written.

    See: K-11 (DelayedShareFetch).
    """
    key, log = found
    now_ms = shares.run_due()
    if not partition.may_acquire():
        return
    read = _read(partition, log, room)
    if read.slice is None:
        return
    headers = _headers(read.slice, partition.next_offset(), last_wanted(partition, wish))
    deadline_ms = now_ms + partition.settings.lock_duration_ms
    ranges = [Range(each.base_offset, each.last_offset) for each in headers]
    acquired = acquire(partition, wish, ranges, deadline_ms)
    update = None
    if acquired and read.aborted_transactions:
        aborted = _aborted(read, headers)
        acquired, update = archive_aborted(partition, acquired, aborted)
    shares.settle(key, update, log.leader_epoch)
    if acquired:
        answer.acquired = acquired
        answer.records = _bytes_of(read.slice, headers, acquired[0][0], acquired[-1][1])


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
        )
    except OffsetOutOfRange:
        return _NOTHING


def _headers(found: FileSlice, next_offset: int, last: int) -> list[BatchHeader]:
    """Return the headers of record batches up to the one with the last offset that is wanted."""
    headers = []
    end = found.position + found.size_bytes
    for header in walk_headers(_file(found), found.position, end, next_offset):
        headers.append(header)
        if header.last_offset >= last:
            break
    return headers


def _file(found: FileSlice) -> OpenFile:
    assert isinstance(found.owner, OpenFile)
    return found.owner


def _bytes_of(
    found: FileSlice, headers: Sequence[BatchHeader], first_offset: int, last_offset: int
) -> bytes:
    """Read the record batches that have any record of a range."""
    some = [
        each
        for each in headers
        if each.last_offset >= first_offset and each.base_offset <= last_offset
    ]
    position = some[0].position
    return _file(found).read_at(position, some[-1].end_position - position)


def _aborted(read: LogRead, headers: Sequence[BatchHeader]) -> list[Range]:
    """Return the record batches of aborted transactions among those that were read.

    See: F-14.
    """
    assert read.slice is not None
    file = _file(read.slice)
    transactions = [
        AbortedTransaction(each.producer_id, each.first_offset, each.last_offset)
        for each in read.aborted_transactions or ()
    ]
    aborted = []
    for header in headers:
        if header.magic < CURRENT_MAGIC:
            continue
        data = memoryview(file.read_at(header.position, RECORD_BATCH_OVERHEAD))
        batch = RecordBatch(data, 0, len(data))
        if batch.is_transactional and not batch.is_control:
            base, producer_id = header.base_offset, batch.producer_id
            if any(each.has(producer_id, base) for each in transactions):
                aborted.append(Range(base, header.last_offset))
    return aborted

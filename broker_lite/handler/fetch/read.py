"""Reading the partitions of a Fetch request: which bytes, or which error, for each of them."""

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio.lowlevel import checkpoint

from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
)
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.log.log import Log
from broker_lite.wire.fetch import FetchedPartition

if TYPE_CHECKING:
    from broker_lite.control.cluster import Cluster

logger = logging.getLogger("broker_lite.handler")

NO_EPOCH: Final = -1
READ_COMMITTED: Final = 1
LOGS_AT_A_TIME: Final = 64
"""Logs that are loaded before other connections have their turn: 2 ms, after a restart 20 ms."""
_FIRST_BATCH_FROM: Final = 3
CURRENT_LEADER_FROM: Final = 16
_MOVED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


class FetchTerms(NamedTuple):
    """What a Fetch request says for all its partitions.

    `isolation_level` is 0 for replicas, which read up to the log end offset. `is_old`: the client
    is answered as an old one.
    """

    version: int
    is_follower: bool
    isolation_level: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    is_old: bool = False


class PartitionRead(NamedTuple):
    """A partition that was looked at; `log` is None where its topic or log cannot be found.

    `is_drained` tells that there is nothing more for this reader until the log changes.
    """

    partition: FetchPartition
    answer: FetchedPartition
    log: Log | None
    size_bytes: int
    is_drained: bool


class FetchRead(NamedTuple):
    """All partitions that were looked at: those of unknown topics after the others.

    `answers_at_once` tells that a partition has something to say that does not wait for bytes,
    `file_count` how many partitions give records, of `files_max` that may.
    """

    partitions: list[PartitionRead]
    unknown_count: int
    size_bytes: int
    answers_at_once: bool
    file_count: int = 0
    files_max: int = 0


class UnknownPartition(Exception):
    """The metadata does not know the partition; found before anything is read."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


async def load_logs(cluster: "Cluster", partitions: list[FetchPartition]) -> None:
    """Load the logs of many partitions, a few at a time: other connections have their turn.

    What fails here fails again, and is told, when it is read.
    """
    for position, partition in enumerate(partitions):
        if position % LOGS_AT_A_TIME == LOGS_AT_A_TIME - 1:
            await checkpoint()
        with suppress(UnknownPartition, BrokerError):
            find_log(cluster, partition)


def read_partitions(
    cluster: "Cluster",
    terms: FetchTerms,
    partitions: list[FetchPartition],
    before: FetchRead | None = None,
) -> FetchRead:
    """Look at partitions in their order, within the limits of the request.

    Records of no more partitions are given than may be open: each keeps a file open until it is
    sent. The others have their turn with the next request. While answers that clients do not take
    hold all files that may be held, no records are given at all.

    Args:
        cluster: where the logs are.
        terms: of the request.
        partitions: in their order.
        before: what partitions before these gave; its bytes and files count for the limits.

    Rule: F-04 to F-06 (ReplicaManager.readFromLog).
    See: F-03, F-11, F-30.
    """
    reads: list[PartitionRead] = []
    unknown: list[PartitionRead] = []
    size_bytes = file_count = 0
    left_bytes = terms.max_bytes
    files_max = cluster.logs.sent_files_max
    has_files = files_max > 0
    if before is not None and before.partitions:
        size_bytes, file_count, files_max = before.size_bytes, before.file_count, before.files_max
        left_bytes = max(left_bytes - size_bytes, 0)
        has_files = file_count < files_max
    if not has_files:
        left_bytes = 0
    answers_at_once = False
    for partition in partitions:
        try:
            log = find_log(cluster, partition)
            is_first = has_files and not size_bytes and terms.version >= _FIRST_BATCH_FROM
            read = _read(log, terms, partition, left_bytes, is_first)
        except UnknownPartition as absent:
            unknown.append(_unknown(partition, absent.code))
            continue
        except BrokerError as error:
            read = _failed(cluster, terms, partition, error.code)
        except Exception:
            logger.exception("fetch failed topic=%s partition=%d", *partition.key)
            read = _failed(cluster, terms, partition, ErrorCode.UNKNOWN_SERVER_ERROR)
        reads.append(read)
        answer = read.answer
        # A negative limit fails the first partition, and is 0 for the second.
        left_bytes = max(left_bytes - read.size_bytes, 0)
        if read.size_bytes:
            size_bytes += read.size_bytes
            file_count += 1
            if file_count == files_max:
                left_bytes = 0
        elif answer.error_code or answer.diverging_epoch is not None:
            answers_at_once = True
    return FetchRead(
        reads + unknown, len(unknown), size_bytes, answers_at_once, file_count, files_max
    )


def find_log(cluster: "Cluster", partition: FetchPartition) -> Log:
    """Find the log of a partition by the name or id of its topic.

    Raises:
        UnknownPartition: the metadata does not have it.
        KafkaStorageError: it cannot be loaded.

    Rule: F-04.
    """
    name = partition.topic
    if isinstance(name, bytes):
        topic = cluster.topics_by_id.get(name)
        if topic is None:
            raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_ID)
    else:
        topic = cluster.topics.get(name)
        if topic is None:
            raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not 0 <= partition.index < topic.partition_count:
        raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return cluster.log(topic.name, partition.index)


def check_leader_epoch(log: Log, current_leader_epoch: int) -> None:
    """Demand that a client and this leader know the same leader epoch; -1 is not checked.

    Raises:
        FencedLeaderEpoch: the client's is older.
        UnknownLeaderEpoch: the client's is newer.

    Rule: F-05, F-20 (Partition.checkCurrentLeaderEpoch).
    """
    if current_leader_epoch == NO_EPOCH or current_leader_epoch == log.leader_epoch:
        return
    if current_leader_epoch < log.leader_epoch:
        raise FencedLeaderEpoch
    raise UnknownLeaderEpoch


def limit_offset(log: Log, isolation_level: int) -> int:
    """The first offset that a reader may not see.

    Rule: F-02.
    """
    return log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark


def diverging_epoch(log: Log, partition: FetchPartition) -> tuple[int, int] | None:
    """Where the reader's log and this one part, None where they do not.

    Raises:
        OffsetOutOfRange: that cannot be told, or lies before the log.

    Rule: F-21 (Partition.readRecords).
    """
    epoch, end_offset = log.offset_for_leader_epoch(partition.last_fetched_epoch)
    if epoch < 0 or end_offset < 0 or partition.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRange
    if epoch < partition.last_fetched_epoch or end_offset < partition.fetch_offset:
        return epoch, end_offset
    return None


def _read(
    log: Log, terms: FetchTerms, partition: FetchPartition, left_bytes: int, is_first: bool
) -> PartitionRead:
    """Read one partition; is_first while no partition before it gave bytes, since version 3.

    Rule: F-05, F-06, F-21 (Partition.fetchRecords).
    See: F-11.
    """
    if partition.current_leader_epoch >= 0:
        check_leader_epoch(log, partition.current_leader_epoch)
    if terms.is_follower:
        _refuse_follower(partition)
    if partition.last_fetched_epoch >= 0:
        diverging = diverging_epoch(log, partition)
        if diverging is not None:
            return _diverged(log, partition, diverging)
    isolation_level = terms.isolation_level
    fetch_offset = partition.fetch_offset
    max_bytes = min(partition.max_bytes, left_bytes)
    if max_bytes == 0 and not is_first:
        return _without_room(log, partition, isolation_level)
    records, high_watermark, stable_offset, start_offset, aborted = log.read(
        fetch_offset,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        min_one_batch=is_first,
    )
    aborted_transactions: list[tuple[int, int]] | None = None
    if aborted is not None:
        aborted_transactions = [(each.producer_id, each.first_offset) for each in aborted]
    limit = stable_offset if isolation_level == READ_COMMITTED else high_watermark
    answer = FetchedPartition(
        partition.index,
        0,
        high_watermark,
        stable_offset,
        start_offset,
        aborted_transactions,
        -1,
        b"" if records is None else records,
    )
    size_bytes = 0 if records is None else records.size_bytes
    return PartitionRead(partition, answer, log, size_bytes, fetch_offset >= limit)


def _without_room(log: Log, partition: FetchPartition, isolation_level: int) -> PartitionRead:
    """Read nothing: a limit is 0, mostly since the partitions before this one used it up."""
    end_offset, start_offset = log.high_watermark, log.log_start_offset
    if not start_offset <= partition.fetch_offset <= log.log_end_offset:
        raise OffsetOutOfRange
    aborted = () if isolation_level == READ_COMMITTED else None
    answer = FetchedPartition(
        partition.index, 0, end_offset, log.last_stable_offset, start_offset, aborted
    )
    limit = limit_offset(log, isolation_level)
    return PartitionRead(partition, answer, log, 0, partition.fetch_offset >= limit)


def _refuse_follower(partition: FetchPartition) -> None:
    """Refuse a follower: no partition of a single broker has one.

    Rule: F-02 (Partition.followerReplicaOrThrow).
    """
    if partition.current_leader_epoch < 0:
        raise NotLeaderOrFollower
    raise UnknownLeaderEpoch


def _diverged(log: Log, partition: FetchPartition, diverging: tuple[int, int]) -> PartitionRead:
    answer = FetchedPartition(
        partition.index,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=diverging,
    )
    return PartitionRead(partition, answer, log, 0, False)


def _unknown(partition: FetchPartition, code: ErrorCode) -> PartitionRead:
    """Rule: F-04: the list of aborted transactions is empty here, not null."""
    answer = FetchedPartition(partition.index, code, aborted_transactions=())
    return PartitionRead(partition, answer, None, 0, False)


def _failed(
    cluster: "Cluster", terms: FetchTerms, partition: FetchPartition, code: ErrorCode
) -> PartitionRead:
    """Rule: F-05."""
    current_leader = None
    if code in _MOVED and terms.version >= CURRENT_LEADER_FROM:
        current_leader = (cluster.node_id, find_log(cluster, partition).leader_epoch)
    answer = FetchedPartition(partition.index, code, current_leader=current_leader)
    return PartitionRead(partition, answer, None, 0, False)

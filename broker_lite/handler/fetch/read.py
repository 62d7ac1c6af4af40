"""Read the partitions of a Fetch request: for each of them, which bytes or which error."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio.lowlevel import checkpoint

from broker_lite.errors import BrokerError, ErrorCode, OffsetOutOfRange
from broker_lite.handler.endpoints import leader_known_to
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.fetch.readable import (
    READ_COMMITTED,
    UnknownPartition,
    check_epoch_and_leader,
    diverging_epoch,
    find_log,
    refuse_follower,
    replica_end,
)
from broker_lite.log.canned.run import CannedSlice
from broker_lite.log.files.open_file import FileSlice
from broker_lite.log.log import Log
from broker_lite.log.read import WHOLE_LOG, read_log
from broker_lite.wire.fetch import AbortedTransaction, FetchedPartition

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

logger = logging.getLogger("broker_lite.handler")

LOGS_AT_A_TIME: Final = 64
"""Other connections have their turn after so many logs: 2 ms, but 20 ms if they must be loaded."""
_FIRST_BATCH_FROM: Final = 3
_ORDER_MAX: Final = 2**62
CURRENT_LEADER_FROM: Final = 16
_MOVED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


class FetchTerms(NamedTuple):
    """The fields of a Fetch request that hold for all its partitions.

    `isolation_level` is 0 for replicas, which read up to the log end offset. `node_id` is the
    broker that is asked. `is_old`: the client is answered as an old one. `redirect` is asked by a
    leader first; see preferred.redirect_to(). `denied` are the topics that the client may not read,
    by name or by id as in the request.
    """

    version: int
    is_follower: bool
    isolation_level: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    node_id: int
    is_old: bool = False
    redirect: "Callable[[Log, FetchPartition], PartitionRead | None] | None" = None
    denied: "frozenset[str | bytes]" = frozenset()


class PartitionRead(FetchedPartition):
    """The answer for one partition, and what is needed to look at the partition again.

    Attributes:
        partition: the requested partition.
        log: None if the topic or the log cannot be found.
        size_bytes: of the records as they are in the log.
        is_drained: there is nothing more for this reader until the log changes.
    """

    __slots__ = ("is_drained", "log", "partition", "size_bytes")

    def __init__(
        self,
        partition: FetchPartition,
        log: Log | None = None,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: Sequence[AbortedTransaction] | None = None,
        records: FileSlice | CannedSlice | None = None,
        *,
        is_drained: bool = False,
        diverging_epoch: tuple[int, int] | None = None,
        current_leader: tuple[int, int] | None = None,
        preferred_replica: int = -1,
    ) -> None:
        super().__init__(
            partition.topic,
            partition.index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            aborted_transactions,
            b"" if records is None else records,
            diverging_epoch,
            current_leader,
            preferred_replica,
        )
        self.partition = partition
        self.log = log
        self.size_bytes = 0 if records is None else records.size_bytes
        self.is_drained = is_drained

    @property
    def is_news(self) -> bool:
        """Whether the answer tells the client of a session something new.

        See: F-44, F-45 (CachedPartition.maybeUpdateResponseData).
        """
        partition = self.partition
        return (
            self.size_bytes > 0
            or self.error_code != 0
            or partition.high_watermark != self.high_watermark
            or partition.log_start_offset != self.log_start_offset
            or self.diverging_epoch is not None
            or self.preferred_replica >= 0
        )


class FetchRead:
    """The answers for the partitions that were looked at, and what is left of the limits.

    At most as many partitions give records as files may be open, because each keeps a file open
    until it is sent. The other partitions have their turn in the next request. If answers that
    clients do not read already hold all files that may be held, no partition gives records.

    Attributes:
        answers: in the order of the request; those for unknown partitions come at the end.
        unknown_count: the number of answers for unknown partitions.
        size_bytes: of the records of all answers.
        left_bytes: how many bytes the next partition may give.
        answers_at_once: a partition has an error, a diverging epoch or a preferred replica, so the
            request does not wait for bytes.

    See: F-03, F-11.
    """

    __slots__ = (
        "_files_left",
        "_is_mixed",
        "_unknown",
        "answers",
        "answers_at_once",
        "left_bytes",
        "size_bytes",
        "unknown_count",
    )

    def __init__(self, max_bytes: int, files_max: int) -> None:
        """Begin without answers.

        Args:
            max_bytes: of the request; a negative limit fails the first partition.
            files_max: how many partitions may give records.
        """
        self.answers: list[PartitionRead] = []
        self._unknown: list[PartitionRead] = []
        self._is_mixed = False
        self.unknown_count = 0
        self.size_bytes = 0
        self.answers_at_once = False
        self.left_bytes = max_bytes if files_max > 0 else 0
        self._files_left = files_max

    @property
    def may_exceed(self) -> bool:
        """True if the next partition may give one batch that is larger than `left_bytes`."""
        return self._files_left > 0 and not self.size_bytes

    def add(self, answer: PartitionRead) -> None:
        """Add the answer for one partition, and count it for the limits."""
        self.answers.append(answer)
        size_bytes = answer.size_bytes
        self.left_bytes = max(self.left_bytes - size_bytes, 0)
        if size_bytes:
            self.size_bytes += size_bytes
            self._files_left -= 1
            if not self._files_left:
                self.left_bytes = 0
        elif (
            answer.error_code or answer.diverging_epoch is not None or answer.preferred_replica >= 0
        ):
            self.answers_at_once = True

    def add_unknown(self, answer: PartitionRead) -> None:
        """Keep the answer for a partition that the metadata does not know, or that is denied."""
        unknown = self._unknown
        if unknown and unknown[0].error_code != answer.error_code:
            self._is_mixed = True
        unknown.append(answer)

    def end(self) -> None:
        """Put the answers for unknown partitions behind the others: first those for unknown ids."""
        self.unknown_count = len(self._unknown)
        if self._is_mixed:
            self._unknown.sort(key=_place_of_unknown)
        self.answers.extend(self._unknown)
        self._unknown.clear()

    def must_wait(self, terms: FetchTerms, partition_count: int) -> bool:
        """True if the request has to wait before it is answered.

        Args:
            terms: of the request.
            partition_count: the number of all partitions of the request or session.

        Rule: F-30 (ReplicaManager.fetchMessages).
        """
        return not (
            terms.max_wait_ms <= 0
            or self.size_bytes >= terms.min_bytes
            or self.answers_at_once
            or partition_count == self.unknown_count
        )


def _place_of_unknown(answer: PartitionRead) -> int:
    is_id = answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    return answer.partition.order - (_ORDER_MAX if is_id else 0)


async def load_logs(cluster: "Cluster", partitions: list[FetchPartition]) -> None:
    """Load the logs of many partitions, a few at a time, so that other connections have their turn.

    A log that cannot be loaded is no error yet: reading it fails again, and that is answered.
    """
    for position, partition in enumerate(partitions):
        if position % LOGS_AT_A_TIME == LOGS_AT_A_TIME - 1:
            await checkpoint()
        with suppress(UnknownPartition, BrokerError):
            find_log(cluster, partition)


def read_partitions(
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition], read: FetchRead
) -> None:
    """Look at partitions in their order, within the limits of the request.

    Args:
        cluster: the cluster with the logs.
        terms: of the request.
        partitions: the partitions to look at, in their order.
        read: gets the answers.

    Rule: F-05, F-06 (ReplicaManager.readFromLog).
    See: F-03, F-04, F-11, F-30.
    """
    for partition in partitions:
        try:
            log = find_log(cluster, partition)
            is_first = read.may_exceed and terms.version >= _FIRST_BATCH_FROM
            answer = _read(cluster, log, terms, partition, read.left_bytes, is_first)
        except UnknownPartition as absent:
            # the list of aborted transactions is empty here, not null (F-04)
            unknown = PartitionRead(partition, None, absent.code, aborted_transactions=())
            read.add_unknown(unknown)
            continue
        except BrokerError as error:
            answer = _failed(cluster, terms, partition, error.code)
        except Exception:
            logger.exception("fetch failed topic=%s partition=%d", *partition.key)
            answer = _failed(cluster, terms, partition, ErrorCode.UNKNOWN_SERVER_ERROR)
        read.add(answer)


def _read(
    cluster: "Cluster",
    log: Log,
    terms: FetchTerms,
    partition: FetchPartition,
    left_bytes: int,
    is_first: bool,
) -> PartitionRead:
    """Read one partition; is_first is set until a partition has given bytes (v3 and up).

    Rule: F-05, F-06 (Partition.fetchRecords).
    See: F-11, F-21.
    """
    check_epoch_and_leader(cluster, terms, partition, log)
    if terms.is_follower:
        refuse_follower(partition)
    if terms.redirect is not None and log.leader_id == terms.node_id:
        elsewhere = terms.redirect(log, partition)
        if elsewhere is not None:
            return elsewhere
    if log.visibility.synthetic is not None:
        # Imported here, because few topics are synthetic.
        from broker_lite.handler.fetch.synthetic import read_endless

        return read_endless(log, log.visibility.synthetic, terms, partition, left_bytes, is_first)
    if partition.last_fetched_epoch >= 0:
        diverging = diverging_epoch(log, partition, terms.node_id)
        if diverging is not None:
            return _diverged(log, partition, diverging)
    isolation_level = terms.isolation_level
    fetch_offset = partition.fetch_offset
    max_bytes = min(partition.max_bytes, left_bytes)
    if max_bytes == 0 and not is_first:
        return _without_room(log, partition, terms)
    records, high_watermark, stable_offset, start_offset, aborted = read_log(
        log,
        fetch_offset,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        min_one_batch=is_first,
        replica_end=WHOLE_LOG
        if log.leader_id == terms.node_id
        else replica_end(log, terms.node_id),
    )
    limit = stable_offset if isolation_level == READ_COMMITTED else high_watermark
    return PartitionRead(
        partition,
        log,
        0,
        high_watermark,
        stable_offset,
        start_offset,
        aborted,
        records,
        is_drained=fetch_offset >= limit,
    )


def _without_room(log: Log, partition: FetchPartition, terms: FetchTerms) -> PartitionRead:
    """Read nothing, because a limit is 0, mostly because earlier partitions used it up."""
    start_offset, high_watermark = log.log_start_offset, log.high_watermark
    end_offset, stable_offset = log.log_end_offset, log.last_stable_offset
    own_end = WHOLE_LOG if log.leader_id == terms.node_id else replica_end(log, terms.node_id)
    if own_end != WHOLE_LOG:
        end_offset, high_watermark = own_end, min(high_watermark, own_end)
        stable_offset = min(stable_offset, own_end)
    if not start_offset <= partition.fetch_offset <= end_offset:
        raise OffsetOutOfRange
    is_committed = terms.isolation_level == READ_COMMITTED
    return PartitionRead(
        partition,
        log,
        0,
        high_watermark,
        stable_offset,
        start_offset,
        () if is_committed else None,
        is_drained=partition.fetch_offset >= (stable_offset if is_committed else high_watermark),
    )


def _diverged(log: Log, partition: FetchPartition, diverging: tuple[int, int]) -> PartitionRead:
    return PartitionRead(
        partition,
        log,
        0,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        diverging_epoch=diverging,
    )


def _failed(
    cluster: "Cluster", terms: FetchTerms, partition: FetchPartition, code: ErrorCode
) -> PartitionRead:
    """Rule: F-05."""
    current_leader = None
    if code in _MOVED and terms.version >= CURRENT_LEADER_FROM:
        current_leader = leader_known_to(cluster, terms.node_id, partition.topic, partition.index)
    return PartitionRead(partition, None, code, current_leader=current_leader)

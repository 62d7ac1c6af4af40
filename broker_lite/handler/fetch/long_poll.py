"""The long poll: wait until enough bytes are there, or until the client's time is over.

Nothing is polled. The partitions are watched: a log calls them at each of its changes. Then the
waiting task looks again, once for all changes that came meanwhile.

Rule: F-31, F-32.
"""

from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from broker_lite.control.rounds import Wait
from broker_lite.errors import BrokerError
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms
from broker_lite.handler.fetch.readable import (
    UnknownPartition,
    check_epoch_and_leader,
    diverging_epoch,
    find_log,
    limit_offset,
    replica_end,
)
from broker_lite.handler.large import let_go
from broker_lite.log.read import WHOLE_LOG, read_log
from broker_lite.stopwatch import Stopwatch

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

_INT32_MAX: Final = 2**31 - 1
_MS_PER_S: Final = 1000
_NOT_READABLE: Final = -1
_ENOUGH: Final = _INT32_MAX


async def wait(
    cluster: "Cluster",
    terms: FetchTerms,
    partitions: FetchPartitions,
    read: FetchRead,
    nothing_to_give: Stopwatch,
) -> None:
    """Wait until a fetch can be answered, or for terms.max_wait_ms.

    Args:
        cluster: the cluster with the logs.
        terms: of the request.
        partitions: all of the request or session; those that are not pending are watched already.
        read: the answers for the pending partitions, which are watched from now on. The answers are
            dropped, because they take several times the memory of the request.
        nothing_to_give: of the connection; it runs meanwhile.

    Rule: F-31, F-32 (DelayedFetch).
    """
    for position, each in enumerate(read.answers):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        if each.log is None:
            each.partition.segment_base = _NOT_READABLE
        else:
            each.partition.begin_watching(each.log)
    if len(read.answers) > PARTITIONS_AT_A_TIME:
        await let_go(read.answers)
    else:
        read.answers.clear()
    with Wait(cluster.rounds, terms.max_wait_ms / _MS_PER_S) as waiting:
        nothing_to_give.start()
        try:
            await _until_complete(cluster, terms, partitions, waiting)
        finally:
            nothing_to_give.stop()


async def _until_complete(
    cluster: "Cluster", terms: FetchTerms, partitions: FetchPartitions, waiting: Wait
) -> None:
    while not waiting.is_over:
        waiting.begin()
        # Listen before looking: other tasks run while very many partitions are looked at.
        partitions.listeners.append(waiting)
        try:
            if await is_complete(cluster, terms, partitions):
                return
            await waiting.until_change()
        finally:
            partitions.listeners.remove(waiting)


async def is_complete(cluster: "Cluster", terms: FetchTerms, partitions: FetchPartitions) -> bool:
    """True if a waiting fetch can be answered; if not, all its partitions are watched again.

    Rule: F-31 (DelayedFetch.tryComplete).
    """
    size_bytes = 0
    for position, partition in enumerate(partitions.in_any_order()):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        if partition.segment_base != _NOT_READABLE:
            size_bytes += _available_bytes(cluster, terms, partition)
            if size_bytes >= terms.min_bytes:
                return True
    return False


def _available_bytes(cluster: "Cluster", terms: FetchTerms, partition: FetchPartition) -> int:
    """Return how many bytes of a partition count for the answer; enough in cases A to F and H.

    Only bytes of the segment in which the fetch offset lay when the wait began count.
    """
    try:
        log = find_log(cluster, partition)
        check_epoch_and_leader(cluster, terms, partition, log)
        if log.visibility.synthetic is not None:
            partition.watch(log)
            wake = log.visibility.wake
            available_bytes = log.visibility.synthetic.available_bytes(partition.fetch_offset, wake)
            return min(available_bytes, partition.max_bytes)
        if (
            partition.last_fetched_epoch >= 0
            and diverging_epoch(log, partition, terms.node_id) is not None
        ):
            return _ENOUGH
        partition.watch(log)
        limit = limit_offset(log, terms.isolation_level)
        own_end = WHOLE_LOG if log.leader_id == terms.node_id else replica_end(log, terms.node_id)
        if own_end != WHOLE_LOG:
            limit = min(limit, own_end)
        fetch_offset = partition.fetch_offset
        if limit == fetch_offset:
            return 0
        if limit < fetch_offset or log.segments.holding(limit).base_offset > partition.segment_base:
            return _ENOUGH
        records = read_log(
            log,
            fetch_offset,
            max_bytes=_INT32_MAX,
            isolation_level=terms.isolation_level,
            replica_end=own_end,
        ).slice
    except (BrokerError, UnknownPartition):
        return _ENOUGH
    return min(records.size_bytes, partition.max_bytes) if records is not None else 0

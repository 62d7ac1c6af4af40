"""What a fetch session remembers of an answer, and which answers tell its client something new."""

from anyio.lowlevel import checkpoint

from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME
from broker_lite.handler.fetch.partition import FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, PartitionRead
from broker_lite.handler.fetch.readable import limit_offset


async def remember_all(partitions: FetchPartitions, read: FetchRead, isolation_level: int) -> None:
    """Begin a session with the answers of its full fetch; unknown topics are ordered last.

    See: F-42, F-45.
    """
    for position, answer in enumerate(read.answers):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        partition = answer.partition
        partition.high_watermark = answer.high_watermark
        partition.log_start_offset = answer.log_start_offset
        if answer.is_drained:
            _settle(partitions, answer, isolation_level)
        partitions.move_to_end(partition)


async def news_of(
    partitions: FetchPartitions, read: FetchRead, isolation_level: int
) -> list[PartitionRead]:
    """Return the answers for the session's partitions that tell the client something new."""
    news = []
    for position, answer in enumerate(read.answers):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        if _remember(partitions, answer, isolation_level):
            news.append(answer)
    return news


def _remember(partitions: FetchPartitions, answer: PartitionRead, isolation_level: int) -> bool:
    """Remember the answer for a partition; return True if it tells the client something new.

    See: F-44, F-45.
    """
    partition = answer.partition
    is_news = answer.is_news
    partition.high_watermark = answer.high_watermark
    partition.log_start_offset = answer.log_start_offset
    if answer.size_bytes:
        partitions.move_to_end(partition)
    elif answer.is_drained:
        _settle(partitions, answer, isolation_level)
    return is_news


def _settle(partitions: FetchPartitions, answer: PartitionRead, isolation_level: int) -> None:
    """Look at a partition again only after its log changes, unless it changed since it was read."""
    partition, log = answer.partition, answer.log
    if log is not None and partition.fetch_offset >= limit_offset(log, isolation_level):
        partitions.settle(partition, log)

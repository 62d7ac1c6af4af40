"""Fetching from very many partitions: the same steps, with turns of other connections between.

Records may be appended in such a pause. So who has looked at a partition looks once more before it
counts as one that has nothing to tell.
"""

from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import checkpoint

from broker_lite.handler.fetch_partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch_read import FetchRead, FetchTerms, read_partitions
from broker_lite.handler.large import in_turns

if TYPE_CHECKING:
    from broker_lite.control.cluster import Cluster

PARTITIONS_AT_A_TIME: Final = 256
"""They are read within 1 to 4 ms."""


async def want_many(partitions: FetchPartitions, body: Any, *, by_id: bool) -> None:
    """Note what a large request wants, and what it wants no more.

    Rule: F-03, F-43.
    """
    wanted = (
        (topic.topic_id if by_id else topic.topic, each)
        for topic in body.topics
        for each in topic.partitions
    )
    async for name, each in in_turns(wanted):
        partitions.want(name, each)
    unwanted = (
        (topic.topic_id if by_id else topic.topic, index)
        for topic in body.forgotten_topics_data
        for index in topic.partitions
    )
    async for name, index in in_turns(unwanted):
        partitions.forget(name, index)


async def read_many(
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition]
) -> FetchRead:
    """Look at partitions in their order, within the limits of the request.

    Rule: F-03 to F-06, F-11, F-30.
    """
    whole = FetchRead([], 0, 0, False)
    unknown = []
    for start in range(0, len(partitions), PARTITIONS_AT_A_TIME):
        if start:
            await checkpoint()
        some = partitions[start : start + PARTITIONS_AT_A_TIME]
        read = read_partitions(cluster, terms, some, whole)
        known_count = len(read.partitions) - read.unknown_count
        whole.partitions.extend(read.partitions[:known_count])
        unknown += read.partitions[known_count:]
        whole = read._replace(
            partitions=whole.partitions,
            unknown_count=len(unknown),
            answers_at_once=whole.answers_at_once or read.answers_at_once,
        )
    whole.partitions.extend(unknown)
    return whole

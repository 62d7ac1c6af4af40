"""Fetch from very many partitions: the same steps, and other connections have turns in between.

Records may be appended in such a pause. So before a partition counts as one without news, it is
looked at once more.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms, read_partitions
from broker_lite.handler.large import in_turns, let_go
from broker_lite.wire import messages
from broker_lite.wire.fetch import FetchedPartition, FetchEncoder, Part
from broker_lite.wire.node_endpoints import NodeEndpoint

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

PARTITIONS_AT_A_TIME: Final = 256
"""So many partitions are read within 1 to 4 ms."""


async def want_many(
    partitions: FetchPartitions, body: messages.FetchRequest, *, by_id: bool
) -> None:
    """Add and remove the partitions that a large request names, and drop its arrays.

    See: F-03, F-43.
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
    await let_go(body.topics)
    await let_go(body.forgotten_topics_data)


async def read_many(
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition], read: FetchRead
) -> None:
    """Look at partitions in their order, within the limits of the request.

    See: F-03 to F-06, F-11, F-30.
    """
    for start in range(0, len(partitions), PARTITIONS_AT_A_TIME):
        if start:
            await checkpoint()
        some = partitions[start : start + PARTITIONS_AT_A_TIME]
        read_partitions(cluster, terms, some, read)


async def encode_many(
    version: int,
    partitions: Sequence[FetchedPartition],
    *,
    session_id: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> list[Part]:
    """Encode the answer of a fetch as encode_fetch_response() does."""
    starts: list[int] = []
    last: str | bytes | None = None
    async for start, each in in_turns(enumerate(partitions)):
        if each.topic != last:
            last = each.topic
            starts.append(start)
    encoder = FetchEncoder(version, len(starts), session_id=session_id)
    async for start, end in in_turns(pairwise([*starts, len(partitions)])):
        encoder.begin_topic(partitions[start].topic, end - start)
        async for first in in_turns(range(start, end, PARTITIONS_AT_A_TIME), at_least=1):
            encoder.add(partitions[first : min(first + PARTITIONS_AT_A_TIME, end)])
        encoder.end_topic()
    return encoder.end(node_endpoints)


async def encode_failed(
    version: int, topics: Sequence[messages.FetchRequest.FetchTopic], error_code: int
) -> list[Part]:
    """Encode an answer in which the whole request has failed.

    Args:
        version: of the request.
        topics: of the request; they have names.
        error_code: of the answer and of each partition.

    See: E-05 (FetchRequest.getErrorResponse).
    """
    encoder = FetchEncoder(version, len(topics), error_code=error_code)
    async for topic in in_turns(topics):
        wanted = topic.partitions
        encoder.begin_topic(topic.topic, len(wanted))
        async for first in in_turns(range(0, len(wanted), PARTITIONS_AT_A_TIME), at_least=1):
            encoder.add(
                [
                    FetchedPartition(
                        topic.topic, each.partition, error_code, aborted_transactions=()
                    )
                    for each in wanted[first : first + PARTITIONS_AT_A_TIME]
                ]
            )
        encoder.end_topic()
    return encoder.end()

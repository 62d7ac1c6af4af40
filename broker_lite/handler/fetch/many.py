"""Fetch from very many partitions: the same steps, and other connections have turns in between.

Records may be appended in such a pause. So before a partition counts as one without news, it is
looked at once more.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Request
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms, read_partitions
from broker_lite.handler.fetch.session import TOPIC_IDS_FROM
from broker_lite.handler.large import LargeRequest, in_turns, let_go
from broker_lite.wire import messages
from broker_lite.wire.fetch import FetchedPartition, FetchEncoder, Part
from broker_lite.wire.fetch_request import FetchRequest, TopicKey, wanted_of
from broker_lite.wire.node_endpoints import NodeEndpoint

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

PARTITIONS_AT_A_TIME: Final = 256
"""So many partitions are read within 1 to 4 ms."""


async def want_many(
    partitions: FetchPartitions, decoded: messages.FetchRequest, *, by_id: bool, forgets: bool
) -> None:
    """Add and remove the partitions that a large request names, and drop its arrays.

    Args:
        partitions: of the request or session.
        decoded: the request.
        by_id: its version names topics by their ids.
        forgets: remove those that it no longer wants.

    See: F-03, F-43.
    """
    wanted = (
        (topic.topic_id if by_id else topic.topic, each)
        for topic in decoded.topics
        for each in topic.partitions
    )
    async for name, each in in_turns(wanted):
        partitions.want(name, wanted_of(each))
    unwanted = (
        (topic.topic_id if by_id else topic.topic, index)
        for topic in decoded.forgotten_topics_data
        for index in topic.partitions
    )
    if forgets:
        async for name, index in in_turns(unwanted):
            partitions.forget(name, index)
    await let_go(decoded.topics)
    await let_go(decoded.forgotten_topics_data)


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
    async for start, end in in_turns(pairwise([*starts, len(partitions)]), at_least=1):
        encoder.begin_topic(partitions[start].topic, end - start)
        async for first in in_turns(range(start, end, PARTITIONS_AT_A_TIME), at_least=1):
            encoder.add(partitions[first : min(first + PARTITIONS_AT_A_TIME, end)])
        encoder.end_topic()
    return encoder.end(node_endpoints)


async def fail(request: Request, body: FetchRequest) -> list[Part]:
    """Answer a malformed request: with an error per partition as long as topics have names.

    Rule: E-05 (FetchRequest.getErrorResponse).
    """
    version = request.api_version
    topics: list[tuple[TopicKey, list[int]]] = []
    if version < TOPIC_IDS_FROM:
        if isinstance(request, LargeRequest):
            topics = [
                (topic.topic, [each.partition for each in topic.partitions])
                async for topic in in_turns(request.decoded.topics)
            ]
        else:
            topics = [(name, [each.index for each in wanted]) for name, wanted in body.topics]
    encoder = FetchEncoder(version, len(topics), error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    async for topic, indexes in in_turns(topics, at_least=1):
        encoder.begin_topic(topic, len(indexes))
        async for first in in_turns(range(0, len(indexes), PARTITIONS_AT_A_TIME), at_least=1):
            some = indexes[first : first + PARTITIONS_AT_A_TIME]
            encoder.add([_failed(topic, index) for index in some])
        encoder.end_topic()
    return encoder.end()


def _failed(topic: TopicKey, index: int) -> FetchedPartition:
    return FetchedPartition(topic, index, ErrorCode.UNKNOWN_SERVER_ERROR, aborted_transactions=())

"""Fetching from very many partitions: the same steps, with turns of other connections between.

Records may be appended in such a pause. So who has looked at a partition looks once more before it
counts as one that has nothing to tell.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio.lowlevel import checkpoint

from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms, PartitionRead, read_partitions
from broker_lite.handler.large import in_turns, let_go
from broker_lite.wire.fetch import FetchedPartition, FetchEncoder, NodeEndpoint, Part

if TYPE_CHECKING:
    from broker_lite.control.cluster import Cluster

PARTITIONS_AT_A_TIME: Final = 256
"""They are read within 1 to 4 ms."""


async def want_many(partitions: FetchPartitions, body: Any, *, by_id: bool) -> None:
    """Note what a large request wants, and what it wants no more, and let go of its arrays.

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
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition]
) -> FetchRead:
    """Look at partitions in their order, within the limits of the request.

    See: F-03 to F-06, F-11, F-30.
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


class _Run(NamedTuple):
    """Neighbours of one topic, which share its head in the answer."""

    topic: str | bytes
    start: int


async def encode_many(
    version: int,
    reads: Sequence[PartitionRead],
    *,
    session_id: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> list[Part]:
    """Encode the answer of a fetch.

    Args:
        version: of the request.
        reads: in the order of the answer; topics are names or ids, as the version has them.
        session_id: 0 for none.
        node_endpoints: of leaders that have moved, if any.
    """
    runs: list[_Run] = []
    last: str | bytes | None = None
    async for position, each in in_turns(enumerate(reads)):
        if each.partition.topic != last:
            last = each.partition.topic
            runs.append(_Run(last, position))
    encoder = FetchEncoder(version, len(runs), session_id=session_id)
    ends = [*(run.start for run in runs[1:]), len(reads)]
    async for (topic, start), end in in_turns(zip(runs, ends, strict=True)):
        name, topic_id = (topic, None) if isinstance(topic, str) else (None, topic)
        encoder.begin_topic(name, topic_id, end - start)
        async for first in in_turns(range(start, end, PARTITIONS_AT_A_TIME), at_least=1):
            some = reads[first : min(first + PARTITIONS_AT_A_TIME, end)]
            encoder.add([each.answer for each in some])
        encoder.end_topic()
    return encoder.end(node_endpoints)


async def encode_failed(version: int, topics: Sequence[Any], error_code: int) -> list[Part]:
    """Encode an answer in which the whole request has failed.

    Args:
        version: of the request.
        topics: those of the request; they have names.
        error_code: of the answer and of each partition.

    See: E-05 (FetchRequest.getErrorResponse).
    """
    encoder = FetchEncoder(version, len(topics), error_code=error_code)
    async for topic in in_turns(topics):
        wanted = topic.partitions
        encoder.begin_topic(topic.topic, None, len(wanted))
        async for first in in_turns(range(0, len(wanted), PARTITIONS_AT_A_TIME), at_least=1):
            encoder.add(
                [
                    FetchedPartition(each.partition, error_code, aborted_transactions=())
                    for each in wanted[first : first + PARTITIONS_AT_A_TIME]
                ]
            )
        encoder.end_topic()
    return encoder.end()

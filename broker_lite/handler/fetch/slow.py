"""Fetch from topics that are slow, as over a network.

What is to be read is looked at, and let go again: a request that waits has no records in memory
and no file open. When the network has carried as many bytes, they are read. An answer is not larger
than what the network carries within half a second, shared by all who wait, or one batch: so no
client gives up meanwhile, how many there are.

See: P-18.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from broker_lite.control.topics.slow_topics import Passage, Way
from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms
from broker_lite.handler.large import enter_lane, in_turns, leave_lane, let_go

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

Look = Callable[["Cluster", FetchTerms, list[FetchPartition]], Awaitable[FetchRead]]

_ANSWER_S_MAX: Final = 0.5
_ANY: Final = 2**63


async def hold_back(
    context: HandlerContext,
    request: Request,
    terms: FetchTerms,
    partitions: FetchPartitions,
    read: FetchRead,
    look: Look,
) -> FetchRead:
    """Wait for as long as the network of slow topics takes, and read again.

    Args:
        context: of the connection.
        request: may be a large one, which leaves the lane meanwhile.
        terms: of the request.
        partitions: of the request or session.
        read: what would be answered.
        look: reads the pending partitions within the terms.

    Returns:
        What is answered; the same if no topic of it is slow.
    """
    cluster = context.cluster
    passage = await _passage(context, read)
    if passage is None:
        return read
    limits = [(_bytes_max(way), size_bytes) for way, size_bytes in passage.loads]
    too_much = [limit for limit, size_bytes in limits if size_bytes > limit]
    if too_much:
        terms = terms._replace(max_bytes=min(terms.max_bytes, *too_much))
        await _drop(read)
        read = await look(cluster, terms, partitions.pending())
        passage = await _passage(context, read) or passage
    await _drop(read)
    leave_lane(request)
    context.throttled.start()
    try:
        await passage.carry()
        await anyio.sleep(passage.rtt_s)
    finally:
        context.throttled.stop()
    await enter_lane(context, request)
    read = await look(cluster, terms, partitions.pending())
    _count_more(passage, await _passage(context, read))
    return read


def _bytes_max(way: Way) -> int:
    """Return how many bytes an answer has that is no longer on its way than it may be."""
    if not way.bytes_per_s:
        return _ANY
    return max(int(way.bytes_per_s * _ANSWER_S_MAX / (1 + way.waiting)), 1)


async def _passage(context: HandlerContext, read: FetchRead) -> Passage | None:
    sizes: dict[str, int] = {}
    async for answer in in_turns(read.answers):
        if answer.size_bytes and answer.log is not None:
            name = answer.log.topic
            sizes[name] = sizes.get(name, 0) + answer.size_bytes
    return context.cluster.slow_topics.passage_out(sizes)


async def _drop(read: FetchRead) -> None:
    if len(read.answers) > PARTITIONS_AT_A_TIME:
        await let_go(read.answers)
    else:
        read.answers.clear()


def _count_more(waited: Passage, answered: Passage | None) -> None:
    """Let the next answers wait for records that came while this one waited."""
    carried = dict(waited.loads)
    for way, size_bytes in () if answered is None else answered.loads:
        way.take(max(size_bytes - carried.get(way, 0), 0))

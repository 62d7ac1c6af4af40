"""Where partitions end, for the lag of share groups; their leaders in other processes are asked.

Source: NetworkPartitionMetadataClient.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from broker_lite.control.coordinators.share_leaders import share_leader
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError, NotLeaderOrFollower
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import Turns

Ends: TypeAlias = Mapping[ShareKey, int | BrokerError]
"""The high watermark of the partition of each share partition, or why it is not known."""


async def find_ends(context: HandlerContext, keys: Iterable[ShareKey]) -> Ends:
    """Find where partitions end that exist."""
    ends: dict[ShareKey, int | BrokerError] = {}
    elsewhere: dict[int, list[ShareKey]] = {}
    cluster, turns = context.cluster, Turns()
    for key in keys:
        await turns.turn()
        leader = share_leader(cluster, key).leader
        if leader in cluster.node_ids or context.groups.shares.find_ends is None:
            ends[key] = _end_here(context, key)
        elif leader == NO_LEADER:
            ends[key] = NotLeaderOrFollower()
        else:
            elsewhere.setdefault(leader, []).append(key)
    for leader, some in elsewhere.items():
        ends.update(await _ends_at(context, leader, some))
    return ends


def _end_here(context: HandlerContext, key: ShareKey) -> int | BrokerError:
    try:
        topic = context.cluster.topics_by_id[key.topic_id]
        return context.cluster.log(topic.name, key.partition).high_watermark
    except BrokerError as error:
        return error


async def _ends_at(context: HandlerContext, leader: int, keys: Iterable[ShareKey]) -> Ends:
    """Ask the broker of another process; a topic may be deleted meanwhile."""
    find = context.groups.shares.find_ends
    assert find is not None
    topics = context.cluster.topics_by_id
    places = {key: (topics[key.topic_id].name, key.partition) for key in keys if key[1] in topics}
    found = await find(leader, [*places.values()])
    return {key: found.get(place, NotLeaderOrFollower()) for key, place in places.items()}

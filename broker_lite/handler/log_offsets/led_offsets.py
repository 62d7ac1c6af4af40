"""Where partitions begin and end; their leaders in other processes are asked.

Source: NetworkPartitionMetadataClient.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.elsewhere import AsksLeader
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import BrokerError, NotLeaderOrFollower, UnknownTopicOrPartition
from broker_lite.handler.large import Turns, some_at_a_time
from broker_lite.log.read import seen_offsets

START: Final = -2
END: Final = -1
_ASKED_AT_A_TIME: Final = 1000
"""To ask for more at once would keep others waiting."""


async def find_offsets(
    cluster: Cluster, ask: AsksLeader | None, places: Iterable[TopicPartition], which: int
) -> Mapping[TopicPartition, int | BrokerError]:
    """Find where partitions begin or end.

    Others run in between: partitions are looked at one after another.

    Args:
        cluster: knows the leaders.
        ask: asks those in other processes; None if there are none.
        places: the partitions.
        which: START for the first offsets, END for the high watermarks.

    Returns:
        The offset of each partition, or why it is not known.
    """
    found: dict[TopicPartition, int | BrokerError] = {}
    elsewhere: dict[int, list[TopicPartition]] = {}
    turns = Turns()
    for place in places:
        await turns.turn()
        try:
            leader = _leader(cluster, place)
            if leader in cluster.node_ids or ask is None:
                seen = seen_offsets(cluster.log(*place))
                found[place] = seen.log_start_offset if which == START else seen.high_watermark
            elif leader == NO_LEADER:
                found[place] = NotLeaderOrFollower()
            else:
                elsewhere.setdefault(leader, []).append(place)
        except BrokerError as error:
            found[place] = error.with_traceback(None)
    for leader, some in elsewhere.items():
        assert ask is not None
        for few in some_at_a_time(some, _ASKED_AT_A_TIME):
            answer = await ask(leader, few, which)
            for place in few:
                found[place] = answer.get(place, NotLeaderOrFollower())
    return found


def _leader(cluster: Cluster, place: TopicPartition) -> int:
    name, index = place
    topic = cluster.topics.get(name)
    if topic is None or not 0 <= index < topic.partition_count:
        raise UnknownTopicOrPartition
    return topic.partitions[index].leader

"""Says which connection goes to which broker, for which partitions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """What one connection has to do."""

    node_id: int
    partitions: Sequence[int]


def spread(leaders: Mapping[int, int], connections: int) -> list[Share]:
    """Spread the partitions of a topic over connections to their leaders.

    Args:
        leaders: node ids by partition.
        connections: how many are wanted. There is at least one for each leader, and at most one
            for each partition.

    Returns:
        The shares, sorted by node. The more partitions a node leads, the more connections it gets.
    """
    by_node: dict[int, list[int]] = {}
    for partition, node_id in sorted(leaders.items()):
        by_node.setdefault(node_id, []).append(partition)
    counts = dict.fromkeys(sorted(by_node), 1)
    for _ in range(min(connections, len(leaders)) - len(by_node)):
        # the connection with the most partitions shares them with one more
        neediest = max(counts, key=lambda node_id: len(by_node[node_id]) / counts[node_id])
        counts[neediest] += 1
    return [
        Share(node_id, by_node[node_id][index::count])
        for node_id, count in counts.items()
        for index in range(count)
    ]

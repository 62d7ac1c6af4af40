"""Refuses to start with fewer processes than the partitions of a data directory need."""

from collections.abc import Iterable
from pathlib import Path

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import NODES_DIRECTORY


def check_none_is_left(topics: Iterable[Topic], data_dir: Path, node_ids: range) -> None:
    """Demand that each partition whose records are in another process's directory has its process.

    Otherwise it would have no leader, and nobody would see why.

    Args:
        topics: of the cluster.
        data_dir: of the first process.
        node_ids: the brokers that there will be.

    Raises:
        SettingsError: a partition has none.
    """
    directory = data_dir / NODES_DIRECTORY
    if not directory.exists():
        return
    last = max((_last_elsewhere(topic, node_ids) for topic in topics), default=node_ids.start)
    if last not in node_ids:
        count = last - node_ids.start + 1
        raise SettingsError(
            f"{directory} has partitions of {count} processes, and there would be {len(node_ids)}; "
            f"start with --processes {count}, and delete the topics to need fewer"
        )


def _last_elsewhere(topic: Topic, node_ids: range) -> int:
    """Return the highest id of a broker that has the only replica of a partition."""
    alone = (one.replicas[0] for one in topic.partitions if len(one.replicas) == 1)
    return max(alone, default=node_ids.start)

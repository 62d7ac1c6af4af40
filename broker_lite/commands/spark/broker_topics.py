"""Creates topics in the data directory of a stopped broker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite.commands.log.sources import read_meta
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.log.files.names import parse_partition_directory
from broker_lite.settings import load_settings

_DEFAULT_NODE_ID: Final = 1


def make_topics(
    data_dir: Path,
    partition_counts: Mapping[str, int],
    configs: Mapping[str, str],
    node_id: int | None = None,
) -> list[str]:
    """Create missing topics in a broker's data directory, as a request of a client would.

    The directory is created if missing. Afterwards it is as after a clean stop.

    Args:
        data_dir: of a stopped broker.
        partition_counts: by topic.
        configs: of the created topics.
        node_id: of a new directory.

    Returns:
        The names of the topics that were created.

    Raises:
        SettingsError: the directory is in use, holds logs without metadata, or has a topic with
            fewer partitions; or a topic or a config is wrong.
        KafkaStorageError: something cannot be read or written.
    """
    meta = read_meta(data_dir)
    if meta is None:
        _refuse_logs(data_dir)
        node_id = _DEFAULT_NODE_ID if node_id is None else node_id
    elif node_id not in {None, meta.node_id}:
        raise SettingsError(f"data directory {data_dir} belongs to node {meta.node_id}")
    else:
        node_id = meta.node_id
    flags = {"node.id": (str(node_id), "--node-id")}
    settings = load_settings(None, {}, (), flags=flags, warnings=[])
    cluster = Cluster.open(settings, data_dir, Clock())
    try:
        return _create(cluster, partition_counts, configs)
    finally:
        cluster.close()


def _create(
    cluster: Cluster, partition_counts: Mapping[str, int], configs: Mapping[str, str]
) -> list[str]:
    plans = []
    for name, count in partition_counts.items():
        known = cluster.topics.get(name)
        if known is None:
            new = NewTopic(name, partition_count=count, configs=tuple(configs.items()))
            try:
                plans.append(cluster.plan_topic(new))
            except BrokerError as error:
                raise SettingsError(f"topic {name}: {error}") from error
        elif known.partition_count < count:
            raise SettingsError(
                f"topic {name} has {known.partition_count} partitions, {count} are wanted"
            )
    topics = cluster.create_topics(plans) if plans else []
    for topic in topics:
        cluster.make_logs(topic)
    return [topic.name for topic in topics]


def _refuse_logs(data_dir: Path) -> None:
    """Refuse a directory with logs but no metadata log: a broker would set the logs aside."""
    for path in data_dir.iterdir() if data_dir.is_dir() else ():
        if path.is_dir() and parse_partition_directory(path.name) is not None:
            raise SettingsError(
                f"{data_dir} holds logs but is not a broker's data directory; broker-lite log"
                f" import {data_dir} --data-dir NEW makes one of it"
            )

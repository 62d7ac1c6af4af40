"""Saves snapshots of a running broker."""

from pathlib import Path
from typing import Final

from broker_lite.log.directory.snapshots import save_snapshot
from broker_lite.server.life import Life

KEPT_TOPICS: Final = ".topics"
"""The name of the snapshot that a reset uses to keep topics; no caller can give it."""


def save(life: Life, name: str, *, with_records: bool = True) -> Path:
    """Save a snapshot of one moment: the event loop does not run meanwhile.

    Args:
        life: the running broker.
        name: of the snapshot.
        with_records: False for the topics, configs, users and features alone.

    Returns:
        Its directory.

    Raises:
        KafkaStorageError: it is not saved.
    """
    cluster = life.cluster
    registered = cluster.brokers.by_id.get(cluster.node_id)
    epoch = 0 if registered is None else max(registered.epoch, 0)
    topics = None if with_records else ()
    return save_snapshot(cluster.logs, name, broker_epoch=epoch, topics=topics)

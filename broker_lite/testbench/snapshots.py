"""Saves snapshots of a running broker."""

from pathlib import Path

from broker_lite.log.directory.snapshots import save_snapshot
from broker_lite.server.life import Life


def save(life: Life, name: str) -> Path:
    """Save a snapshot of one moment: the event loop does not run meanwhile.

    Args:
        life: the running broker.
        name: of the snapshot.

    Returns:
        Its directory.

    Raises:
        KafkaStorageError: it is not saved.
    """
    cluster = life.cluster
    registered = cluster.brokers.by_id.get(cluster.node_id)
    epoch = 0 if registered is None else max(registered.epoch, 0)
    return save_snapshot(cluster.logs, name, broker_epoch=epoch)

"""Brokers and partitions as the metadata has them, for tests that need no cluster."""

from collections.abc import Sequence

from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import Placement


def broker(
    node_id: int,
    rack: str | None = None,
    *,
    is_fenced: bool = False,
    is_stopping: bool = False,
    directories: Sequence[bytes] | None = None,
) -> BrokerRegistration:
    """A broker with one data directory of its own; it is let in."""
    return BrokerRegistration(
        node_id,
        epoch=node_id,
        rack=rack,
        endpoints=(),
        directories=(directory(node_id),) if directories is None else tuple(directories),
        is_fenced=is_fenced,
        is_stopping=is_stopping,
    )


def directory(node_id: int) -> bytes:
    """The id of a broker's data directory."""
    return node_id.to_bytes(16, "big")


def image_of_brokers(*brokers: BrokerRegistration | int) -> MetadataImage:
    """An image with these brokers and nothing else; a number stands for a broker that is let in."""
    image = MetadataImage()
    for each in brokers:
        image.brokers.expect(broker(each) if isinstance(each, int) else each)
    return image


def placement(*replicas: int, isr: Sequence[int] | None = None) -> Placement:
    """Where a partition is; all replicas are in sync unless said otherwise."""
    in_sync = replicas if isr is None else tuple(isr)
    return Placement(replicas, in_sync, tuple(map(directory, replicas)))

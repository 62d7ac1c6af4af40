"""What a broker knows of the cluster: the present, or the past if its metadata is frozen.

In Kafka each broker has a copy of the metadata, which may be behind the controller's. The brokers
of one process share one image, so a broker is behind only if a test says so.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.topic import Topic


class MetadataView(Protocol):
    """Brokers and topics, for the answers that Kafka's brokers take from their MetadataCache."""

    @property
    def brokers(self) -> BrokerRegistrations:
        """The brokers of the cluster, also those that are fenced."""

    @property
    def controller_id(self) -> int:
        """The broker that clients are told as the controller, -1 if there is none."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name."""

    @property
    def topics_by_id(self) -> Mapping[bytes, Topic]:
        """All topics by id."""


class StaleView:
    """The metadata as it is when this object is made."""

    def __init__(self, present: MetadataView) -> None:
        self.brokers = present.brokers.copy()
        self.controller_id = present.controller_id
        self.topics: Mapping[str, Topic] = MappingProxyType({**present.topics})
        self.topics_by_id: Mapping[bytes, Topic] = MappingProxyType({**present.topics_by_id})

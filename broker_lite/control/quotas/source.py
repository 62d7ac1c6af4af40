"""Where the quotas of the cluster come from, and the keys that they have."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from broker_lite.control.quotas.levels import QuotaCounts
from broker_lite.control.users.quota_rules import Entity

PRODUCER: Final = "producer_byte_rate"
CONSUMER: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
MUTATION: Final = "controller_mutation_rate"
CLIENT_KEYS: Final = (PRODUCER, CONSUMER, REQUEST, MUTATION)
CONNECTION: Final = "connection_creation_rate"


class QuotaSource(NamedTuple):
    """The quotas of the cluster, which may change.

    Attributes:
        quotas: that are set, by entity; a live view.
        counts: of `quotas`, live as well.
        version: returns a number that grows with each change.
        now_ms: the broker's clock, in monotonic milliseconds.
    """

    quotas: Mapping[Entity, Mapping[str, float]]
    counts: QuotaCounts
    version: Callable[[], int]
    now_ms: Callable[[], int]

"""What is asked of the broker of another process: types only.

The coordinator of transactions is in the first process, and the partitions are in all of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import ErrorCode
from broker_lite.record.control import EndTransactionMarker

Sent: TypeAlias = Callable[[Mapping[TopicPartition, int]], None]
"""Takes the error codes of markers that were sent to another process."""


class SendsMarkers(Protocol):
    """Has markers written by the leader of partitions in another process."""

    def __call__(
        self,
        node_id: int,
        ending: Ending,
        marker: EndTransactionMarker,
        partitions: Sequence[TopicPartition],
        sent: Sent,
        /,
    ) -> None:
        """Send the marker of a transaction for some partitions; `sent` is called later."""


class AsksCoordinator(Protocol):
    """Asks the coordinator in another process about partitions; see handler/transactions/check."""

    async def __call__(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        *,
        is_added: bool,
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Add partitions to a transaction, or verify that they were added."""

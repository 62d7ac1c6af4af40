"""What is asked of the broker of another process: types only.

The coordinators are in the first process, and the partitions are in all of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import BrokerError, ErrorCode
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


class AsksLeader(Protocol):
    """Asks the leader of partitions in another process where they begin or end."""

    async def __call__(
        self, node_id: int, partitions: Sequence[TopicPartition], timestamp: int, /
    ) -> Mapping[TopicPartition, int | BrokerError]:
        """Return an offset of each partition, or why it is not known.

        Args:
            node_id: of the leader.
            partitions: which; one without an answer is left out of the result.
            timestamp: that of ListOffsets for the offset: -1 for the high watermark, -2 for the
                first offset.
        """

"""Transactions at work: the coordinator of transactions, its state log, and the markers.

Every event is one step without a pause: the machine decides, its records are appended to the
transactional id's partition of `__transaction_state`, and only then is anything answered. When that
append fails, the partition is forgotten and read again, and the request is answered with an error
that a client repeats. A transaction that is ending writes its markers before its client hears of
it; beyond some hundred partitions others have their turn in between, and see it as not ended yet.

What a broker that was killed left half done is finished at its next start.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from broker_lite.control.clock import Clock
from broker_lite.control.cluster import Cluster
from broker_lite.errors import ErrorCode

TopicPartition: TypeAlias = tuple[str, int]


class Transactions:
    """The transactions of a cluster; used by one thread, the event loop's."""

    def __init__(self, *, cluster: Cluster, clock: Clock, groups: Any) -> None:
        """Remember what is needed; nothing is read before start()."""
        self._cluster = cluster
        self._clock = clock
        self._groups = groups

    def start(self) -> None:
        """Read the state log and finish the transactions that were ending."""
        raise NotImplementedError

    async def init_producer_id(self, request: Any, version: int) -> Any:
        """Answer InitProducerId for a transactional id."""
        raise NotImplementedError

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> ErrorCode:
        """Add partitions to a transaction."""
        raise NotImplementedError

    def add_group(
        self, transactional_id: str, producer_id: int, producer_epoch: int, group_id: str
    ) -> ErrorCode:
        """Add a group's partition of `__consumer_offsets` to a transaction."""
        raise NotImplementedError

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Ask whether partitions are in the open transaction of a producer."""
        raise NotImplementedError

    async def end_transaction(self, request: Any, version: int) -> Any:
        """Answer EndTxn; the markers are written then."""
        raise NotImplementedError

    def describe(self, transactional_ids: Iterable[str]) -> list[Any]:
        """The states of DescribeTransactions."""
        raise NotImplementedError

    def list_transactions(self, request: Any) -> Any:
        """Answer ListTransactions."""
        raise NotImplementedError

    def next_deadline_ms(self) -> int | None:
        """When on_time() has something to do, in the clock's steady milliseconds."""
        raise NotImplementedError

    async def on_time(self) -> None:
        """Abort the transactions that ran out of time, forget ids that were idle too long."""
        raise NotImplementedError

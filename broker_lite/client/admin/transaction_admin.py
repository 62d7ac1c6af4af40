"""Lists, describes and ends transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from broker_lite.client.client import TRANSACTION, Client
from broker_lite.client.errors import NotSupported, check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.wire import messages

_TIMEOUT_MS: Final = 30_000
_FIRST_WITH_DURATION: Final = 1  # of ListTransactions
_FIRST_WITH_PATTERN: Final = 2

ActiveProducer: TypeAlias = "messages.DescribeProducersResponse.ProducerState"


class ListedTransaction(NamedTuple):
    """A transactional id and the state of its transaction."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


def list_transactions(
    client: Client,
    *,
    producer_ids: Iterable[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> list[ListedTransaction]:
    """List the transactions of all coordinators.

    Args:
        client: of the cluster.
        producer_ids: only of these; empty for all.
        longer_than_ms: only those that are open for longer; negative for all.
        pattern: a regular expression that transactional ids have to match.

    Raises:
        NotSupported: a broker is too old for the filter.
        Refused: a coordinator refused.
    """
    value = messages.ListTransactionsRequest(
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
        transactional_id_pattern=pattern,
    )
    needed = _FIRST_WITH_DURATION if longer_than_ms >= 0 else 0
    if pattern is not None:
        needed = _FIRST_WITH_PATTERN
    found = []
    for node_id in client.nodes():
        if client.connection(node_id).version_of(messages.ListTransactionsRequest) < needed:
            raise NotSupported(f"broker {node_id} is too old for this filter of transactions")
        answer = client.request(value, node_id=node_id)
        check("transactions", answer.error_code)
        found += [
            ListedTransaction(
                each.transactional_id, node_id, each.producer_id, each.transaction_state
            )
            for each in answer.transaction_states
        ]
    return sorted(found)


def describe_transaction(
    client: Client, transactional_id: str
) -> tuple[int, messages.DescribeTransactionsResponse.TransactionState]:
    """Describe one transactional id.

    Returns:
        The coordinator's node id, and the TransactionState in its response.

    Raises:
        Refused: the coordinator does not know the id, or refused.
    """

    def ask() -> tuple[int, messages.DescribeTransactionsResponse.TransactionState]:
        node_id = client.coordinator(transactional_id, TRANSACTION)
        value = messages.DescribeTransactionsRequest(transactional_ids=[transactional_id])
        (found,) = client.request(value, node_id=node_id).transaction_states
        check(f"transactional id {transactional_id}", found.error_code)
        return node_id, found

    return client.retry(ask)


def describe_producers(
    client: Client, partitions: Iterable[TopicPartition], *, node_id: int
) -> Iterator[tuple[TopicPartition, list[ActiveProducer]]]:
    """Yield the producers in the producer state of partitions.

    A producer's coordinator_epoch is -1 before its first transaction has ended, and its
    current_txn_start_offset is negative without an open transaction.

    Args:
        client: of the cluster.
        partitions: to ask about.
        node_id: of a broker that has a replica of each.

    Raises:
        Refused: the broker refused for a partition.
    """
    make = messages.DescribeProducersRequest
    topics = [
        make.TopicRequest(name=name, partition_indexes=numbers)
        for name, numbers in by_topic(partitions).items()
    ]
    for topic in client.request(make(topics=topics), node_id=node_id).topics:
        for each in topic.partitions:
            what = f"partition {topic.name}-{each.partition_index}"
            check(what, each.error_code, each.error_message)
            yield (topic.name, each.partition_index), each.active_producers


def abort_in_partition(
    client: Client,
    partition: TopicPartition,
    *,
    node_id: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
) -> None:
    """Write an abort marker into a partition, as a coordinator would.

    Raises:
        Refused: the leader refused.
    """
    make = messages.WriteTxnMarkersRequest
    name, number = partition
    topic = make.WritableTxnMarkerTopic(name=name, partition_indexes=[number])
    marker = make.WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=coordinator_epoch,
    )
    answer = client.request(make(markers=[marker]), node_id=node_id)
    for each in answer.markers:
        for written in each.topics:
            for result in written.partitions:
                check(f"partition {name}-{result.partition_index}", result.error_code)


def terminate_transaction(client: Client, transactional_id: str) -> None:
    """Fence the producer of a transactional id, which aborts its open transaction.

    Raises:
        Refused: the coordinator refused.
    """

    def ask() -> None:
        node_id = client.coordinator(transactional_id, TRANSACTION)
        value = messages.InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=_TIMEOUT_MS
        )
        answer = client.request(value, node_id=node_id)
        check(f"transactional id {transactional_id}", answer.error_code)

    client.retry(ask)

"""Transactions as DescribeTransactions and ListTransactions show them."""

from collections.abc import Iterable
from typing import Any, Final

from broker_lite.coordinator.transaction import TopicPartition, Transaction, TransactionState
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

STATE_TEXTS: Final = frozenset(state.text for state in TransactionState)
"""What a filter may ask for."""


def describe(transactional_id: str, transaction: Transaction | None) -> Any:
    """A transactional id with all that is known of it."""
    shown = messages.DescribeTransactionsResponse.TransactionState(
        transactional_id=transactional_id
    )
    if not transactional_id:
        shown.error_code = ErrorCode.INVALID_REQUEST
    elif transaction is None:
        shown.error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    else:
        shown.transaction_state = transaction.state.text
        shown.transaction_timeout_ms = transaction.timeout_ms
        shown.transaction_start_time_ms = transaction.started_ms
        shown.producer_id = transaction.producer_id
        shown.producer_epoch = transaction.producer_epoch
        shown.topics = _topics(transaction.partitions)
    return shown


def listed(transaction: Transaction) -> Any:
    """A transactional id in a list."""
    return messages.ListTransactionsResponse.TransactionState(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.text,
    )


def _topics(partitions: Iterable[TopicPartition]) -> list[Any]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    shown = messages.DescribeTransactionsResponse.TopicData
    return [shown(topic=topic, partitions=indexes) for topic, indexes in topics.items()]

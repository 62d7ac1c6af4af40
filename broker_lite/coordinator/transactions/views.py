"""Transactions as DescribeTransactions and ListTransactions show them.

Transactions are immutable, so these functions may run in another thread than the coordinator.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from broker_lite.coordinator.subscriptions import matching_names
from broker_lite.coordinator.transactions.transaction import (
    TopicPartition,
    Transaction,
    TransactionState,
)
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

STATE_TEXTS: Final = frozenset(state.text for state in TransactionState)
"""The states that a filter may name."""


class Filters(NamedTuple):
    """The filters of a ListTransactions.

    Attributes:
        states: names of states, empty for all.
        producer_ids: empty for all.
        longer_than_ms: only transactions that have been open for longer, negative for all.
        pattern: a regular expression that the whole id must match, empty or None for all.
    """

    states: Collection[str]
    producer_ids: Collection[int]
    longer_than_ms: int
    pattern: str | None


def describe(
    transactional_id: str, found: Transaction | ErrorCode
) -> "messages.DescribeTransactionsResponse.TransactionState":
    """Return the entry of a transactional id in a DescribeTransactions response.

    See: T-01 to T-06 (TransactionCoordinator.handleDescribeTransactions).
    """
    shown = messages.DescribeTransactionsResponse.TransactionState(
        transactional_id=transactional_id
    )
    if not isinstance(found, Transaction):
        shown.error_code = found
    else:
        shown.transaction_state = found.state.text
        shown.transaction_timeout_ms = found.timeout_ms
        shown.transaction_start_time_ms = found.started_ms
        shown.producer_id = found.producer_id
        shown.producer_epoch = found.producer_epoch
        shown.topics = _topics(found.partitions)
    return shown


def list_transactions(
    transactions: Iterable[Transaction], wanted: Filters, now_ms: int
) -> "list[messages.ListTransactionsResponse.TransactionState]":
    """Return the entries of the transactions that pass all filters.

    Raises:
        InvalidRegularExpression: the pattern is invalid.

    See: T-01 to T-06 (TransactionStateManager.listTransactionStates).
    """
    states, producer_ids, longer_than_ms, pattern = wanted
    found = [
        transaction
        for transaction in transactions
        if (not producer_ids or transaction.producer_id in producer_ids)
        and (not states or transaction.state.text in states)
        and (longer_than_ms < 0 or now_ms - transaction.started_ms > longer_than_ms)
    ]
    if pattern:
        matching = set(matching_names(pattern, [each.transactional_id for each in found]))
        found = [each for each in found if each.transactional_id in matching]
    listed = messages.ListTransactionsResponse.TransactionState
    return [
        listed(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            transaction_state=transaction.state.text,
        )
        for transaction in found
    ]


def _topics(
    partitions: Iterable[TopicPartition],
) -> "list[messages.DescribeTransactionsResponse.TopicData]":
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    shown = messages.DescribeTransactionsResponse.TopicData
    return [shown(topic=topic, partitions=indexes) for topic, indexes in topics.items()]

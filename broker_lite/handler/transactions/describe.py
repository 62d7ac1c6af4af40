"""DescribeTransactions (65), ListTransactions (66): show transactions to administrators (KIP-664).

- ListTransactions: v1 by duration (KIP-994), v2 by a pattern of the id (KIP-1152).

Not done: authorization.

Rule: P-144, P-145.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from anyio import to_thread

from broker_lite.coordinator.repeats import few_repeats
from broker_lite.coordinator.transactions.transaction import Transaction
from broker_lite.coordinator.transactions.views import (
    STATE_TEXTS,
    Filters,
    describe,
    list_transactions,
)
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

INLINE_SIZE_MAX: Final = 1000
"""The event loop itself shows up to so many ids and partitions; that takes a few milliseconds."""


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe transactional ids.

    See: T-01 to T-06.
    """
    body = decode(messages.DescribeTransactionsRequest, request)
    find = context.transactions.find
    found = [(each, find(each, context.node_id)) for each in few_repeats(body.transactional_ids)]
    size = len(found) + sum(
        len(transaction.partitions)
        for _, transaction in found
        if isinstance(transaction, Transaction)
    )
    return await _do(partial(_describe, found, request), size)


def _describe(found: list[tuple[str, Transaction | ErrorCode]], request: Request) -> Parts:
    response = messages.DescribeTransactionsResponse(
        transaction_states=[describe(*each) for each in found]
    )
    return encode(messages.DescribeTransactionsResponse, response, request)


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List transactional ids.

    A filter by a state that does not exist matches nothing; the answer names such states.

    See: T-01 to T-06.
    """
    body = decode(messages.ListTransactionsRequest, request)
    try:
        known = context.transactions.all(context.node_id)
    except BrokerError as error:
        response = messages.ListTransactionsResponse(error_code=error.code)
        return encode(messages.ListTransactionsResponse, response, request)
    # A pattern may take long to match, even against few ids.
    size = INLINE_SIZE_MAX + 1 if body.transactional_id_pattern else len(known)
    return await _do(partial(_list, known, body, context.clock.steady_ms(), request), size)


def _list(
    known: list[Transaction], body: messages.ListTransactionsRequest, now_ms: int, request: Request
) -> Parts:
    response = messages.ListTransactionsResponse()
    wanted = Filters(
        body.state_filters,
        frozenset(body.producer_id_filters),
        body.duration_filter,
        body.transactional_id_pattern,
    )
    try:
        response.transaction_states = list_transactions(known, wanted, now_ms)
    except BrokerError as error:
        response.error_code = error.code
    else:
        states = dict.fromkeys(body.state_filters)
        response.unknown_state_filters = [each for each in states if each not in STATE_TEXTS]
    return encode(messages.ListTransactionsResponse, response, request)


async def _do(work: Callable[[], Parts], size: int) -> Parts:
    """Run the work in a thread if it is large; that is safe, because it only reads values."""
    return work() if size <= INLINE_SIZE_MAX else await to_thread.run_sync(work)

"""DescribeTransactions (65), ListTransactions (66): show transactions to administrators (KIP-664).

- ListTransactions: v1 by duration (KIP-994), v2 by a pattern of the id (KIP-1152).

Topics that the client may not describe are left out of a transaction that it may describe.

Not done: showing an id that a request names more than ten times as often as that.

Rule: P-144, P-145.
"""

from collections.abc import Callable, Collection
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
from broker_lite.handler.authorized import denied_names
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import TopicKey, denied_names_in_turns, denied_topics_in_turns
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
INLINE_SIZE_MAX: Final = 1000
"""The event loop itself shows up to so many ids and partitions; that takes a few milliseconds."""


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe transactional ids.

    Rule: X-61 (KafkaApis.handleDescribeTransactionsRequest).
    See: T-01 to T-06.
    """
    body = decode(messages.DescribeTransactionsRequest, request)
    find = context.transactions.find
    ids = body.transactional_ids
    denied = denied_names(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ids)
    found = [
        (each, _DENIED if each in denied else find(each, context.node_id))
        for each in few_repeats(ids)
    ]
    names = (
        topic
        for _, transaction in found
        if isinstance(transaction, Transaction)
        for topic, _ in transaction.partitions
    )
    hidden = await denied_topics_in_turns(context, Operation.DESCRIBE, names)
    size = len(found) + sum(
        len(transaction.partitions)
        for _, transaction in found
        if isinstance(transaction, Transaction)
    )
    return await _do(partial(_describe, found, hidden, request), size)


def _describe(
    found: list[tuple[str, Transaction | ErrorCode]], hidden: Collection[TopicKey], request: Request
) -> Parts:
    response = messages.DescribeTransactionsResponse(
        transaction_states=[describe(*each) for each in found]
    )
    for shown in response.transaction_states if hidden else ():
        shown.topics = [topic for topic in shown.topics if topic.topic not in hidden]
    return encode(messages.DescribeTransactionsResponse, response, request)


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List the transactional ids that the client may describe.

    A filter by a state that does not exist matches nothing; the answer names such states.

    See: T-01 to T-06, X-61.
    """
    body = decode(messages.ListTransactionsRequest, request)
    try:
        known = context.transactions.all(context.node_id)
    except BrokerError as error:
        response = messages.ListTransactionsResponse(error_code=error.code)
        return encode(messages.ListTransactionsResponse, response, request)
    ids = (each.transactional_id for each in known)
    kind = ResourceType.TRANSACTIONAL_ID
    denied = await denied_names_in_turns(context, Operation.DESCRIBE, kind, ids)
    if denied:
        known = [each for each in known if each.transactional_id not in denied]
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

"""DescribeTransactions (65), version 0, ListTransactions (66), versions 0-2 (KIP-664).

- ListTransactions: v1 by duration (KIP-994), v2 by a pattern of the id (KIP-1152).

Not done: authorization.
"""

from typing import Final

from broker_lite.coordinator.transaction_views import STATE_TEXTS, Filters
from broker_lite.errors import BrokerError
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

DESCRIBE_MIN_VERSION: Final = 0
DESCRIBE_MAX_VERSION: Final = 0
LIST_MIN_VERSION: Final = 0
LIST_MAX_VERSION: Final = 2


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe transactional ids.

    Rule: T-01 to T-06.
    """
    body = decode(messages.DescribeTransactionsRequest, request)
    describe = context.transactions.describe
    response = messages.DescribeTransactionsResponse(
        transaction_states=[describe(each) for each in body.transactional_ids]
    )
    return encode(messages.DescribeTransactionsResponse, response, request)


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List transactional ids; states that there are not are named, and nothing has them.

    Rule: T-01 to T-06.
    """
    body = decode(messages.ListTransactionsRequest, request)
    response = messages.ListTransactionsResponse()
    wanted = Filters(
        body.state_filters,
        frozenset(body.producer_id_filters),
        body.duration_filter,
        body.transactional_id_pattern,
    )
    try:
        response.transaction_states = context.transactions.list_transactions(wanted)
    except BrokerError as error:
        response.error_code = error.code
    else:
        states = dict.fromkeys(body.state_filters)
        response.unknown_state_filters = [each for each in states if each not in STATE_TEXTS]
    return encode(messages.ListTransactionsResponse, response, request)

"""InitProducerId (22), versions 0-5: ids for idempotent producers.

- v2 flexible; v3 the producer's former id and epoch (KIP-360); v4 PRODUCER_FENCED (KIP-588); v5
  TRANSACTION_ABORTABLE (KIP-890).

Not done: transactional ids. There is no transaction coordinator yet, which is what their producers
are told (15, retriable); version 6 (KIP-939), which Kafka does not enable either.
"""

from typing import Any, Final

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

MIN_VERSION: Final = 0
MAX_VERSION: Final = 5

_NONE: Final = -1


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Give a producer its id.

    Rule: T-12 to T-15.
    """
    body = decode(messages.InitProducerIdRequest, request)
    response = messages.InitProducerIdResponse(producer_id=_NONE, producer_epoch=_NONE)
    error = _refusal(body)
    if error is not None:
        response.error_code = error
    else:
        try:
            response.producer_id = context.cluster.next_producer_id()
            response.producer_epoch = 0
        except BrokerError as failure:
            response.error_code = failure.code
    return encode(messages.InitProducerIdResponse, response, request)


def _refusal(body: Any) -> ErrorCode | None:
    """Rule: T-13, T-14."""
    if (body.producer_id == _NONE) != (body.producer_epoch == _NONE):
        return ErrorCode.INVALID_REQUEST
    if body.transactional_id is None:
        return None
    if not body.transactional_id:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.COORDINATOR_NOT_AVAILABLE

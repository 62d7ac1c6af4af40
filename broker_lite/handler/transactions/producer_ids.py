"""InitProducerId (22): ids for idempotent and transactional producers.

- v2 flexible; v3 the producer's former id and epoch (KIP-360); v4 PRODUCER_FENCED (KIP-588); v5
  TRANSACTION_ABORTABLE (KIP-890), which this broker has no reason to answer; v6 transactions that
  have no timeout, for a commit in two phases (KIP-939).

A listener offers v6 with unstable.api.versions.enable only.

Not done: to keep a prepared transaction (v6). Kafka refuses that, too.

Rule: T-65.
"""

from typing import Final

from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import is_allowed, is_allowed_by_any, is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.refusals import tell_transaction
from broker_lite.handler.transactions.check import denied_transaction
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_NONE: Final = -1
_FENCED_SINCE: Final = 4


@answers_when_flushed
async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer a producer's id and epoch.

    Rule: T-12 to T-14, T-26, X-54.
    See: T-15 to T-25, T-27, T-69.
    """
    body = decode(messages.InitProducerIdRequest, request)
    response = messages.InitProducerIdResponse(producer_id=_NONE, producer_epoch=_NONE)
    denied = _denied(context, body.transactional_id, is_two_phase=body.enable2_pc)
    if denied:
        response.error_code = denied
    elif (body.producer_id == _NONE) != (body.producer_epoch == _NONE):
        response.error_code = ErrorCode.INVALID_REQUEST
    elif body.transactional_id is None:
        _give_any(context, response)
    else:
        await _give_to(context, body, response)
        if response.error_code == ErrorCode.PRODUCER_FENCED and request.api_version < _FENCED_SINCE:
            response.error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    tell_transaction(context, request, response.error_code, body.transactional_id)
    return encode(messages.InitProducerIdResponse, response, request)


def _denied(
    context: HandlerContext, transactional_id: str | None, *, is_two_phase: bool
) -> ErrorCode:
    """Return the error if the client may not produce so, else NONE.

    Without a transactional id, whoever may write to any topic may have a producer id.

    Rule: T-12 (KafkaApis.handleInitProducerIdRequest).
    See: T-69.
    """
    if transactional_id is not None:
        denied = denied_transaction(context, transactional_id)
        kind, operation = ResourceType.TRANSACTIONAL_ID, Operation.TWO_PHASE_COMMIT
        if is_two_phase and not is_allowed(context, operation, kind, transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return denied
    may = is_allowed_on_cluster(context, Operation.IDEMPOTENT_WRITE) or is_allowed_by_any(
        context, Operation.WRITE, ResourceType.TOPIC
    )
    return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _give_any(context: HandlerContext, response: messages.InitProducerIdResponse) -> None:
    """Rule: T-14.

    See: T-15.
    """
    try:
        response.producer_id = context.cluster.next_producer_id()
        response.producer_epoch = 0
    except BrokerError as error:
        response.error_code = error.code


async def _give_to(
    context: HandlerContext,
    body: messages.InitProducerIdRequest,
    response: messages.InitProducerIdResponse,
) -> None:
    """Rule: T-26.

    See: T-16 to T-25.
    """
    expected: Producer | None = (body.producer_id, body.producer_epoch)
    if body.producer_id == _NONE:
        expected = None
    assert body.transactional_id is not None
    outcome = await context.transactions.init_producer_id(
        body.transactional_id,
        Terms(body.transaction_timeout_ms, body.enable2_pc, body.keep_prepared_txn),
        expected=expected,
        node_id=context.node_id,
    )
    response.error_code = outcome.error
    if not outcome.error:
        response.producer_id, response.producer_epoch = outcome.producer

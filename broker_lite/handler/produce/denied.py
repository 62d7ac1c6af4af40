"""The partitions of a Produce that its client may not write to, set aside before anything else.

The other partitions of the request go on.
"""

from broker_lite.errors import ErrorCode, TransactionalIdAuthorizationFailed, Why
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.large import in_turns
from broker_lite.handler.produce.check import is_transactional, needs_transactional_id
from broker_lite.handler.produce.many import PARTITIONS_AT_A_TIME, pieces
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire.produce import PartitionAnswer, PartitionKey, ProduceRequest, Topics

_NO_TRANSACTION = "the client may not use the transactional id"
_DENIED = PartitionAnswer(
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    why=Why("X-46", "the client may not write to the topic", {}),
)


async def set_denied_aside(
    context: HandlerContext, produce: ProduceRequest
) -> tuple[ProduceRequest, dict[PartitionKey, PartitionAnswer]]:
    """Split a request into what the client may do, and the answers for the rest.

    One decision is made for each topic. A topic that does not exist is asked about, too, but not an
    id that does not exist.

    Raises:
        BrokerError: the whole request fails: a header is malformed, or the client may not use the
            transactional id of transactional records.

    Rule: X-46 (KafkaApis.handleProduceRequest).
    See: V-06, V-07, X-63.
    """
    await _check_transaction(context, produce)
    keys = (topic_id or name or "" for name, topic_id, _ in produce.topics)
    denied = await denied_topics_in_turns(context, Operation.WRITE, keys)
    if not denied:
        return produce, {}
    allowed: Topics = []
    refused: dict[PartitionKey, PartitionAnswer] = {}
    async for topic in in_turns(produce.topics, at_least=1):
        key = topic[1] or topic[0] or ""
        if key not in denied:
            allowed.append(topic)
            continue
        async for index, _ in in_turns(topic[2]):
            refused[key, index] = _DENIED
    return produce._replace(topics=allowed), refused


async def _check_transaction(context: HandlerContext, produce: ProduceRequest) -> None:
    """Demand the right to use the transactional id if there are transactional records.

    Raises:
        TransactionalIdAuthorizationFailed: there is no such id, or no such right.
        BrokerError: a header is malformed.
    """
    async for piece in in_turns(pieces(produce.topics, PARTITIONS_AT_A_TIME), at_least=1):
        if not is_transactional(piece):
            continue
        transactional_id = produce.transactional_id
        if transactional_id is None:
            raise needs_transactional_id()
        kind = ResourceType.TRANSACTIONAL_ID
        if not is_allowed(context, Operation.WRITE, kind, transactional_id):
            raise TransactionalIdAuthorizationFailed().because("X-46", _NO_TRANSACTION)
        return

"""UnregisterBroker (64): forget a broker that will not come back.

Kafka lets any broker be unregistered, also one that is alive: it leads nothing any more, and
clients do not see it, until it starts anew.

Not done: controllers, which cannot be unregistered in Kafka either.
"""

from broker_lite.errors import BrokerError, BrokerIdNotRegistered
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Forget a broker.

    Rule: C-46 (ReplicationControlManager.unregisterBroker).
    See: C-23, X-60.
    """
    body = decode(messages.UnregisterBrokerRequest, request)
    cluster = context.cluster
    response = messages.UnregisterBrokerResponse(error_message="")
    try:
        check_cluster(context, Operation.ALTER)
        if body.broker_id not in cluster.brokers.by_id:
            raise BrokerIdNotRegistered(f"Broker ID {body.broker_id} is not currently registered")
        cluster.controller.unregister(body.broker_id)
    except BrokerError as error:
        response.error_code, response.error_message = error.code, error.message
    return encode(messages.UnregisterBrokerResponse, response, request)

"""DescribeCluster (60): the cluster's id and its brokers (KIP-700).

- v1 asks for brokers or controllers (KIP-919): this endpoint is a broker's.
- v2 tells which brokers are fenced, and leaves them out unless it is asked for them (KIP-1073).

Not done: controllers. In Kafka they have an endpoint of their own, which does not exist here.
"""

from typing import Final

from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import cluster_operations, if_asked
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe the brokers, by the addresses of the client's listener.

    Rule: P-140, X-58.
    See: P-75.
    """
    body = decode(messages.DescribeClusterRequest, request)
    response = _describe(context, body) if body.endpoint_type == _BROKERS else _refuse(body)
    return encode(messages.DescribeClusterResponse, response, request)


def _describe(
    context: HandlerContext, body: messages.DescribeClusterRequest
) -> messages.DescribeClusterResponse:
    view = context.metadata
    types = messages.DescribeClusterResponse
    brokers = [one for _, one in sorted(view.brokers.by_id.items())]
    if not body.include_fenced_brokers:
        brokers = list(view.brokers.alive())
    return types(
        cluster_id=context.cluster.cluster_id,
        controller_id=view.controller_id,
        brokers=[
            types.DescribeClusterBroker(
                broker_id=one.node_id,
                host=address[0],
                port=address[1],
                rack=one.rack,
                is_fenced=one.is_fenced,
            )
            for one in brokers
            if (address := _address(context, one)) is not None
        ],
        cluster_authorized_operations=if_asked(
            body.include_cluster_authorized_operations, cluster_operations(context)
        ),
    )


def _address(context: HandlerContext, broker: BrokerRegistration) -> tuple[str, int] | None:
    """Return where the client reaches a broker; of one that is gone, where it was last."""
    address = context.address_of(broker.node_id)
    if address is None:
        name = context.listener.name
        last = (one for one in broker.endpoints if one.name == name)
        address = next(((one.host, one.port) for one in last), None)
    return address


def _refuse(body: messages.DescribeClusterRequest) -> messages.DescribeClusterResponse:
    """Rule: P-140."""
    if body.endpoint_type == _CONTROLLERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        text = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            "CONTROLLER"
        )
    else:
        error = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        text = f"Unsupported endpoint type {body.endpoint_type}"
    return messages.DescribeClusterResponse(
        error_code=int(error), error_message=text, cluster_id="", controller_id=-1
    )

"""EndTxn (26), WriteTxnMarkers (27): end transactions.

- EndTxn: v2 PRODUCER_FENCED (KIP-588), v3 flexible, v4 TRANSACTION_ABORTABLE; v5 raises the epoch
  and answers it (KIP-890).
- WriteTxnMarkers: for brokers, and for administrators who abort a hanging transaction; v2 has
  the transaction's version (KIP-1228).

Not done: answering EndTxn before the markers are written, as Kafka does.
"""

from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.coordinators.end_markers import MARKERS_AT_A_TIME, STEP_MS
from broker_lite.coordinator.transactions.transaction import EPOCH_BUMP_VERSION, TopicPartition
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.refusals import tell_transaction
from broker_lite.handler.transactions.check import denied_transaction
from broker_lite.handler.transactions.partitions import before_fencing
from broker_lite.record.control import EndTransactionMarker
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_FENCED_SINCE: Final = 2
_BUMPED_SINCE: Final = 5


@answers_when_flushed
async def handle_end(context: HandlerContext, request: Request) -> Parts:
    """Commit or abort a transaction.

    See: T-46 to T-53, X-54.
    """
    body = decode(messages.EndTxnRequest, request)
    version = request.api_version
    response = messages.EndTxnResponse()
    denied = denied_transaction(context, body.transactional_id)
    if denied:
        response.error_code = denied
        tell_transaction(context, request, denied, body.transactional_id)
        return encode(messages.EndTxnResponse, response, request)
    outcome = await context.transactions.end(
        body.transactional_id,
        (body.producer_id, body.producer_epoch),
        is_commit=body.committed,
        client_version=EPOCH_BUMP_VERSION if version >= _BUMPED_SINCE else 0,
        node_id=context.node_id,
    )
    response.error_code = outcome.error
    tell_transaction(context, request, outcome.error, body.transactional_id)
    if version < _FENCED_SINCE:
        response.error_code = before_fencing(outcome.error)
    elif version >= _BUMPED_SINCE and not outcome.error:
        response.producer_id, response.producer_epoch = outcome.producer
    return encode(messages.EndTxnResponse, response, request)


@answers_when_flushed
async def handle_markers(context: HandlerContext, request: Request) -> Parts:
    """Write the markers that the request lists.

    Rule: T-59.
    See: X-60.
    """
    body = decode(messages.WriteTxnMarkersRequest, request)
    types = messages.WriteTxnMarkersResponse
    response = types()
    may_write = is_allowed_on_cluster(context, Operation.ALTER) or is_allowed_on_cluster(
        context, Operation.CLUSTER_ACTION
    )
    written = 0
    until_ms = context.clock.unfrozen_ms() + STEP_MS
    for marker in body.markers:
        topics = []
        for topic in marker.topics:
            partitions = []
            for index in topic.partition_indexes:
                partitions.append(
                    types.WritableTxnMarkerPartitionResult(
                        partition_index=index,
                        error_code=_write(context, marker, (topic.name, index))
                        if may_write
                        else ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                    )
                )
                written += 1
                if written == MARKERS_AT_A_TIME or context.clock.unfrozen_ms() >= until_ms:
                    await checkpoint()
                    written, until_ms = 0, context.clock.unfrozen_ms() + STEP_MS
            topics.append(
                types.WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions)
            )
        response.markers.append(
            types.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
        )
    return encode(types, response, request)


def _write(
    context: HandlerContext,
    marker: "messages.WriteTxnMarkersRequest.WritableTxnMarker",
    partition: TopicPartition,
) -> int:
    """Write one marker, and return the error code for the response.

    Rule: C-71 (KafkaApis.handleWriteTxnMarkersRequest).
    """
    cluster, node_id = context.cluster, context.node_id
    try:
        if not cluster.has_replica(*partition, node_id):
            raise UnknownTopicOrPartition
        if cluster.log(*partition).leader_id != node_id:
            raise NotLeaderOrFollower
        context.transactions.markers.write(
            partition,
            (marker.producer_id, marker.producer_epoch),
            EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch),
            marker.transaction_version,
        )
    except BrokerError as error:
        return error.code
    return ErrorCode.NONE

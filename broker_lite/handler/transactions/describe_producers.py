"""DescribeProducers (61): the producers of partitions and their transactions (KIP-664).

A name that no topic may have is answered before the client's rights are looked at, as in Kafka.

Not done: Kafka's metrics, which tell throttle times among others.
"""

import logging
from typing import Final

from broker_lite.control.metadata.topic_names import check_topic_name
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.leadership import check_leader
from broker_lite.log.producers.entry import ActiveProducer
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

logger = logging.getLogger("broker_lite.handler")


_DENIED: Final = "Topic authorization failed."
# Kafka has this text for an unknown topic only, and none for an unknown partition of a known topic.
_UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe the producers of partitions.

    Rule: P-143.
    See: X-61.
    """
    body = decode(messages.DescribeProducersRequest, request)
    response_type = messages.DescribeProducersResponse
    topics = [
        response_type.TopicResponse(
            name=topic.name,
            partitions=[_describe(context, topic.name, index) for index in topic.partition_indexes],
        )
        for topic in body.topics
    ]
    return encode(response_type, response_type(topics=topics), request)


def _describe(
    context: HandlerContext, topic: str, index: int
) -> "messages.DescribeProducersResponse.PartitionResponse":
    """Rule: P-143."""
    answer = messages.DescribeProducersResponse.PartitionResponse(partition_index=index)
    try:
        check_topic_name(topic)
        if not is_allowed(context, Operation.READ, ResourceType.TOPIC, topic):
            raise TopicAuthorizationFailed(_DENIED)
        if topic not in context.cluster.topics:
            raise UnknownTopicOrPartition(_UNKNOWN_TOPIC)
        log = context.cluster.log(topic, index)
        check_leader(context.cluster, context.node_id, log, may_follow=True)
        answer.active_producers = [_producer(each) for each in log.producer_state.describe()]
    except BrokerError as error:
        answer.error_code = error.code
        answer.error_message = error.message
    except Exception:
        logger.exception("producers not described topic=%s partition=%d", topic, index)
        answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    return answer


def _producer(producer: ActiveProducer) -> "messages.DescribeProducersResponse.ProducerState":
    return messages.DescribeProducersResponse.ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp_ms,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.current_transaction_first_offset,
    )

"""DescribeProducers (61), version 0 (KIP-664): the producers that partitions remember.

Not done: open transactions, which nobody begins without a transaction coordinator.
"""

import logging
from typing import Any, Final

from broker_lite.control.names import is_legal_topic_name
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

logger = logging.getLogger("broker_lite.handler")

MIN_VERSION: Final = 0
MAX_VERSION: Final = 0

# What the codes mean in Kafka's words, where the error brings no text of its own.
_TEXTS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.KAFKA_STORAGE_ERROR: "Disk error when trying to access log file on the disk.",
}


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe the producers of partitions.

    Rule: P-143.
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


def _describe(context: HandlerContext, topic: str, index: int) -> Any:
    """Rule: P-143."""
    answer = messages.DescribeProducersResponse.PartitionResponse(partition_index=index)
    try:
        check_topic_name(topic)
        log = context.cluster.log(topic, index)
        answer.active_producers = [_producer(each) for each in log.producer_state.describe()]
    except BrokerError as error:
        answer.error_code = error.code
        answer.error_message = error.message or _TEXTS.get(error.code)
    except Exception:
        logger.exception("producers not described topic=%s partition=%d", topic, index)
        answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    return answer


def _producer(producer: Any) -> Any:
    return messages.DescribeProducersResponse.ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp_ms,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.current_transaction_first_offset,
    )

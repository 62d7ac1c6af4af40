"""DeleteRecords (21): delete the first records of partitions.

It moves the log start offset of partitions. Retention removes the files of segments below it.

- v0 KIP-107; v2 flexible (KIP-482).

Not done: timeout_ms, which is a wait for followers, because there are no followers.
"""

import logging

from broker_lite.errors import BrokerError, ErrorCode, InvalidTopic, UnknownTopicOrPartition
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics
from broker_lite.handler.leadership import check_leader
from broker_lite.log.canned.endless import SyntheticTopic
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

logger = logging.getLogger("broker_lite.handler")


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Delete records below offsets.

    Rule: F-90, P-112.
    See: X-56.
    """
    body = decode(messages.DeleteRecordsRequest, request)
    response_type = messages.DeleteRecordsResponse
    # a partition that is named twice counts once, as it was named last
    asked: dict[str, dict[int, messages.DeleteRecordsRequest.DeleteRecordsPartition]] = {}
    for each in body.topics:
        by_index = asked.setdefault(each.name, {})
        by_index.update((wanted.partition_index, wanted) for wanted in each.partitions)
    denied = denied_topics(context, Operation.DELETE, asked)
    topics = [
        response_type.DeleteRecordsTopicResult(
            name=name,
            partitions=[
                _denied(index) if name in denied else _delete(context, name, wanted)
                for index, wanted in partitions.items()
            ],
        )
        for name, partitions in asked.items()
    ]
    return encode(response_type, response_type(topics=topics), request)


def _denied(index: int) -> "messages.DeleteRecordsResponse.DeleteRecordsPartitionResult":
    """See: X-56."""
    return messages.DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=index,
        low_watermark=-1,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )


def _delete(
    context: HandlerContext,
    name: str,
    wanted: "messages.DeleteRecordsRequest.DeleteRecordsPartition",
) -> "messages.DeleteRecordsResponse.DeleteRecordsPartitionResult":
    """Rule: F-90."""
    answer = messages.DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=-1
    )
    try:
        topic = context.cluster.topics.get(name)
        if topic is None or not 0 <= wanted.partition_index < topic.partition_count:
            raise UnknownTopicOrPartition
        if topic.is_internal:
            raise InvalidTopic
        log = context.cluster.log(name, wanted.partition_index)
        check_leader(context.cluster, context.node_id, log)
        if log.visibility.synthetic is not None:
            raise SyntheticTopic
        answer.low_watermark = log.delete_records_before(wanted.offset)
    except BrokerError as error:
        answer.error_code = error.code
    except Exception:
        logger.exception("records not deleted topic=%s-%d", name, wanted.partition_index)
        answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    return answer

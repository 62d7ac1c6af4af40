"""OffsetForLeaderEpoch (23): where the records of a leader epoch end.

A client asks for it to find out whether the log was cut behind its position.

- v2 leader epoch check (KIP-320); v3 replica id (KIP-392), which makes no difference here.

Not done: versions 0 and 1, which only old brokers send.
"""

import logging

from anyio.lowlevel import checkpoint

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import NONE_DENIED, TopicKey, denied_topics
from broker_lite.handler.fetch.read import LOGS_AT_A_TIME
from broker_lite.handler.leadership import check_leader
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

logger = logging.getLogger("broker_lite.handler")


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer the end offsets of leader epochs.

    Rule: F-80, F-81.
    See: X-48.
    """
    body = decode(messages.OffsetForLeaderEpochRequest, request)
    response_type = messages.OffsetForLeaderEpochResponse
    denied = _denied(context, body)
    topics = []
    for topic in body.topics:
        if topic.topic in denied:
            continue
        partitions = []
        for position, wanted in enumerate(topic.partitions):
            if position % LOGS_AT_A_TIME == LOGS_AT_A_TIME - 1:
                await checkpoint()
            partitions.append(_answer(context, topic.topic, wanted))
        topics.append(
            response_type.OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions)
        )
    topics += [_refusal(topic) for topic in body.topics if topic.topic in denied]
    return encode(response_type, response_type(topics=topics), request)


def _denied(
    context: HandlerContext, body: messages.OffsetForLeaderEpochRequest
) -> frozenset[TopicKey]:
    """Return the topics that the client may not describe; a broker may describe every topic.

    See: X-48 (KafkaApis.handleOffsetForLeaderEpochRequest).
    """
    if is_allowed_on_cluster(context, Operation.CLUSTER_ACTION):
        return NONE_DENIED
    names = (topic.topic for topic in body.topics)
    return denied_topics(context, Operation.DESCRIBE, names)


def _refusal(
    topic: "messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic",
) -> "messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult":
    types = messages.OffsetForLeaderEpochResponse
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return types.OffsetForLeaderTopicResult(
        topic=topic.topic,
        partitions=[
            types.EpochEndOffset(partition=wanted.partition, error_code=code)
            for wanted in topic.partitions
        ],
    )


def _answer(
    context: HandlerContext,
    topic: str,
    wanted: "messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition",
) -> "messages.OffsetForLeaderEpochResponse.EpochEndOffset":
    """Rule: F-81."""
    answer = messages.OffsetForLeaderEpochResponse.EpochEndOffset(partition=wanted.partition)
    try:
        log = context.cluster.log(topic, wanted.partition)
        check_leader(context.cluster, context.node_id, log, wanted.current_leader_epoch)
        asked_epoch = wanted.leader_epoch
        answer.leader_epoch, answer.end_offset = (
            log.epochs.end_offset_for(asked_epoch, log.log_end_offset)
            if log.visibility.synthetic is None
            else log.visibility.synthetic.end_offset_for(asked_epoch, log.leader_epoch)
        )
    except BrokerError as error:
        answer.error_code = error.code
    except Exception:
        logger.exception("no end offset topic=%s partition=%d", topic, wanted.partition)
        answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    return answer

"""The topics of a ListOffsets that its client may not describe: they are answered last."""

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext, Parts
from broker_lite.handler.denied import denied_topics, denied_topics_in_turns
from broker_lite.handler.large import LargeRequest, in_turns
from broker_lite.handler.log_offsets.list_offsets_many import Answer, list_many, listed_topic
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages
from broker_lite.wire.list_offsets import ListedPartition, ListedTopic, ListOffsetsRequest

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def set_denied_aside(
    context: HandlerContext, body: ListOffsetsRequest
) -> tuple[ListOffsetsRequest, list[ListedTopic]]:
    """Split a request into what the client may ask, and the answers for the rest.

    A partition that is named twice is answered twice there.

    Rule: X-48 (KafkaApis.handleListOffsetRequest).
    """
    names = (name for name, _ in body.topics)
    denied = denied_topics(context, Operation.DESCRIBE, names)
    if not denied:
        return body, []
    refused: list[ListedTopic] = [
        (name, [ListedPartition(each.partition_index, _DENIED) for each in partitions])
        for name, partitions in body.topics
        if name in denied
    ]
    return body._replace(topics=[each for each in body.topics if each[0] not in denied]), refused


async def list_many_allowed(
    context: HandlerContext, request: LargeRequest, answer: Answer
) -> Parts:
    """Do the same for a large request, and answer it.

    Args:
        context: the client.
        request: decoded already; its answer is set.
        answer: returns the answer for one partition.
    """
    asked: messages.ListOffsetsRequest = request.decoded
    names = (topic.name for topic in asked.topics)
    denied = await denied_topics_in_turns(context, Operation.DESCRIBE, names)
    refused = [topic for topic in asked.topics if topic.name in denied]
    if refused:
        asked.topics = [topic for topic in asked.topics if topic.name not in denied]
    parts = await list_many(request, answer)
    assert request.answer is not None, "list_many() has set it"
    topics = request.answer[1].topics
    async for topic in in_turns(refused, at_least=1):
        codes = (ListedPartition(each.partition_index, _DENIED) for each in topic.partitions)
        topics.append(await listed_topic(topic.name, codes, request.api_version))
    return parts

"""DescribeTopicPartitions (75): describe topics page by page (KIP-966).

Topics come sorted by name and are never created on demand. If the limit is reached, next_cursor
names the topic and partition that come next.

Not done: replicas in a data directory that is offline are not listed as offline, because a broker
has one data directory.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, is_legal_topic_name
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import authorized_operations, is_allowed
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, sorted_in_turns
from broker_lite.handler.topics.placed import Placed, Places
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_Topic: TypeAlias = "messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic"

_LIKE_METADATA: Final = 13
"""The version of Metadata that lists replicas as this API does."""


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe one page of topics.

    Rule: P-93, P-94.
    """
    body = decode(messages.DescribeTopicPartitionsRequest, request)
    cursor = body.cursor
    start = cursor.topic_name if cursor is not None else ""
    asked = {entry.name async for entry in in_turns(body.topics)} or set(context.metadata.topics)
    first = _utf16(start)
    names = {name: key async for name in in_turns(asked) if (key := _utf16(name)) >= first}
    # a cursor has to name one of the requested topics, and a partition that can exist
    is_lost = bool(body.topics) and cursor is not None and start not in names
    if is_lost or (cursor is not None and cursor.partition_index < 0):
        return encode(messages.DescribeTopicPartitionsResponse, _refusal(body), request)
    limit = min(context.settings.max_request_partition_size_limit, body.response_partition_limit)
    page = _Page(context, max(limit, 1), tells_denied=bool(body.topics))
    first_index = cursor.partition_index if cursor is not None else 0
    async for name in in_turns(await sorted_in_turns(names, names.__getitem__)):
        page.add(name, first_index if cursor is not None and name == start else 0)
    page.response.topics += page.denied
    return encode(messages.DescribeTopicPartitionsResponse, page.response, request)


def _utf16(name: str) -> bytes:
    """Return a sort key for the order of strings in Java: UTF-16 code units."""
    return name.encode("utf-16-be", "surrogatepass")


def _refusal(
    body: messages.DescribeTopicPartitionsRequest,
) -> messages.DescribeTopicPartitionsResponse:
    topic = messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    code = int(ErrorCode.INVALID_REQUEST)
    return messages.DescribeTopicPartitionsResponse(
        topics=[topic(error_code=code, name=entry.name) for entry in body.topics]
    )


class _Page:
    """A response that is being filled; once it is full, add() only sets the cursor.

    Attributes:
        denied: entries of the topics that the client may not describe. They come last, and are told
            even if the response is full, as in Kafka.

    See: X-49.
    Rule: P-93 (KRaftMetadataCache.describeTopicResponse).
    """

    def __init__(self, context: HandlerContext, limit: int, *, tells_denied: bool) -> None:
        self.response = messages.DescribeTopicPartitionsResponse()
        self.denied: list[_Topic] = []
        self._context = context
        self._tells_denied = tells_denied
        self._view = context.metadata
        self._places = Places(context, _LIKE_METADATA)
        self._remaining = limit

    def add(self, name: str, first_index: int) -> None:
        """Add a topic from one of its partitions on, as far as the limit allows."""
        if not is_allowed(self._context, Operation.DESCRIBE, ResourceType.TOPIC, name):
            if self._tells_denied:
                self.denied.append(_denied(name))
            return
        if self.response.next_cursor is not None:
            return
        if self._remaining == 0:
            self._continue_at(name, 0)
            return
        topic = self._view.topics.get(name)
        if topic is None:
            self.response.topics.append(_unknown(name, self._operations(name)))
            return
        end = min(first_index + self._remaining, topic.partition_count)
        indexes = range(first_index, end)
        self.response.topics.append(_describe(topic, indexes, self._places, self._operations(name)))
        self._remaining -= len(indexes)
        if end < topic.partition_count:
            self._continue_at(name, end)

    def _operations(self, name: str) -> int:
        return authorized_operations(self._context, ResourceType.TOPIC, name)

    def _continue_at(self, name: str, index: int) -> None:
        self.response.next_cursor = messages.DescribeTopicPartitionsResponse.Cursor(
            topic_name=name, partition_index=index
        )


def _denied(name: str) -> _Topic:
    return messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), name=name
    )


def _unknown(name: str, operations: int) -> _Topic:
    error = (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if is_legal_topic_name(name)
        else ErrorCode.INVALID_TOPIC_EXCEPTION
    )
    return messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        error_code=int(error),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
    )


def _describe(topic: Topic, indexes: Iterable[int], places: Places, operations: int) -> _Topic:
    types = messages.DescribeTopicPartitionsResponse
    return types.DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        topic_authorized_operations=operations,
        partitions=[
            _partition(index, topic.partitions[index], places.of(topic.partitions[index]))
            for index in indexes
        ],
    )


def _partition(
    index: int, partition: PartitionRegistration, place: Placed
) -> "messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition":
    """Describe a partition; a leader that cannot be reached is no error here.

    Rule: P-95 (KRaftMetadataCache.partitionMetadataForDescribeTopicResponse).
    """
    return messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=place.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=place.replicas,
        isr_nodes=place.isr,
        # Not null, the schema's default, because Java's admin client cannot read null here.
        eligible_leader_replicas=list(partition.eligible),
        last_known_elr=list(partition.last_leader),
        offline_replicas=place.offline,
    )

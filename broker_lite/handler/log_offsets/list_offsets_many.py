"""ListOffsets for very many partitions; other connections have their turn in between."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Parts
from broker_lite.handler.large import LargeRequest, in_turns
from broker_lite.wire import messages
from broker_lite.wire.list_offsets import AskedPartition, ListedPartition, ListOffsetsRequest

_DUPLICATES_SINCE: Final = 1
_LEADER_EPOCHS_SINCE: Final = 4

Answer = Callable[[ListOffsetsRequest, str, AskedPartition], Awaitable[ListedPartition]]


async def list_many(request: LargeRequest, answer: Answer) -> Parts:
    """Answer a large request, which is decoded already.

    A partition that is named more than once gets one answer, which is an error.

    Args:
        request: the request; its answer is set.
        answer: returns the answer for one partition.

    See: F-70, F-73.
    """
    asked: messages.ListOffsetsRequest = request.decoded
    body = ListOffsetsRequest(asked.replica_id, asked.isolation_level, [])
    counts: Counter[tuple[str, int]] = Counter()
    if request.api_version >= _DUPLICATES_SINCE:
        async for name, index in in_turns(_names(asked.topics)):
            counts[name, index] += 1
    topics: dict[str, messages.ListOffsetsRequest.ListOffsetsTopic] = {}
    async for topic in in_turns(asked.topics):
        if topics.setdefault(topic.name, topic) is not topic:
            topics[topic.name].partitions += topic.partitions
    kinds = messages.ListOffsetsResponse
    response = kinds(topics=[])
    asked_once = _asked_once(topics.values())
    async for is_first, name, each in in_turns(asked_once, at_least=1):
        if is_first:
            response.topics.append(kinds.ListOffsetsTopicResponse(name=name))
        if each is None:
            continue
        if counts[name, each.partition_index] > 1:
            listed = ListedPartition(each.partition_index, ErrorCode.INVALID_REQUEST)
        else:
            listed = await answer(body, name, each)
        response.topics[-1].partitions.append(_response_partition(listed, request.api_version))
    request.answer = kinds, response
    return []


async def listed_topic(
    name: str, listed: Iterable[ListedPartition], version: int
) -> "messages.ListOffsetsResponse.ListOffsetsTopicResponse":
    """Return the response for a topic of which all answers are known."""
    partitions = [_response_partition(each, version) async for each in in_turns(listed)]
    return messages.ListOffsetsResponse.ListOffsetsTopicResponse(name=name, partitions=partitions)


def _names(
    topics: "list[messages.ListOffsetsRequest.ListOffsetsTopic]",
) -> Iterator[tuple[str, int]]:
    for topic in topics:
        for partition in topic.partitions:
            yield topic.name, partition.partition_index


def _asked_once(
    topics: "Iterable[messages.ListOffsetsRequest.ListOffsetsTopic]",
) -> Iterator[tuple[bool, str, AskedPartition | None]]:
    """Yield each topic with None, then with its partitions; the last of equal partitions counts."""
    for topic in topics:
        yield True, topic.name, None
        for each in {each.partition_index: each for each in topic.partitions}.values():
            yield (
                False,
                topic.name,
                AskedPartition(
                    each.partition_index,
                    each.current_leader_epoch,
                    each.timestamp,
                    each.max_num_offsets,
                ),
            )


def _response_partition(
    listed: ListedPartition, version: int
) -> "messages.ListOffsetsResponse.ListOffsetsPartitionResponse":
    return messages.ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=listed.partition_index,
        error_code=listed.error_code,
        timestamp=listed.timestamp,
        offset=listed.offset,
        leader_epoch=listed.leader_epoch if version >= _LEADER_EPOCHS_SINCE else -1,
        old_style_offsets=list(listed.old_style_offsets),
    )

"""DescribeShareGroupOffsets (90), AlterShareGroupOffsets (91), DeleteShareGroupOffsets (92).

- DescribeShareGroupOffsets: v1 adds the lag (KIP-1226).

Where a share group starts is described whether it has members or not. It is changed only while it
has none.

Not done: nothing that a client asks for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from broker_lite.coordinator.effects import NO_START
from broker_lite.coordinator.repeats import few_repeats
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError, ErrorCode, GroupAuthorizationFailed
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.groups.ask_group import Asked, Event, ask_group
from broker_lite.handler.groups.coordinated import is_foreign
from broker_lite.handler.groups.share import check_enabled
from broker_lite.handler.large import in_turns
from broker_lite.handler.log_offsets.led_offsets import END, find_offsets
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from broker_lite.wire.primitives import ZERO_UUID

_UNKNOWN_LAG: Final = -1
_INT64_HALF: Final = 1 << 63
_DENIED_TOPIC: Final = "Topic authorization failed."

Changed = TypeVar(
    "Changed",
    bound="messages.AlterShareGroupOffsetsResponse | messages.DeleteShareGroupOffsetsResponse",
)


class _Topic(Protocol):
    topic_name: str


T = TypeVar("T", bound=_Topic)


class _Topics(Protocol[T]):
    topics: list[T]


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe where share groups start, and how far behind they are.

    Rule: K-41 (KafkaApis.handleDescribeShareGroupOffsets).
    See: X-53.
    """
    body = decode(messages.DescribeShareGroupOffsetsRequest, request)
    message = messages.DescribeShareGroupOffsetsResponse
    response = message()
    for asked in few_repeats(body.groups, _whole_group):
        try:
            response.groups.append(await _described(context, asked))
        except BrokerError as error:
            group = message.DescribeShareGroupOffsetsResponseGroup(
                group_id=asked.group_id, error_code=error.code, error_message=error.message
            )
            response.groups.append(group)
    return await encode_long(message, response, request)


def _whole_group(
    asked: "messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup",
) -> str | None:
    """Return the group id if all topics are asked for: a short request with a long response."""
    return asked.group_id if asked.topics is None else None


async def _described(
    context: HandlerContext,
    asked: "messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup",
) -> "messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup":
    check_enabled(context)
    group_id = asked.group_id
    if not is_allowed(context, Operation.DESCRIBE, ResourceType.GROUP, group_id):
        raise GroupAuthorizationFailed
    message = messages.DescribeShareGroupOffsetsResponse
    response = message.DescribeShareGroupOffsetsResponseGroup(group_id=group_id)
    if is_foreign(context, group_id):
        response.error_code = ErrorCode.NOT_COORDINATOR
        return response
    group = context.groups.coordinator.registry.share(group_id)
    if group is None:
        return response
    if asked.topics is None:
        topics: Iterable[tuple[str, Iterable[int]]] = [
            (topic.name, sorted(topic.partitions)) for topic in group.stateful.values()
        ]
    else:
        topics = [(topic.topic_name, topic.partitions) for topic in asked.topics]
    denied = denied_topics(context, Operation.DESCRIBE, [name for name, _ in topics])
    for name, partitions in topics:
        if name in denied and asked.topics is None:
            continue
        topic_id = _topic_id(context, name)
        response.topics.append(
            message.DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=topic_id,
                partitions=_denied(partitions)
                if name in denied
                else await _partitions(
                    context, [ShareKey(group_id, topic_id, each) for each in partitions]
                ),
            )
        )
    return response


def _topic_id(context: HandlerContext, name: str) -> bytes:
    topic = context.cluster.topics.get(name)
    return ZERO_UUID if topic is None else topic.topic_id


def _denied(
    partitions: Iterable[int],
) -> "list[messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition]":
    message = messages.DescribeShareGroupOffsetsResponse
    return [
        message.DescribeShareGroupOffsetsResponsePartition(
            partition_index=each,
            start_offset=NO_START,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=_DENIED_TOPIC,
        )
        for each in partitions
    ]


async def _partitions(
    context: HandlerContext, keys: Sequence[ShareKey]
) -> "list[messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition]":
    """Return where a group starts in partitions of a topic, and how far behind it is."""
    kept = {key: _kept(context, key) async for key in in_turns(keys)}
    started = [key for key, state in kept.items() if _has_lag(context, key, state)]
    ends = await _ends(context, started)
    return [_partition(key, kept[key], ends.get(key)) async for key in in_turns(keys)]


async def _ends(
    context: HandlerContext, keys: Sequence[ShareKey]
) -> Mapping[ShareKey, int | BrokerError]:
    """Return where partitions end, or why it is not known; those that are deleted are left out."""
    topics = context.cluster.topics_by_id
    places = {key: (topics[key.topic_id].name, key.partition) for key in keys if key[1] in topics}
    ask = context.groups.ask_leader
    found = await find_offsets(context.cluster, ask, places.values(), END)
    return {key: found[place] for key, place in places.items()}


def _kept(context: HandlerContext, key: ShareKey) -> tuple[int, int, int] | None:
    shares = context.groups.shares
    return shares.log.start_and_complete(key) if shares.is_known(key) else None


def _has_lag(context: HandlerContext, key: ShareKey, kept: tuple[int, int, int] | None) -> bool:
    topic = context.cluster.topics_by_id.get(key.topic_id)
    has_start = kept is not None and kept[0] != NO_START
    return has_start and topic is not None and key.partition < topic.partition_count


def _partition(
    key: ShareKey, kept: tuple[int, int, int] | None, end: int | BrokerError | None
) -> "messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition":
    """Return where a group starts in a partition; what is not known is -1, and is no error."""
    message = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
    if kept is None:
        return message(partition_index=key.partition, start_offset=NO_START, lag=_UNKNOWN_LAG)
    if isinstance(end, BrokerError):
        return message(
            partition_index=key.partition, error_code=end.code, error_message=end.message
        )
    start, complete_count, leader_epoch = kept
    lag = _UNKNOWN_LAG if end is None else _as_int64(end - start - complete_count)
    return message(
        partition_index=key.partition, start_offset=start, leader_epoch=leader_epoch, lag=lag
    )


def _as_int64(number: int) -> int:
    """Return a number as Java has it in a long: any start offset may be set, also -2^63."""
    return (number + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF


@answers_when_flushed
async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Set where a share group starts.

    See: K-40 (KafkaApis.handleAlterShareGroupOffsetsRequest).
    """
    body = decode(messages.AlterShareGroupOffsetsRequest, request)
    message = messages.AlterShareGroupOffsetsResponse
    refused = _take_out_denied(context, body)
    event = context.groups.coordinator.share_offsets.alter
    response = await _change(context, request, body, event, message)
    if not response.error_code:
        response.responses += [
            message.AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                topic_id=_topic_id(context, topic.topic_name),
                partitions=[
                    message.AlterShareGroupOffsetsResponsePartition(
                        partition_index=each.partition_index,
                        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                        error_message=_DENIED_TOPIC,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in refused
        ]
    return encode(message, response, request)


@answers_when_flushed
async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Forget where a share group starts, for whole topics.

    See: K-40 (KafkaApis.handleDeleteShareGroupOffsetsRequest).
    """
    body = decode(messages.DeleteShareGroupOffsetsRequest, request)
    message = messages.DeleteShareGroupOffsetsResponse
    refused = _take_out_denied(context, body)
    event = context.groups.coordinator.share_offsets.delete
    response = await _change(context, request, body, event, message, Operation.DELETE)
    if not response.error_code:
        response.responses += [
            message.DeleteShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                topic_id=_topic_id(context, topic.topic_name),
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message=_DENIED_TOPIC,
            )
            for topic in refused
        ]
    return encode(message, response, request)


def _take_out_denied(context: HandlerContext, body: _Topics[T]) -> list[T]:
    """Take the topics that the client may not read out of a request, and return them."""
    denied = denied_topics(context, Operation.READ, [each.topic_name for each in body.topics])
    refused = [each for each in body.topics if each.topic_name in denied]
    body.topics = [each for each in body.topics if each.topic_name not in denied]
    return refused


async def _change(
    context: HandlerContext,
    request: Request,
    body: Asked,
    event: Event[Asked],
    message: type[Changed],
    operation: Operation = Operation.READ,
) -> Changed:
    """Return the coordinator's response to a request that changes where a group starts."""

    def refusal(error: BrokerError) -> Changed:
        return message(error_code=error.code, error_message=error.message)

    try:
        check_enabled(context)
    except BrokerError as error:
        return refusal(error)
    return await ask_group(context, request, event, body, refusal, operation)

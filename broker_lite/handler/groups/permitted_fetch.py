"""OffsetFetch for a client whose rights are limited: groups and topics that it may not describe.

Such a group is answered with an error. A topic that is named is answered with an error, behind the
others; if all offsets of a group are asked for, the topic is left out.
"""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Final, NamedTuple, TypeVar

from broker_lite.coordinator.repeats import few_repeats
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import TopicKey, denied_topics, denied_topics_in_turns
from broker_lite.handler.groups.ask_group import check_group
from broker_lite.handler.groups.denied_topics import DENIED, key_of
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

SEVERAL_GROUPS_SINCE: Final = 8
_BY_ID_SINCE: Final = 10

Fetch = Callable[[messages.OffsetFetchRequest], Awaitable[messages.OffsetFetchResponse]]
Answer = TypeVar(
    "Answer",
    "messages.OffsetFetchResponse.OffsetFetchResponseTopic",
    "messages.OffsetFetchResponse.OffsetFetchResponseTopics",
)


class _Group(NamedTuple):
    """A group of a request.

    Attributes:
        named: as it was asked about.
        permitted: what of it the client may see; None if that is nothing.
    """

    named: "messages.OffsetFetchRequest.OffsetFetchRequestGroup"
    permitted: "messages.OffsetFetchRequest.OffsetFetchRequestGroup | None"


async def fetch_permitted(
    context: HandlerContext, body: messages.OffsetFetchRequest, version: int, fetch: Fetch
) -> messages.OffsetFetchResponse:
    """Answer what the client may see.

    Args:
        context: the client.
        body: the request.
        version: of the request.
        fetch: answers a request for what the client may see.

    Raises:
        BrokerError: the whole request is refused; before v8 only.

    See: X-52 (KafkaApis.handleOffsetFetchRequest, fetchOffsetsForGroup, fetchAllOffsetsForGroup).
    """
    if version >= SEVERAL_GROUPS_SINCE:
        return await _several(context, body, version, fetch)
    check_group(context, body.group_id, Operation.DESCRIBE)
    if body.topics is None:
        response = await fetch(body)
        response.topics = await _seen(context, response.topics)
        return response
    names = (topic.name for topic in body.topics)
    denied = denied_topics(context, Operation.DESCRIBE, names)
    permitted = copy(body)
    permitted.topics = [topic for topic in body.topics if topic.name not in denied]
    response = await fetch(permitted)
    types = messages.OffsetFetchResponse
    for topic in () if response.error_code else body.topics:
        if topic.name in denied:
            partitions = [
                types.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=-1, metadata="", error_code=DENIED
                )
                for index in topic.partition_indexes
            ]
            answer = types.OffsetFetchResponseTopic(name=topic.name, partitions=partitions)
            response.topics.append(answer)
    return response


async def _several(
    context: HandlerContext, body: messages.OffsetFetchRequest, version: int, fetch: Fetch
) -> messages.OffsetFetchResponse:
    """Answer for several groups, in their order."""
    by_id = version >= _BY_ID_SINCE
    groups = [
        _Group(named, _permitted(context, named, by_id=by_id))
        for named in few_repeats(body.groups, _whole_group)
    ]
    permitted = copy(body)
    permitted.groups = [each.permitted for each in groups if each.permitted is not None]
    response = messages.OffsetFetchResponse()
    if permitted.groups:
        try:
            response = await fetch(permitted)
        except BrokerError as error:
            refuse_all = context.groups.coordinator.fetches.refuse
            response = refuse_all(permitted, version, error.code)
    answers = iter(response.groups)
    response.groups = []
    for group in groups:
        if group.permitted is None:
            refuse = messages.OffsetFetchResponse.OffsetFetchResponseGroup
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            response.groups.append(refuse(group_id=group.named.group_id, error_code=code))
            continue
        answer = next(answers)
        if group.named.topics is None:
            answer.topics = await _seen(context, answer.topics)
        elif not answer.error_code:
            _add_denied(group, answer, by_id=by_id)
        response.groups.append(answer)
    return response


def _whole_group(asked: "messages.OffsetFetchRequest.OffsetFetchRequestGroup") -> str | None:
    """Return the group id if all offsets are asked for, as OffsetFetches counts repetitions."""
    return asked.group_id if asked.topics is None else None


def _permitted(
    context: HandlerContext,
    named: "messages.OffsetFetchRequest.OffsetFetchRequestGroup",
    *,
    by_id: bool,
) -> "messages.OffsetFetchRequest.OffsetFetchRequestGroup | None":
    if not is_allowed(context, Operation.DESCRIBE, ResourceType.GROUP, named.group_id):
        return None
    if named.topics is None:
        return named
    keys = [key_of(topic, by_id=by_id) for topic in named.topics]
    denied = denied_topics(context, Operation.DESCRIBE, keys)
    if not denied:
        return named
    permitted = copy(named)
    permitted.topics = [
        topic for topic, key in zip(named.topics, keys, strict=True) if key not in denied
    ]
    return permitted


def _add_denied(
    group: _Group, answer: "messages.OffsetFetchResponse.OffsetFetchResponseGroup", *, by_id: bool
) -> None:
    """Add the answers for denied topics: between those for unknown ids, which are the last ones."""
    if group.permitted is None or group.permitted is group.named:
        return
    permitted = {key_of(topic, by_id=by_id) for topic in group.permitted.topics or ()}
    types = messages.OffsetFetchResponse
    places: dict[TopicKey, int] = {}
    refused = []
    for place, topic in enumerate(group.named.topics or ()):
        key = key_of(topic, by_id=by_id)
        places.setdefault(key, place)
        if key in permitted:
            continue
        partitions = [
            types.OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=-1, metadata="", error_code=DENIED
            )
            for index in topic.partition_indexes
        ]
        refused.append(
            types.OffsetFetchResponseTopics(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
        )
    unknown = [topic for topic in answer.topics if _is_unknown(topic)]
    last = sorted([*unknown, *refused], key=lambda each: places[key_of(each, by_id=by_id)])
    answer.topics = [topic for topic in answer.topics if not _is_unknown(topic)] + last


def _is_unknown(topic: "messages.OffsetFetchResponse.OffsetFetchResponseTopics") -> bool:
    code = ErrorCode.UNKNOWN_TOPIC_ID
    return bool(topic.partitions) and topic.partitions[0].error_code == code


async def _seen(context: HandlerContext, topics: list[Answer]) -> list[Answer]:
    """Return the topics that the client may describe."""
    names = (topic.name for topic in topics)
    denied = await denied_topics_in_turns(context, Operation.DESCRIBE, names)
    return [topic for topic in topics if topic.name not in denied]

"""Describe groups of the newer kinds: what is the same for consumer, share and streams groups.

See: G-101, K-06, U-23, X-53 (KafkaApis.handleConsumerGroupDescribe, handleShareGroupDescribe,
handleStreamsGroupDescribe).
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.coordinated import is_foreign
from broker_lite.handler.groups.one_by_one import add_operations, denied_first, one_by_one
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType

_DENIED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class _Request(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


G = TypeVar(
    "G",
    "messages.ConsumerGroupDescribeResponse.DescribedGroup",
    "messages.ShareGroupDescribeResponse.DescribedGroup",
    "messages.StreamsGroupDescribeResponse.DescribedGroup",
)


class Kind(NamedTuple, Generic[G]):
    """How groups of a kind are described.

    Attributes:
        check_enabled: raises UnsupportedVersion if there are no groups of this kind.
        ask: returns a group by its id, as the coordinator describes it; it is told whether
            another broker coordinates the group.
        message: the type of the response.
        described: makes a group of the response from group_id, error_code and error_message.
        topic_names: returns the topics that the description of a group has.
        denied_topics: the text of the error if the client may not describe all of them.
    """

    check_enabled: Callable[[HandlerContext], None]
    ask: Callable[[HandlerContext, str, bool], G]
    message: MessageType
    described: Callable[..., G]
    topic_names: Callable[[G], Iterable[str]]
    denied_topics: str = _DENIED_TOPICS


async def describe_groups(
    context: HandlerContext, body: _Request, version: int, kind: Kind[G]
) -> list[G]:
    """Return the groups of a request, encoded; those that the client may not describe come first.

    A group with topics that the client may not describe is not described at all.

    Args:
        context: of the connection.
        body: the decoded request.
        version: of the request.
        kind: of the groups.
    """
    try:
        kind.check_enabled(context)
    except BrokerError as error:
        off = error.with_traceback(None)

        async def refuse(group_id: str) -> G:
            return _failed(group_id, off, kind)

        return await one_by_one(body.group_ids, refuse, kind.message, version)
    denied, group_ids = await denied_first(context, body.group_ids)

    async def describe(group_id: str) -> G:
        if group_id in denied:
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            return kind.described(group_id=group_id, error_code=code)
        try:
            group = kind.ask(context, group_id, is_foreign(context, group_id))
        except BrokerError as error:
            return _failed(group_id, error, kind)
        if body.include_authorized_operations:
            add_operations(context, group)
        return await _visible(context, group, kind)

    return await one_by_one(group_ids, describe, kind.message, version)


def _failed(group_id: str, error: BrokerError, kind: Kind[G]) -> G:
    return kind.described(
        group_id=group_id,
        error_code=error.code if group_id else ErrorCode.INVALID_GROUP_ID,
        error_message=error.message,
    )


async def _visible(context: HandlerContext, group: G, kind: Kind[G]) -> G:
    """Return a group, or an error in its place if the client may not describe all its topics."""
    names = kind.topic_names(group)
    if not await denied_topics_in_turns(context, Operation.DESCRIBE, names):
        return group
    return kind.described(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=kind.denied_topics,
    )

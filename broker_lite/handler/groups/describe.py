"""Describe groups of the newer kinds: what is the same for consumer, share and streams groups.

See: G-101, K-06, U-23, X-53 (KafkaApis.handleConsumerGroupDescribe, handleShareGroupDescribe,
handleStreamsGroupDescribe).
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.authorized import authorized_operations, denied_names
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.security.acls.acl import Operation, ResourceType

_DENIED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class _Request(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class _Group(Protocol):
    group_id: str
    error_code: int
    authorized_operations: int


Asked = TypeVar("Asked", bound=_Request)
G = TypeVar("G", bound=_Group)


class Kind(NamedTuple, Generic[Asked, G]):
    """How groups of a kind are described.

    Attributes:
        check_enabled: raises UnsupportedVersion if there are no groups of this kind.
        ask: returns the groups of a request, without those of the given ids, as the coordinator
            describes them.
        described: makes a group of the response from group_id, error_code and error_message.
        topic_names: returns the topics that the description of a group has.
        denied_topics: the text of the error if the client may not describe all of them.
    """

    check_enabled: Callable[[HandlerContext], None]
    ask: Callable[[HandlerContext, Asked, frozenset[str]], list[G]]
    described: Callable[..., G]
    topic_names: Callable[[G], Iterable[str]]
    denied_topics: str = _DENIED_TOPICS


async def describe_groups(context: HandlerContext, body: Asked, kind: Kind[Asked, G]) -> list[G]:
    """Return the groups of a request; those that the client may not describe come first.

    A group with topics that the client may not describe is not described at all.

    Args:
        context: of the connection.
        body: the decoded request; groups that the client may not describe are taken out.
        kind: of the groups.
    """
    denied: list[str] = []
    try:
        kind.check_enabled(context)
        denied = _take_out_denied(context, body)
        foreign = foreign_groups(context, body.group_ids)
        context.groups.check_loaded(each for each in body.group_ids if each not in foreign)
        groups = kind.ask(context, body, foreign)
    except BrokerError as error:
        groups = [
            kind.described(
                group_id=group_id,
                error_code=error.code if group_id else ErrorCode.INVALID_GROUP_ID,
                error_message=error.message,
            )
            for group_id in body.group_ids
        ]
    if body.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = authorized_operations(
                    context, ResourceType.GROUP, group.group_id
                )
    if context.authorizer is None:
        return groups
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    first = [kind.described(group_id=group_id, error_code=code) for group_id in denied]
    return first + [await _visible(context, group, kind) for group in groups]


def _take_out_denied(context: HandlerContext, body: _Request) -> list[str]:
    """Take the groups that the client may not describe out of a request, and return their ids."""
    denied = denied_names(context, Operation.DESCRIBE, ResourceType.GROUP, body.group_ids)
    if not denied:
        return []
    taken_out = [each for each in body.group_ids if each in denied]
    body.group_ids = [each for each in body.group_ids if each not in denied]
    return taken_out


async def _visible(context: HandlerContext, group: G, kind: Kind[Asked, G]) -> G:
    """Return a group, or an error in its place if the client may not describe all its topics."""
    names = kind.topic_names(group)
    if not await denied_topics_in_turns(context, Operation.DESCRIBE, names):
        return group
    return kind.described(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=kind.denied_topics,
    )

"""What of a request its client may not use.

Kafka asks the authorizer before it looks whether a topic exists. So a name that a client may not
use never tells whether there is such a topic. A topic id is no secret: an unknown one is answered
as such, and a known one is asked about by its name. A client that is refused stays connected.

Rule: X-63, X-64.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias, TypeVar

from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation, ResourceType

TopicKey: TypeAlias = str | bytes
"""A topic's name, or its id where the request has ids."""

K = TypeVar("K", bound=TopicKey)

NONE_DENIED: Final[frozenset[TopicKey]] = frozenset()


def denied_topics(
    context: HandlerContext, operation: Operation, keys: Iterable[TopicKey]
) -> frozenset[TopicKey]:
    """Return the topics with which the client may not do something.

    Args:
        context: the client.
        operation: what it wants to do.
        keys: names or ids, any number of times each; not read without an authorizer.

    Returns:
        Some of the keys; an id that is not known is none of them.
    """
    if context.authorizer is None:
        return NONE_DENIED
    return frozenset(key for key in frozenset(keys) if _is_denied(context, operation, key))


async def denied_topics_in_turns(
    context: HandlerContext, operation: Operation, keys: Iterable[TopicKey]
) -> frozenset[TopicKey]:
    """Do as denied_topics() for very many topics: other connections have their turn in between."""
    if context.authorizer is None:
        return NONE_DENIED
    return await _those(keys, partial(_is_denied, context, operation))


def _is_denied(context: HandlerContext, operation: Operation, key: TopicKey) -> bool:
    if isinstance(key, str):
        return not is_allowed(context, operation, ResourceType.TOPIC, key)
    topic = context.cluster.topics_by_id.get(key)
    return topic is not None and not is_allowed(context, operation, ResourceType.TOPIC, topic.name)


async def denied_names_in_turns(
    context: HandlerContext, operation: Operation, resource_type: ResourceType, names: Iterable[str]
) -> frozenset[str]:
    """Do as denied_names() for very many names: other connections have their turn in between."""
    if context.authorizer is None:
        return frozenset()

    def is_denied(name: str) -> bool:
        return not is_allowed(context, operation, resource_type, name)

    return await _those(names, is_denied)


async def _those(keys: Iterable[K], is_denied: Callable[[K], bool]) -> frozenset[K]:
    """Return the keys that are denied; each is asked about once."""
    decided: dict[K, bool] = {}
    async for key in in_turns(keys):
        if key not in decided:
            decided[key] = is_denied(key)
    return frozenset([key for key, value in decided.items() if value])

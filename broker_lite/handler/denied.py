"""The topics of a request that its client may not use.

Kafka asks the authorizer before it looks whether a topic exists. So a name that a client may not
use never tells whether there is such a topic. A topic id is no secret: an unknown one is answered
as such, and a known one is asked about by its name. A client that is refused stays connected.

Rule: X-63, X-64.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation, ResourceType


class NamedTopic(Protocol):
    """A topic of a request that has its name, or an id instead."""

    @property
    def name(self) -> str:
        """Its name; empty in a request with ids."""

    @property
    def topic_id(self) -> bytes:
        """Its id; zeros in a request with names."""


async def denied_in_turns(
    context: HandlerContext, operation: Operation, names: Iterable[str]
) -> frozenset[str]:
    """Return the topics with which the client may not do something.

    As denied_names(), for a request that may name very many: other connections have their turn.

    Args:
        context: the client.
        operation: what it wants to do.
        names: of topics, any number of times each; not read without an authorizer.
    """
    if context.authorizer is None:
        return frozenset()
    decided: dict[str, bool] = {}
    async for name in in_turns(names):
        if name not in decided:
            decided[name] = is_allowed(context, operation, ResourceType.TOPIC, name)
    return frozenset([name for name, may in decided.items() if not may])


def denied_topics(
    context: HandlerContext,
    operation: Operation,
    topics: Iterable[NamedTopic],
    *,
    by_id: bool = False,
) -> frozenset[str | bytes]:
    """Return the topics of a request with which the client may not do something.

    Args:
        context: the client.
        operation: what it wants to do.
        topics: of the request; not read without an authorizer.
        by_id: whether they have ids instead of names.

    Returns:
        Names, or ids. An id that is not known is none of them.
    """
    if context.authorizer is None:
        return frozenset()
    return frozenset(
        key
        for key, name in dict(_named(context, topics, by_id=by_id)).items()
        if not is_allowed(context, operation, ResourceType.TOPIC, name)
    )


def _named(
    context: HandlerContext, topics: Iterable[NamedTopic], *, by_id: bool
) -> Iterator[tuple[str | bytes, str]]:
    """Yield what names each topic in the request, with its name."""
    if not by_id:
        for topic in topics:
            yield topic.name, topic.name
        return
    known = context.cluster.topics_by_id
    for topic in topics:
        found = known.get(topic.topic_id)
        if found is not None:
            yield topic.topic_id, found.name

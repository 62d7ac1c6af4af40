"""Which topics of a Metadata request the client may see, and which may be created for it.

Only with an authorizer is this module used.

Rule: X-49 (KafkaApis.handleTopicMetadataRequest).
"""

from collections.abc import Iterable
from typing import NamedTuple

from broker_lite.control.metadata.topic import Topic
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation, ResourceType


class Visible(NamedTuple):
    """Names or ids of topics, in the order in which they were asked for.

    Attributes:
        seen: those that are answered as without an authorizer.
        denied: the others, of which the client only learns that it has no right to them.
    """

    seen: list[str]
    denied: list[str]


async def visible_names(context: HandlerContext, names: Iterable[str]) -> Visible:
    """Return which names may be described, whether there are such topics or not."""
    found = Visible([], [])
    async for name in in_turns(names):
        is_seen = is_allowed(context, Operation.DESCRIBE, ResourceType.TOPIC, name)
        (found.seen if is_seen else found.denied).append(name)
    return found


async def visible_topics(context: HandlerContext, topics: Iterable[Topic]) -> list[Topic]:
    """Return the topics that may be described."""
    return [
        topic
        async for topic in in_turns(topics)
        if is_allowed(context, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
    ]


async def visible_ids(
    context: HandlerContext, ids: Iterable[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Return the ids that may be described, and those that may not; unknown ids are no secret.

    See: X-63.
    """
    seen: list[bytes] = []
    denied: list[bytes] = []
    topics = context.metadata.topics_by_id
    async for topic_id in in_turns(ids):
        topic = topics.get(topic_id)
        is_seen = topic is None or is_allowed(
            context, Operation.DESCRIBE, ResourceType.TOPIC, topic.name
        )
        (seen if is_seen else denied).append(topic_id)
    return seen, denied


async def creatable(context: HandlerContext, names: Iterable[str]) -> Visible:
    """Return which names may be answered: topics that are there, and those that may be created."""
    found = Visible([], [])
    may_create_all = is_allowed_on_cluster(context, Operation.CREATE)
    topics = context.metadata.topics
    async for name in in_turns(names):
        is_seen = (
            may_create_all
            or name in topics
            or is_allowed(context, Operation.CREATE, ResourceType.TOPIC, name)
        )
        (found.seen if is_seen else found.denied).append(name)
    return found

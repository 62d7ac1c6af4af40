"""DeleteTopics (20): delete topics, by name or id.

- v3 knows TOPIC_DELETION_DISABLED; v6 takes topic ids (KIP-516).
- v5 adds error_message, and knows THROTTLING_QUOTA_EXCEEDED (KIP-599).

The topics of a request are one change of the metadata. If there are more than 64 topics or 1,000
partitions, there are several such changes, one after the other. When the answer is sent, the data
of the topics is gone and parked fetches have been woken (P-110).

Not done: timeout_ms, because the answer waits for nothing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import (
    BrokerError,
    InvalidRequest,
    KafkaStorageError,
    TopicAuthorizationFailed,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.topics.charged import mutation_quota
from broker_lite.handler.topics.create_topics import some_at_a_time
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import ZERO_UUID, messages

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import MutationQuota

_TOPIC_IDS_SINCE: Final = 6
_DELETION_DISABLED_SINCE: Final = 3
_STRICT_SINCE: Final = 5
_NOT_HOSTED: Final = "This server does not host this topic-partition."

Named = tuple[str | None, bytes]
"""Name and id of a topic as the request has them; a missing one is None or ZERO_UUID."""

Outcome = tuple[str | None, bytes, BrokerError | None]
"""Name and id of a topic, and the error why it is not deleted; None if it is deleted."""


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Delete topics.

    Rule: P-109.
    See: P-110.
    """
    body = decode(messages.DeleteTopicsRequest, request)
    asked: Counter[Named] = Counter()
    async for one in in_turns(_named(body, request.api_version)):
        asked[one] += 1
    if context.cluster.settings.delete_topic_enable:
        quota = mutation_quota(context, request, _STRICT_SINCE)
        outcomes = await _delete(context, asked, quota)
    else:
        is_told = request.api_version >= _DELETION_DISABLED_SINCE
        text = "Topic deletion is disabled."
        refusal = TopicDeletionDisabled(text) if is_told else InvalidRequest()
        outcomes = [(*one, refusal) async for one in in_turns(asked)]
    results = lazily(len(outcomes), (_result(*outcome) for outcome in outcomes))
    response = messages.DeleteTopicsResponse(responses=results)
    return encode(messages.DeleteTopicsResponse, response, request)


def _named(body: messages.DeleteTopicsRequest, version: int) -> Iterator[Named]:
    if version >= _TOPIC_IDS_SINCE:
        return ((entry.name, entry.topic_id) for entry in body.topics)
    return ((name, ZERO_UUID) for name in body.topic_names)


async def _delete(
    context: HandlerContext, asked: Counter[Named], quota: "MutationQuota | None"
) -> list[Outcome]:
    cluster = context.cluster
    ids = {topic_id async for name, topic_id in in_turns(asked) if name is None}
    outcomes: list[Outcome] = []
    found: list[Topic] = []
    async for name, topic_id, outcome in in_turns(_resolve(context, asked, ids)):
        if not isinstance(outcome, Topic):
            outcomes.append((name, topic_id, outcome))
            continue
        try:
            if quota is not None:
                quota.record(outcome.partition_count)
            found.append(outcome)
        except BrokerError as error:
            outcomes.append((name, topic_id, error.with_traceback(None)))
    changes = some_at_a_time(found, lambda topic: topic.partition_count)
    async for topics in in_turns(changes, at_least=1):
        outcomes += _deleted(cluster, topics)
    return outcomes


def _deleted(cluster: Cluster, topics: Sequence[Topic]) -> Iterator[Outcome]:
    """Delete topics as one change, except those that another client has deleted meanwhile."""
    there = {topic.topic_id: topic for topic in topics if topic.topic_id in cluster.topics_by_id}
    error: BrokerError | None = None
    try:
        cluster.delete_topics(list(there.values()))
    except KafkaStorageError as failure:
        error = failure.with_traceback(None)
    gone = UnknownTopicOrPartition(_NOT_HOSTED)
    for topic in topics:
        yield topic.name, topic.topic_id, error if topic.topic_id in there else gone


def _resolve(
    context: HandlerContext, counts: Counter[Named], ids: set[bytes]
) -> Iterator[tuple[str | None, bytes, Topic | BrokerError]]:
    """Yield each topic of the request once, with the topic or the error why it is not deleted.

    Args:
        context: the client, and the cluster with the topics.
        counts: how often each name and id is in the request.
        ids: the ids in the request that come without a name.

    Rule: P-109, X-56 (ControllerApis.deleteTopics).
    """
    cluster = context.cluster
    may_delete_all = is_allowed_on_cluster(context, Operation.DELETE)
    denied = TopicAuthorizationFailed("Topic authorization failed.")

    def may(operation: Operation, of: str) -> bool:
        return may_delete_all or is_allowed(context, operation, ResourceType.TOPIC, of)

    for one, count in counts.items():
        name, topic_id = one
        if (name is None) == (topic_id == ZERO_UUID):
            yield name, topic_id, _ambiguous(name)
        elif count > 1:
            what = "id" if name is None else "name"
            yield name, topic_id, InvalidRequest(f"Duplicate topic {what}.")
        elif name is None:
            topic = cluster.topics_by_id.get(topic_id)
            if topic is not None and not may(Operation.DELETE, topic.name):
                is_told = may(Operation.DESCRIBE, topic.name)
                yield topic.name if is_told else None, topic_id, denied
                continue
            is_named_too = topic is not None and (topic.name, ZERO_UUID) in counts
            if not is_named_too:
                text = "This server does not host this topic ID."
                yield name, topic_id, topic or UnknownTopicId(text)
        elif may(Operation.DESCRIBE, name) and (
            name not in cluster.topics or may(Operation.DELETE, name)
        ):
            yield _by_name(cluster, name, ids)
        else:
            yield name, ZERO_UUID, denied


def _ambiguous(name: str | None) -> InvalidRequest:
    if name is None:
        return InvalidRequest("Neither topic name nor id were specified.")
    return InvalidRequest("You may not specify both topic name and topic id.")


def _by_name(
    cluster: Cluster, name: str, ids: set[bytes]
) -> tuple[str, bytes, Topic | BrokerError]:
    topic = cluster.topics.get(name)
    if topic is None:
        return name, ZERO_UUID, UnknownTopicOrPartition(_NOT_HOSTED)
    if topic.topic_id in ids:
        text = "The provided topic name maps to an ID that was already supplied."
        return name, topic.topic_id, InvalidRequest(text)
    return name, topic.topic_id, topic


def _result(
    name: str | None, topic_id: bytes, error: BrokerError | None
) -> "messages.DeleteTopicsResponse.DeletableTopicResult":
    return messages.DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, **code_and_message(error)
    )

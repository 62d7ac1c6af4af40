"""DeleteTopics (20), versions 0-6.

- v3 knows TOPIC_DELETION_DISABLED; v5 adds error_message; v6 takes topic ids (KIP-516).

The topics of a request are one change of the metadata; their data is gone when the answer is sent,
and parked fetches have been woken (P-110).

Not done: timeout_ms, since nothing is waited for; quotas on changes (KIP-599).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from broker_lite.control.cluster import Cluster
from broker_lite.control.topic import Topic
from broker_lite.errors import (
    BrokerError,
    InvalidRequest,
    KafkaStorageError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.wire import ZERO_UUID, messages

MIN_VERSION: Final = 0
MAX_VERSION: Final = 6

_TOPIC_IDS_SINCE: Final = 6
_DELETION_DISABLED_SINCE: Final = 3
_NOT_HOSTED: Final = "This server does not host this topic-partition."

Named = tuple[str | None, bytes]
"""Name and id of a topic as asked for; what is missing is None or ZERO_UUID."""


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Delete topics.

    Rule: P-109, P-110.
    """
    body = decode(messages.DeleteTopicsRequest, request)
    if request.api_version >= _TOPIC_IDS_SINCE:
        asked = [(entry.name, entry.topic_id) for entry in body.topics]
    else:
        asked = [(name, ZERO_UUID) for name in body.topic_names]
    if context.cluster.settings.delete_topic_enable:
        results = await _delete(context.cluster, asked)
    elif request.api_version >= _DELETION_DISABLED_SINCE:
        text = "Topic deletion is disabled."
        results = [_result(*one, TopicDeletionDisabled(text)) for one in dict.fromkeys(asked)]
    else:
        results = [_result(*one, InvalidRequest()) for one in dict.fromkeys(asked)]
    response = messages.DeleteTopicsResponse(responses=results)
    return encode(messages.DeleteTopicsResponse, response, request)


async def _delete(cluster: Cluster, asked: Sequence[Named]) -> list[Any]:
    results: list[Any] = []
    found: list[Topic] = []
    async for name, topic_id, outcome in in_turns(_resolve(cluster, asked)):
        if isinstance(outcome, Topic):
            found.append(outcome)
        else:
            results.append(_result(name, topic_id, outcome))
    error: BrokerError | None = None
    # another client may have deleted some while others had their turn
    there = [topic for topic in found if topic.topic_id in cluster.topics_by_id]
    if len(there) < len(found):
        gone = UnknownTopicOrPartition(_NOT_HOSTED)
        lost = [topic for topic in found if topic.topic_id not in cluster.topics_by_id]
        results += [_result(topic.name, topic.topic_id, gone) for topic in lost]
        found = there
    try:
        cluster.delete_topics(found)
    except KafkaStorageError as failure:
        error = failure
    return results + [_result(topic.name, topic.topic_id, error) for topic in found]


def _resolve(
    cluster: Cluster, asked: Sequence[Named]
) -> Iterator[tuple[str | None, bytes, Topic | BrokerError]]:
    """Each topic asked for once, with what it is or why it will not be deleted.

    Rule: P-109 (ControllerApis.deleteTopics).
    """
    counts = Counter(asked)
    ids = {topic_id for name, topic_id in asked if name is None}
    for one, count in counts.items():
        name, topic_id = one
        if (name is None) == (topic_id == ZERO_UUID):
            yield name, topic_id, _ambiguous(name)
        elif count > 1:
            what = "id" if name is None else "name"
            yield name, topic_id, InvalidRequest(f"Duplicate topic {what}.")
        elif name is None:
            topic = cluster.topics_by_id.get(topic_id)
            is_named_too = topic is not None and (topic.name, ZERO_UUID) in counts
            if not is_named_too:
                text = "This server does not host this topic ID."
                yield name, topic_id, topic or UnknownTopicId(text)
        else:
            yield _by_name(cluster, name, ids)


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


def _result(name: str | None, topic_id: bytes, error: BrokerError | None) -> Any:
    return messages.DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, **code_and_message(error)
    )

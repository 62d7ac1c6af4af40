"""Topics of commits that a client may not use: left out of the request, and then answered.

They are answered between the topics that do not exist, in the order of the request, and in front of
all others.
"""

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Final, TypeVar

from broker_lite.errors import ErrorCode
from broker_lite.handler.denied import TopicKey
from broker_lite.wire import messages

DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_UNKNOWN: Final = frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID))

Asked = TypeVar(
    "Asked",
    bound="messages.OffsetCommitRequest.OffsetCommitRequestTopic"
    " | messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic"
    " | messages.OffsetDeleteRequest.OffsetDeleteRequestTopic",
)
Answer = TypeVar(
    "Answer",
    "messages.OffsetCommitResponse.OffsetCommitResponseTopic",
    "messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic",
    "messages.OffsetDeleteResponse.OffsetDeleteResponseTopic",
)


def key_of(topic: object, *, by_id: bool) -> TopicKey:
    """Return the id of a topic in a request or response, or its name."""
    key: TopicKey = getattr(topic, "topic_id" if by_id else "name")
    return key


def with_denied(
    answers: list[Answer],
    asked: Iterable[Asked],
    denied: frozenset[TopicKey],
    refuse: Callable[[Asked], Answer],
    *,
    by_id: bool = False,
) -> list[Answer]:
    """Return the answers for the topics that the client may use, and for those that it may not.

    Args:
        answers: for the topics that the client may use; those that do not exist come first.
        asked: all topics of the request.
        denied: the ids or names of those that the client may not use.
        refuse: makes the answer for one of them.
        by_id: whether the request has ids.

    See: X-52 (KafkaApis.handleOffsetCommitRequest).
    """
    places: dict[TopicKey, int] = {}
    refused: dict[TopicKey, Answer] = {}
    for topic in asked:
        key = key_of(topic, by_id=by_id)
        places.setdefault(key, len(places))
        if key in refused:
            refused[key].partitions += refuse(topic).partitions
        elif key in denied:
            refused[key] = refuse(topic)
    first: list[Answer] = list(takewhile(is_unknown, answers))
    rest = answers[len(first) :]
    first += refused.values()
    first.sort(key=lambda answer: places[key_of(answer, by_id=by_id)])
    return first + rest


def is_unknown(answer: Answer) -> bool:
    """Return whether a topic does not exist, or not all its partitions, which come first then."""
    return bool(answer.partitions) and answer.partitions[0].error_code in _UNKNOWN

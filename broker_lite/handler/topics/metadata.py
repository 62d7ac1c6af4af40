"""Metadata (3): brokers, topics, and the leaders of their partitions.

Missing topics are created on demand, before the answer: if two clients ask for the same missing
topic at the same time, one topic is created, and both get it in their first answer (P-86).

A difference to Kafka: a Metadata request that creates a topic is answered with the topic, so that
no test waits for a client's retry. Kafka answers UNKNOWN_TOPIC_OR_PARTITION until the topic exists.
Tests that need Kafka's answer set `broker.lite.auto.create.answer`.

- v0 lists all topics for an empty array; v1 for null, an empty array lists none; v1 adds rack,
  controller, is_internal.
- v2 cluster id; v3 throttle time; v4 allow_auto_topic_creation; v5 offline replicas (KIP-112).
- v7 leader epoch (KIP-320); v8 authorized operations (KIP-430), without those of the cluster in v11
  and later.
- v10 topic ids in the answer, v12 also in the request (KIP-516); v13 a top-level error (KIP-1102).

Not done: creating Kafka's internal topics on demand, which are made by who keeps state in them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from broker_lite.control.cluster.stale_view import MetadataView
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, is_legal_topic_name
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import (
    NOT_ASKED,
    authorized_operations,
    cluster_operations,
    if_asked,
)
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.topics.auto_create import create_missing
from broker_lite.handler.topics.encoded import TopicEncoder
from broker_lite.handler.topics.visible import (
    creatable,
    visible_ids,
    visible_names,
    visible_topics,
)
from broker_lite.security.acls.acl import ResourceType
from broker_lite.settings import DESCRIBED
from broker_lite.wire import ZERO_UUID, messages
from broker_lite.wire.structs import EncodedElements

_NULL_IS_ALL_SINCE: Final = 1
_TOPIC_IDS_SINCE: Final = 12
_CLUSTER_OPERATIONS_VERSIONS: Final = range(8, 11)

_Found: TypeAlias = "Topic | messages.MetadataResponse.MetadataResponseTopic"
"""A topic, or what is told instead of one."""

_Operations: TypeAlias = Callable[[str], int]
"""Returns the authorized operations of a topic, as the answer has them."""


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe brokers and topics.

    Rule: P-80, P-81, P-83, P-84, P-87, P-88.
    See: P-82, P-85, P-86.
    """
    body = decode(messages.MetadataRequest, request)
    version = request.api_version
    wanted = await _wanted(body.topics, version)
    error = wanted.error(version)
    if error is not None:
        return encode(messages.MetadataResponse, _refusal(body.topics or [], error), request)
    response = _cluster_part(context)
    if version in _CLUSTER_OPERATIONS_VERSIONS:
        response.cluster_authorized_operations = if_asked(
            body.include_cluster_authorized_operations, cluster_operations(context)
        )
    operations = _operations(context, is_asked=body.include_topic_authorized_operations)
    creates = body.allow_auto_topic_creation and context.settings.auto_create_topics_enable
    if context.authorizer is not None:
        await _authorize(context, wanted, creates=creates)
    if creates:
        quota = None if context.quota is None else context.quota.creations()
        created = await create_missing(context.cluster, wanted.names, quota)
        answer = context.settings.broker_lite_auto_create_answer
        if answer != DESCRIBED:
            wanted.refused = dict.fromkeys(created, ErrorCode[answer])
    response.topics = await _topics(context, wanted, operations, version)
    return await encode_long(messages.MetadataResponse, response, request)


class _Wanted:
    """The topics that a request asks for, each once; only by id if the request has any id."""

    __slots__ = ("denied", "has_null_name", "ids", "is_all", "names", "refused", "seen")

    def __init__(self, *, is_all: bool) -> None:
        self.is_all = is_all
        self.has_null_name = False
        self.ids: dict[bytes, None] = {}
        self.names: dict[str, None] = {}
        self.refused: Mapping[str, ErrorCode] = {}
        # with an authorizer: all topics that may be described, and what is denied
        self.seen: list[Topic] | None = None
        self.denied: list[tuple[str | None, bytes]] = []

    def add(self, entry: "messages.MetadataRequest.MetadataRequestTopic") -> None:
        """Add one entry of the request."""
        if entry.topic_id != ZERO_UUID:
            self.ids[entry.topic_id] = None
        if entry.name is None:
            self.has_null_name = True
        else:
            self.names[entry.name] = None

    def error(self, version: int) -> ErrorCode | None:
        """Return the error that fails the whole request, if there is one.

        Rule: P-88.
        """
        if version < _TOPIC_IDS_SINCE:
            return ErrorCode.INVALID_REQUEST if self.has_null_name or self.ids else None
        # Topics are looked up by name only if no entry has an id, and then a null name is an error.
        return ErrorCode.UNKNOWN_SERVER_ERROR if self.has_null_name and not self.ids else None


async def _wanted(entries: Sequence[Any] | None, version: int) -> _Wanted:
    """Rule: P-80, P-81, P-87."""
    wanted = _Wanted(is_all=entries is None or (version < _NULL_IS_ALL_SINCE and not entries))
    async for entry in in_turns(entries or ()):
        wanted.add(entry)
    if wanted.ids:
        wanted.names.clear()
    return wanted


def _operations(context: HandlerContext, *, is_asked: bool) -> _Operations:
    if not is_asked:
        return lambda _: NOT_ASKED
    if context.authorizer is None:
        every = authorized_operations(context, ResourceType.TOPIC, "")
        return lambda _: every
    return lambda name: authorized_operations(context, ResourceType.TOPIC, name)


async def _authorize(context: HandlerContext, wanted: _Wanted, *, creates: bool) -> None:
    """Take what the client may not see, or not create, out of what it wants.

    See: X-49, X-63.
    """
    if wanted.is_all:
        wanted.seen = await visible_topics(context, list(context.metadata.topics.values()))
        return
    if wanted.ids:
        seen_ids, denied_ids = await visible_ids(context, wanted.ids)
        wanted.ids = dict.fromkeys(seen_ids)
        wanted.denied = [(None, topic_id) for topic_id in denied_ids]
        return
    described = await visible_names(context, wanted.names)
    seen, unmade = described.seen, list[str]()
    if creates:
        seen, unmade = await creatable(context, seen)
    wanted.names = dict.fromkeys(seen)
    wanted.denied = [(name, ZERO_UUID) for name in (*unmade, *described.denied)]


def _refusal(entries: Sequence[Any], error: ErrorCode) -> messages.MetadataResponse:
    topic = messages.MetadataResponse.MetadataResponseTopic
    return messages.MetadataResponse(
        error_code=int(error),
        topics=lazily(
            len(entries),
            (
                topic(error_code=int(error), name=entry.name or "", topic_id=entry.topic_id)
                for entry in entries
            ),
        ),
    )


def _cluster_part(context: HandlerContext) -> messages.MetadataResponse:
    """Return brokers, cluster id and controller; the address is that of the client's listener.

    Rule: P-83.
    See: P-75.
    """
    brokers = messages.MetadataResponse.MetadataResponseBroker
    view = context.metadata
    alive = view.brokers.alive()
    return messages.MetadataResponse(
        brokers=[
            brokers(node_id=one.node_id, host=address[0], port=address[1], rack=one.rack)
            for one in alive
            if (address := context.address_of(one.node_id)) is not None
        ],
        cluster_id=context.cluster.cluster_id,
        controller_id=view.controller_id,
    )


async def _topics(
    context: HandlerContext, wanted: _Wanted, operations: _Operations, version: int
) -> "list[messages.MetadataResponse.MetadataResponseTopic]":
    """Return the requested topics, encoded; each one is looked up when its turn comes."""
    encoder = TopicEncoder(context, version)
    encoded = EncodedElements()
    async for found in in_turns(_found(context.metadata, wanted, operations), at_least=1):
        if isinstance(found, Topic):
            encoded.append(await encoder.encode(found, operations(found.name)))
        else:
            encoded.append(encoder.without_partitions(found))
    return cast("list[messages.MetadataResponse.MetadataResponseTopic]", encoded)


def _found(view: MetadataView, wanted: _Wanted, operations: _Operations) -> Iterator[_Found]:
    """Find the requested topics; what has no partitions to tell is described already.

    Rule: P-80, P-81, P-87.
    """
    if wanted.is_all:
        yield from list(view.topics.values()) if wanted.seen is None else wanted.seen
        return
    if wanted.ids:
        for topic_id in wanted.ids:
            yield _by_id(view, topic_id)
    else:
        for name in wanted.names:
            yield _by_name(view, name, operations, wanted.refused.get(name))
    for denied_name, topic_id in wanted.denied:
        yield messages.MetadataResponse.MetadataResponseTopic(
            error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            name=denied_name,
            topic_id=topic_id,
        )


def _by_id(view: MetadataView, topic_id: bytes) -> _Found:
    topic = view.topics_by_id.get(topic_id)
    if topic is not None:
        return topic
    return messages.MetadataResponse.MetadataResponseTopic(
        error_code=int(ErrorCode.UNKNOWN_TOPIC_ID), name=None, topic_id=topic_id
    )


def _by_name(
    view: MetadataView, name: str, operations: _Operations, error: ErrorCode | None
) -> _Found:
    topic = view.topics.get(name)
    if topic is not None and error is None:
        return topic
    if error is None:
        error = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_legal_topic_name(name)
            else ErrorCode.INVALID_TOPIC_EXCEPTION
        )
    return messages.MetadataResponse.MetadataResponseTopic(
        error_code=int(error),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations(name),
    )

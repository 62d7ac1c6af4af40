"""OffsetCommit (8), OffsetFetch (9), OffsetDelete (47): the committed offsets of groups.

- OffsetCommit: v2-4 may say for how long to keep the offsets, v6 adds leader epochs
  (KIP-320), v7 static members (KIP-345), v9 member epochs (KIP-848), v10 topic ids (KIP-848).
- OffsetFetch: v2 all topics, v5 leader epochs, v7 require_stable (KIP-447), v8
  several groups (KIP-709), v9 member id and epoch (KIP-848), v10 topic ids.
- OffsetDelete is of KIP-496.

If `emulate` names a release before 4.0, OffsetCommit v1 is served too. Version 0 of both, which is
about offsets in ZooKeeper, is then refused partition by partition, as by a Kafka 3.9 without
ZooKeeper.

Not done: offsets in ZooKeeper (OffsetCommit v0, OffsetFetch v0), and the time of the commit, which
OffsetCommit v1 may have.
"""

from functools import partial
from typing import Final

from broker_lite.errors import BrokerError, ErrorCode, NotCoordinator, UnsupportedVersion
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics
from broker_lite.handler.groups.ask_group import ask_group, wait_for_turn
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.handler.groups.denied_topics import DENIED, key_of, with_denied
from broker_lite.handler.groups.permitted_fetch import fetch_permitted
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_ZOOKEEPER_VERSION: Final = 0
_GROUPS_SINCE: Final = 8
_COMMIT_BY_ID_SINCE: Final = 10


async def handle_commit(context: HandlerContext, request: Request) -> Parts:
    """Store offsets of a group, those of the topics that the client may read.

    Rule: X-52.
    See: G-60 to G-66.
    """
    await wait_for_turn(context, request)
    body = decode(messages.OffsetCommitRequest, request)
    version = request.api_version
    by_id = version >= _COMMIT_BY_ID_SINCE
    commits = context.groups.coordinator.commits
    refused = ErrorCode.NONE
    if not is_allowed(context, Operation.READ, ResourceType.GROUP, body.group_id):
        refused = ErrorCode.GROUP_AUTHORIZATION_FAILED
    elif version == _ZOOKEEPER_VERSION:
        refused = ErrorCode.UNSUPPORTED_VERSION
    if refused:
        response = _refuse_all(body, refused)
        tell_group(context, request, body.group_id, response)
        return encode(messages.OffsetCommitResponse, response, request)
    topics = body.topics
    keys = (key_of(topic, by_id=by_id) for topic in topics)
    denied = denied_topics(context, Operation.READ, keys)
    if denied:
        body.topics = [each for each in topics if key_of(each, by_id=by_id) not in denied]

    def refusal(error: BrokerError) -> messages.OffsetCommitResponse:
        return commits.refuse(body, version, error.code)

    response = await ask_group(context, request, commits.commit, body, refusal)
    if denied:
        refuse = partial(_refuse_topic, error_code=DENIED)
        response.topics = with_denied(response.topics, topics, denied, refuse, by_id=by_id)
    return encode(messages.OffsetCommitResponse, response, request)


def _refuse_all(
    body: messages.OffsetCommitRequest, error_code: ErrorCode
) -> messages.OffsetCommitResponse:
    """Refuse a commit partition by partition, whether they exist or not."""
    return messages.OffsetCommitResponse(
        topics=[_refuse_topic(topic, error_code) for topic in body.topics]
    )


def _refuse_topic(
    topic: "messages.OffsetCommitRequest.OffsetCommitRequestTopic", error_code: ErrorCode
) -> "messages.OffsetCommitResponse.OffsetCommitResponseTopic":
    types = messages.OffsetCommitResponse
    make_partition = types.OffsetCommitResponsePartition
    return types.OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            make_partition(partition_index=each.partition_index, error_code=error_code)
            for each in topic.partitions
        ],
    )


async def handle_fetch(context: HandlerContext, request: Request) -> Parts:
    """Answer the committed offsets of groups.

    See: G-67 to G-71.
    """
    body = decode(messages.OffsetFetchRequest, request)
    version = request.api_version
    try:
        if context.authorizer is None:
            response = await _fetch(context, version, body)
        else:
            fetch = partial(_fetch, context, version)
            response = await fetch_permitted(context, body, version, fetch)
    except BrokerError as error:
        response = context.groups.coordinator.fetches.refuse(body, version, error.code)
    return encode(messages.OffsetFetchResponse, response, request)


async def _fetch(
    context: HandlerContext, version: int, body: messages.OffsetFetchRequest
) -> messages.OffsetFetchResponse:
    """Answer for all groups of a request.

    Raises:
        BrokerError: all groups are answered with this error.
    """
    if version >= _GROUPS_SINCE:
        group_ids = [group.group_id for group in body.groups]
    else:
        group_ids = [body.group_id]
    if version == _ZOOKEEPER_VERSION:
        raise UnsupportedVersion
    foreign = foreign_groups(context, group_ids)
    if foreign and version < _GROUPS_SINCE:
        raise NotCoordinator
    context.groups.check_loaded(each for each in group_ids if each not in foreign)
    fetch = context.groups.coordinator.fetches.fetch
    if not context.cluster.logs.commits.lagging:
        return fetch(body, version, foreign)
    if body.require_stable:
        return await _stable(context, body, version, foreign)
    replicated = context.groups.replicated_offsets(group_ids)
    return fetch(body, version, foreign, replicated)


async def _stable(
    context: HandlerContext,
    body: messages.OffsetFetchRequest,
    version: int,
    foreign: frozenset[str],
) -> messages.OffsetFetchResponse:
    """Answer the newest offsets when they are replicated, and 16 where that takes too long.

    Raises:
        NotCoordinator: before v8.

    See: C-72 (GroupCoordinatorService.fetchOffsets, handleOffsetFetchException).
    """
    fetch = context.groups.coordinator.fetches.fetch
    response = fetch(body, version, foreign)
    group_ids = [each.group_id for each in body.groups] or [body.group_id]
    late = await context.groups.unreplicated(each for each in group_ids if each not in foreign)
    if not late:
        return response
    if version < _GROUPS_SINCE:
        raise NotCoordinator
    return fetch(body, version, foreign.union(late))


async def handle_delete(context: HandlerContext, request: Request) -> Parts:
    """Delete committed offsets of a group, those of the topics that the client may read.

    See: G-105, X-53 (KafkaApis.handleOffsetDeleteRequest).
    """
    body = decode(messages.OffsetDeleteRequest, request)
    topics = body.topics
    denied = denied_topics(context, Operation.READ, (topic.name for topic in topics))
    if denied:
        body.topics = [each for each in topics if each.name not in denied]

    def refusal(error: BrokerError) -> messages.OffsetDeleteResponse:
        return messages.OffsetDeleteResponse(error_code=error.code)

    event = context.groups.coordinator.removals.delete
    response = await ask_group(context, request, event, body, refusal, Operation.DELETE)
    if denied and not response.error_code:
        response.topics = with_denied(response.topics, topics, denied, _refuse_delete)
    return encode(messages.OffsetDeleteResponse, response, request)


def _refuse_delete(
    topic: "messages.OffsetDeleteRequest.OffsetDeleteRequestTopic",
) -> "messages.OffsetDeleteResponse.OffsetDeleteResponseTopic":
    types = messages.OffsetDeleteResponse
    make_partition = types.OffsetDeleteResponsePartition
    return types.OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            make_partition(partition_index=each.partition_index, error_code=DENIED)
            for each in topic.partitions
        ],
    )

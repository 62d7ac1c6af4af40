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

from typing import Final

from broker_lite.errors import BrokerError, NotCoordinator, UnsupportedVersion
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.groups.ask_group import answer_group, ask_group
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.wire import messages

"""OffsetCommit and OffsetFetch of brokers before 4.0 have these versions."""

_ZOOKEEPER_VERSION: Final = 0
_GROUPS_SINCE: Final = 8


async def handle_commit(context: HandlerContext, request: Request) -> Parts:
    """Store offsets of a group.

    See: G-60 to G-66.
    """
    body = decode(messages.OffsetCommitRequest, request)

    commits = context.groups.coordinator.commits

    def refusal(error: BrokerError) -> messages.OffsetCommitResponse:
        return commits.refuse(body, request.api_version, error.code)

    if request.api_version == _ZOOKEEPER_VERSION:
        return encode(messages.OffsetCommitResponse, _no_zookeeper(body), request)
    response = await ask_group(context, request, commits.commit, body, refusal)
    return encode(messages.OffsetCommitResponse, response, request)


def _no_zookeeper(body: messages.OffsetCommitRequest) -> messages.OffsetCommitResponse:
    """Refuse a commit to ZooKeeper, partition by partition."""
    types = messages.OffsetCommitResponse
    make_partition = types.OffsetCommitResponsePartition
    error_code = UnsupportedVersion.code
    return types(
        topics=[
            types.OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    make_partition(partition_index=each.partition_index, error_code=error_code)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


async def handle_fetch(context: HandlerContext, request: Request) -> Parts:
    """Answer the committed offsets of groups.

    See: G-67 to G-71.
    """
    body = decode(messages.OffsetFetchRequest, request)
    version = request.api_version
    if version >= _GROUPS_SINCE:
        group_ids = [group.group_id for group in body.groups]
    else:
        group_ids = [body.group_id]
    try:
        if version == _ZOOKEEPER_VERSION:
            raise UnsupportedVersion
        foreign = foreign_groups(context, group_ids)
        if foreign and version < _GROUPS_SINCE:
            raise NotCoordinator
        context.groups.check_loaded(each for each in group_ids if each not in foreign)
        fetch = context.groups.coordinator.fetches.fetch
        if not context.cluster.logs.commits.lagging:
            response = fetch(body, version, foreign)
        elif body.require_stable:
            response = await _stable(context, body, version, foreign)
        else:
            replicated = context.groups.replicated_offsets(group_ids)
            response = fetch(body, version, foreign, replicated)
    except BrokerError as error:
        response = context.groups.coordinator.fetches.refuse(body, version, error.code)
    return encode(messages.OffsetFetchResponse, response, request)


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
    """Delete committed offsets of a group.

    See: G-105.
    """
    event = context.groups.coordinator.removals.delete
    return await answer_group(
        context, request, event, messages.OffsetDeleteRequest, messages.OffsetDeleteResponse
    )

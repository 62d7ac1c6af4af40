"""The share sessions of a broker's clients; one ends with the connection on which it began."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

from broker_lite.coordinator.share_records.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SharedPartition,
    ShareSession,
    ShareSessions,
    check_member,
)
from broker_lite.errors import InvalidRequest, ShareSessionLimitReached
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import Turns, some_at_a_time
from broker_lite.wire import messages

_AT_CLOSE: Final = "share sessions"
_LISTED_AT_A_TIME: Final = 1024


def sessions_of(context: HandlerContext) -> ShareSessions:
    """Return the share sessions of the broker that is asked."""
    return context.groups.shares.sessions.of(context.node_id)


async def session_of(
    context: HandlerContext, body: messages.ShareFetchRequest, group_id: str, *, is_said: bool
) -> ShareSession:
    """Return the session of a request, with the partitions that it adds and forgets.

    Args:
        context: of the connection.
        body: the request.
        group_id: of the member.
        is_said: whether the request says anything about records.

    Raises:
        InvalidRequest: the request contradicts itself.
        ShareSessionNotFound, InvalidShareSessionEpoch, ShareSessionLimitReached: no such session.
    """
    member_id = check_member(body.member_id)
    if body.is_renew_ack and (
        body.max_bytes or body.max_records or body.max_wait_ms or body.min_bytes
    ):
        raise InvalidRequest
    named, forgotten = await _named_by(body), await _forgotten_by(body)
    # Nothing below waits: the session changes as a whole.
    sessions = sessions_of(context)
    if body.share_session_epoch == INITIAL_EPOCH:
        if is_said:
            raise InvalidRequest
        return _begin(context, group_id, member_id, named)
    if body.share_session_epoch == FINAL_EPOCH:
        return sessions.find(group_id, member_id)
    session = sessions.go_on(group_id, member_id, body.share_session_epoch)
    sessions.update(session, named, forgotten)
    return session


async def _named_by(body: messages.ShareFetchRequest) -> list[SharedPartition]:
    """Return the partitions that a request names, in turns with others."""
    return await _listed(
        (topic.topic_id, (each.partition_index for each in topic.partitions))
        for topic in body.topics
    )


async def _forgotten_by(body: messages.ShareFetchRequest) -> list[SharedPartition]:
    """Return the partitions that a request no longer wants, in turns with others."""
    topics = body.forgotten_topics_data
    return await _listed((topic.topic_id, topic.partitions) for topic in topics)


async def _listed(topics: Iterable[tuple[bytes, Iterable[int]]]) -> list[SharedPartition]:
    partitions: list[SharedPartition] = []
    turns = Turns()
    for topic_id, indexes in topics:
        for some in some_at_a_time(indexes, _LISTED_AT_A_TIME):
            await turns.turn()
            partitions += [SharedPartition(topic_id, index) for index in some]
    return partitions


def _begin(
    context: HandlerContext, group_id: str, member_id: str, partitions: Collection[SharedPartition]
) -> ShareSession:
    """Begin a session with partitions; it replaces the member's old one.

    Raises:
        ShareSessionLimitReached: the broker has as many as it may have, or as many partitions.

    Rule: K-34 (SharePartitionManager.newContext, onDisconnect).
    """
    sessions = sessions_of(context)
    session = sessions.begin(group_id, member_id, context.connection_id)
    try:
        sessions.update(session, partitions, ())
    except ShareSessionLimitReached:
        sessions.end(session)
        raise
    context.at_close[_AT_CLOSE] = partial(_end_all, context, group_id)
    return session


def end_session(context: HandlerContext, session: ShareSession) -> None:
    """End a session: the records that the member has acquired are available to others."""
    sessions_of(context).end(session)
    context.groups.shares.release(session.group_id, session.member_id, session.partitions)


def _end_all(context: HandlerContext, group_id: str) -> None:
    """End the sessions that began on a connection, which is closed.

    What is in flight of a group that has no session then is forgotten.

    Args:
        context: of the connection.
        group_id: of the last session that began on it.

    Rule: K-26 (ShareSessionCache, ClientConnectionDisconnectListener).
    """
    sessions = sessions_of(context)
    group_ids = {group_id}
    for session in sessions.of_connection(context.connection_id):
        end_session(context, session)
        group_ids.add(session.group_id)
    emptied = {each for each in group_ids if not sessions.has_group(each)}
    if emptied:
        context.groups.shares.forget_groups(emptied, context.node_id)

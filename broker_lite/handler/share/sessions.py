"""The share sessions of a broker's clients; one ends with the connection on which it began."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

from broker_lite.coordinator.share_records.sessions import (
    SharedPartition,
    ShareSession,
    ShareSessions,
)
from broker_lite.errors import ShareSessionLimitReached
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import Turns, some_at_a_time

_AT_CLOSE: Final = "share sessions"
_LISTED_AT_A_TIME: Final = 1024


async def listed(topics: Iterable[tuple[bytes, Iterable[int]]]) -> list[SharedPartition]:
    """Return the partitions of topics, each given as its id and the indexes of its partitions."""
    partitions: list[SharedPartition] = []
    turns = Turns()
    for topic_id, indexes in topics:
        for some in some_at_a_time(indexes, _LISTED_AT_A_TIME):
            await turns.turn()
            partitions += [SharedPartition(topic_id, index) for index in some]
    return partitions


def sessions_of(context: HandlerContext) -> ShareSessions:
    """Return the share sessions of the broker that is asked."""
    return context.groups.shares.sessions.of(context.node_id)


def begin_session(
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
    for each in group_ids:
        if not sessions.has_group(each):
            context.groups.shares.forget_group(each, context.node_id)

"""Fetch (1): read records from an offset on.

The records of an answer are ranges of segment files, which the server sends without reading them.
If `emulate` names a release before 4.0, versions 0-3 are served too: their records are converted in
memory to messages of magic 0 (v0-1) or 1 (v2-3), and versions below 10 do not get zstd (F-60).

- v1 throttle time; v2 magic 1 (KIP-32); v3 a limit for the whole answer (KIP-74).
- v4 isolation level and aborted transactions (KIP-98); v5 log start offset (KIP-107).
- v7 sessions (KIP-227); v9 leader epoch checks (KIP-320); v10 zstd batches (KIP-110).
- v11 rack and preferred replica (KIP-392); with replica.selector.class, an answer of the leader may
  name a replica in the consumer's rack instead of records.
- v12 last fetched epoch and diverging epoch (KIP-595); v13 topic ids (KIP-516).
- v15 replica state instead of the replica id (KIP-903); v16 the address of a leader that moved
  (KIP-951); v17 and v18 fields of followers (KIP-853, KIP-1166), which are ignored.

Not done: followers, because a partition's only replica is on this broker, and a follower is
answered that it is not a replica (F-02); message.downconversion.enable, a topic setting that Kafka
4 no longer has: stored records are always converted for clients that need it, synthetic ones never.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext, Parts, Request, Rest
from broker_lite.handler.fetch.answer import answer, answer_few, refuse
from broker_lite.handler.fetch.look import (
    is_enough,
    look,
    look_again,
    look_at_all,
    look_at_few,
    terms_of,
)
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME, fail, want_many
from broker_lite.handler.fetch.news import news_of, remember_all
from broker_lite.handler.fetch.partition import FetchPartitions
from broker_lite.handler.fetch.read import FetchRead, FetchTerms
from broker_lite.handler.fetch.session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    TOPIC_IDS_FROM,
    FetchSession,
    next_epoch,
    session_error,
)
from broker_lite.handler.large import LargeRequest, let_go
from broker_lite.handler.refusals import tell_fetch
from broker_lite.wire.fetch_request import FetchRequest, decode_fetch_request, without_topics

if TYPE_CHECKING:
    from broker_lite.control.quotas.request_quota import RequestQuota

AT_ONCE_BYTES_MAX: Final = 512
"""A request above this size has its turn in the connection's task: it may have 30 partitions."""
_ISOLATION_LEVELS: Final = frozenset((0, 1))


async def handle(context: HandlerContext, request: Request) -> Parts | None:
    """Read records, after waiting for them if the request asks for that.

    Rule: F-03, F-11.
    See: F-01 to F-48.
    """
    if isinstance(request, LargeRequest):
        body = without_topics(request.decoded, request.api_version)
        return await _handle(context, request, body)
    begun = begin(context, request)
    if begun is None:
        body = decode_fetch_request(request.body, request.api_version, request.position)
        return await _handle(context, request, body)
    return begun if isinstance(begun, list) else await begun()


def begin(context: HandlerContext, request: Request) -> Parts | Rest | None:
    """Do what handle() does, without a coroutine for the usual request of a client without session.

    That is one of few partitions that give enough at once.

    Returns:
        The answer; or what is left to do; or None for a request that is not short.

    Raises:
        DecodeError: the bytes are not a request of this version.
    """
    if len(request.body) > AT_ONCE_BYTES_MAX:
        return None
    version = request.api_version
    body = decode_fetch_request(request.body, version, request.position)
    if (
        body.session_epoch != FINAL_EPOCH
        or body.session_id != NO_SESSION
        or body.isolation_level not in _ISOLATION_LEVELS
        or context.authorizer is not None
        or context.quota is not None
    ):
        return partial(_handle, context, request, body)
    terms = terms_of(context, body, version)
    partitions = FetchPartitions()
    _want(partitions, body)
    pending = partitions.pending()
    read = look_at_few(context.cluster, terms, pending)
    if read.answers_at_once or not is_enough(context, terms, read, len(pending)):
        return partial(_full, context, request, body, terms, partitions, read)
    partitions.users -= 1
    partitions.unwatch()
    return answer_few(context, terms, read.answers, NO_SESSION)


async def _handle(context: HandlerContext, request: Request, body: FetchRequest) -> Parts:
    if body.isolation_level not in _ISOLATION_LEVELS:
        return cast(Parts, await fail(request, body))
    terms = terms_of(context, body, request.api_version)
    if body.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return await _incremental(context, request, terms, body)
    if body.session_id != NO_SESSION:
        context.fetch_sessions.remove(body.session_id)
    return await _full(context, request, body, terms, FetchPartitions(), None)


async def _full(
    context: HandlerContext,
    request: Request,
    body: FetchRequest,
    terms: FetchTerms,
    partitions: FetchPartitions,
    read: FetchRead | None,
) -> Parts:
    """Answer for all partitions that a request names, and begin a session if it asks for one.

    Args:
        context: of the connection.
        request: the request.
        body: the same, decoded.
        terms: its fields that hold for all partitions.
        partitions: those of the request; none yet if there was no look at them.
        read: what the first look at them has found, None if there was none.
    """
    sessions = context.fetch_sessions
    session = None
    try:
        if read is None:
            await _apply(partitions, request, body, forgets=False)
            read = await look_at_all(context, request, terms, partitions)
        else:
            read = await look_again(context, request, terms, partitions, read)
        if context.quota is not None and await _is_throttled(context.quota, terms, read):
            return refuse(terms, ErrorCode.NONE, NO_SESSION)
        if body.session_epoch == INITIAL_EPOCH:
            session = sessions.create(
                partitions,
                uses_topic_ids=terms.version >= TOPIC_IDS_FROM,
                now_ms=context.clock.monotonic_ms(),
            )
        if session is not None:
            session.isolation_level = terms.isolation_level
            await remember_all(partitions, read, terms.isolation_level)
    finally:
        partitions.users -= 1
        if session is None or sessions.get(session.session_id) is not session:
            partitions.unwatch()
    session_id = session.session_id if session is not None else NO_SESSION
    if read.answers_at_once:
        await tell_fetch(context, request, read.answers)
    return await answer(context, terms, read.answers, session_id)


async def _incremental(
    context: HandlerContext, request: Request, terms: FetchTerms, body: FetchRequest
) -> Parts:
    """Answer the next request of a session.

    See: F-41, F-43 to F-45 (FetchManager.newContext, IncrementalFetchContext).
    """
    sessions = context.fetch_sessions
    session = sessions.get(body.session_id)
    error = session_error(session, body.session_epoch, terms.version)
    if session is None or error is not None:
        return refuse(terms, error or ErrorCode.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION)
    partitions = session.partitions
    partitions.users += 1
    try:
        return await _go_on(context, request, terms, body, session)
    finally:
        partitions.users -= 1
        if sessions.get(session.session_id) is not session:
            partitions.unwatch()


async def _go_on(
    context: HandlerContext,
    request: Request,
    terms: FetchTerms,
    body: FetchRequest,
    session: FetchSession,
) -> Parts:
    sessions, partitions = context.fetch_sessions, session.partitions
    try:
        await _apply(partitions, request, body, forgets=True)
    finally:  # partitions that were added before the client left count, too
        has_room = sessions.touch(session, context.clock.monotonic_ms())
    if not partitions:
        sessions.remove(session.session_id)
        return await answer(context, terms, [], NO_SESSION)
    session.epoch = expected_epoch = next_epoch(session.epoch)
    if session.isolation_level != terms.isolation_level:
        session.isolation_level = terms.isolation_level
        partitions.all_pending()
    if context.authorizer is not None:
        session.judge_anew(context)
    read = await look(context, request, terms, partitions)
    if session.epoch != expected_epoch:
        code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return refuse(terms, code, session.session_id)
    if context.quota is not None and await _is_throttled(
        context.quota, terms, read, only_news=True
    ):
        return refuse(terms, ErrorCode.NONE, session.session_id)
    news = await news_of(partitions, read, terms.isolation_level)
    if len(read.answers) > PARTITIONS_AT_A_TIME:
        await let_go(read.answers)
    if read.answers_at_once:
        await tell_fetch(context, request, news)
    # An answer without a session id tells the client that the session ended; it begins a new one.
    return await answer(context, terms, news, session.session_id if has_room else NO_SESSION)


async def _apply(
    partitions: FetchPartitions, request: Request, body: FetchRequest, *, forgets: bool
) -> None:
    """Add the partitions that a request wants.

    Args:
        partitions: of the request or session.
        request: the request.
        body: the same, decoded.
        forgets: remove those that it no longer wants, as only requests of a session can.

    Rule: F-03.
    See: F-41, F-43.
    """
    if isinstance(request, LargeRequest):
        by_id = request.api_version >= TOPIC_IDS_FROM
        await want_many(partitions, request.decoded, by_id=by_id, forgets=forgets)
        return
    _want(partitions, body)
    if forgets:
        for name, unwanted in body.forgotten:
            for index in unwanted:
                partitions.forget(name, index)


def _want(partitions: FetchPartitions, body: FetchRequest) -> None:
    for name, wanted in body.topics:
        for each in wanted:
            partitions.want(name, each)


async def _is_throttled(
    quota: "RequestQuota", terms: FetchTerms, read: FetchRead, *, only_news: bool = False
) -> bool:
    """Count the answer for the quotas; return True if the client gets no records."""
    from broker_lite.handler.fetch.throttled import answer_bytes  # few brokers have quotas

    return quota.settle_fetch(await answer_bytes(terms, read.answers, only_news=only_news))

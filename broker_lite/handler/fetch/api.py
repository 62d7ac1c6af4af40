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

from typing import TYPE_CHECKING, Final, cast

from anyio.lowlevel import checkpoint

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.endpoints import endpoints_of
from broker_lite.handler.fetch.long_poll import wait
from broker_lite.handler.fetch.many import (
    PARTITIONS_AT_A_TIME,
    encode_many,
    fail,
    read_many,
    want_many,
)
from broker_lite.handler.fetch.old_clients import MAGIC_2_FROM, ZSTD_FROM, for_old_client
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.preferred import redirect_of
from broker_lite.handler.fetch.read import (
    CURRENT_LEADER_FROM,
    LOGS_AT_A_TIME,
    FetchRead,
    FetchTerms,
    PartitionRead,
    load_logs,
    read_partitions,
)
from broker_lite.handler.fetch.readable import limit_offset
from broker_lite.handler.fetch.session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    TOPIC_IDS_FROM,
    FetchSession,
    next_epoch,
    session_error,
)
from broker_lite.handler.fetch.slow import hold_back
from broker_lite.handler.large import LargeRequest, leave_lane, let_go
from broker_lite.handler.refusals import tell_fetch
from broker_lite.wire.fetch import encode_fetch_response
from broker_lite.wire.fetch_request import FetchRequest, decode_fetch_request, without_topics
from broker_lite.wire.node_endpoints import NodeEndpoint

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.control.quotas.request_quota import RequestQuota

_FETCH_KEY: Final = 1
_CONSUMERS: Final = frozenset((-1, -2))
_ISOLATION_LEVELS: Final = frozenset((0, 1))
_NOTHING_DENIED: Final[frozenset[str | bytes]] = frozenset()

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Read records, after waiting for them if the request asks for that.

    Rule: F-03, F-11.
    See: F-01 to F-48.
    """
    version = request.api_version
    if isinstance(request, LargeRequest):
        body = without_topics(request.decoded, version)
    else:
        body = decode_fetch_request(request.body, version, request.position)
    if body.isolation_level not in _ISOLATION_LEVELS:
        return cast(Parts, await fail(request, body))
    terms = _terms(context, body, version)
    if body.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return await _incremental(context, request, terms, body)
    sessions = context.fetch_sessions
    if body.session_id != NO_SESSION:
        sessions.remove(body.session_id)
    partitions = FetchPartitions()
    session = None
    try:
        await _apply(partitions, request, body)
        read = await _read_all(context, request, terms, partitions)
        if context.quota is not None and await _is_throttled(context.quota, terms, read):
            return _refuse(terms, ErrorCode.NONE, NO_SESSION)
        if body.session_epoch == INITIAL_EPOCH:
            session = sessions.create(
                partitions,
                uses_topic_ids=version >= TOPIC_IDS_FROM,
                now_ms=context.clock.monotonic_ms(),
            )
        if session is not None:
            session.isolation_level = terms.isolation_level
            await _remember_all(partitions, read, terms.isolation_level)
    finally:
        partitions.users -= 1
        if session is None or sessions.get(session.session_id) is not session:
            partitions.unwatch()
    session_id = session.session_id if session is not None else NO_SESSION
    if read.answers_at_once:
        await tell_fetch(context, request, read.answers)
    return await _answer(context, terms, read.answers, session_id)


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
        return _refuse(terms, error or ErrorCode.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION)
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
        await _apply(partitions, request, body)
    finally:  # partitions that were added before the client left count, too
        has_room = sessions.touch(session, context.clock.monotonic_ms())
    if not partitions:
        sessions.remove(session.session_id)
        return await _answer(context, terms, [], NO_SESSION)
    session.epoch = expected_epoch = next_epoch(session.epoch)
    if session.isolation_level != terms.isolation_level:
        session.isolation_level = terms.isolation_level
        partitions.all_pending()
    if context.authorizer is not None:
        session.judge_anew(context)
    read = await _read(context, request, terms, partitions)
    if session.epoch != expected_epoch:
        code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return _refuse(terms, code, session.session_id)
    if context.quota is not None and await _is_throttled(
        context.quota, terms, read, only_news=True
    ):
        return _refuse(terms, ErrorCode.NONE, session.session_id)
    news = await _news(partitions, read, terms.isolation_level)
    if len(read.answers) > PARTITIONS_AT_A_TIME:
        await let_go(read.answers)
    if read.answers_at_once:
        await tell_fetch(context, request, news)
    # An answer without a session id tells the client that the session ended; it begins a new one.
    return await _answer(context, terms, news, session.session_id if has_room else NO_SESSION)


def _terms(context: HandlerContext, body: FetchRequest, version: int) -> FetchTerms:
    """Rule: F-11.

    See: F-02.
    """
    replica_id = body.replica_id
    # value() by name, because an attribute of settings takes ten times as long
    max_bytes = min(body.max_bytes, cast(int, context.settings.value("fetch.max.bytes")))
    if context.quota is not None:
        max_bytes = min(max_bytes, context.quota.fetch_bytes_max())
    fields = (
        version,
        replica_id >= 0,
        body.isolation_level if replica_id in _CONSUMERS else 0,
        body.max_wait_ms,
        min(body.min_bytes, max_bytes),
        max_bytes,
        context.node_id,
        version < ZSTD_FROM and context.apis[_FETCH_KEY].min_version < MAGIC_2_FROM,
        redirect_of(context, body.rack_id) if body.rack_id and replica_id < 0 else None,
        _NOTHING_DENIED,
    )
    return _make(FetchTerms, fields)


async def _apply(partitions: FetchPartitions, request: Request, body: FetchRequest) -> None:
    """Add the partitions that a request wants, and remove those that it no longer wants.

    Rule: F-03.
    See: F-43.
    """
    if isinstance(request, LargeRequest):
        by_id = request.api_version >= TOPIC_IDS_FROM
        await want_many(partitions, request.decoded, by_id=by_id)
        return
    for name, wanted in body.topics:
        for each in wanted:
            partitions.want(name, each)
    for name, unwanted in body.forgotten:
        for index in unwanted:
            partitions.forget(name, index)


async def _read_all(
    context: HandlerContext, request: Request, terms: FetchTerms, partitions: FetchPartitions
) -> FetchRead:
    """Read for a client without a session; the memory of a large request counts while it waits.

    If there is no room for a large request, it does not wait.

    See: F-47.
    """
    if not isinstance(request, LargeRequest):
        return await _read(context, request, terms, partitions)
    sessions, size_bytes = context.fetch_sessions, partitions.size_bytes
    if not sessions.hold(size_bytes):
        return await _read(context, request, terms._replace(max_wait_ms=0), partitions)
    try:
        return await _read(context, request, terms, partitions)
    finally:
        sessions.give_back(size_bytes)


async def _read(
    context: HandlerContext, request: Request, terms: FetchTerms, partitions: FetchPartitions
) -> FetchRead:
    """Look at all pending partitions, and once more after waiting.

    See: F-30, F-31.
    """
    cluster = context.cluster
    pending = partitions.pending()
    if len(pending) > LOGS_AT_A_TIME:
        await load_logs(cluster, pending)
        pending = partitions.pending()
    if context.authorizer is not None:
        # Imported here, because most brokers have no authorizer.
        from broker_lite.handler.fetch.denied import judge

        terms = await judge(context, terms, pending)
    read = await _look(cluster, terms, pending)
    if read.must_wait(terms, len(partitions)):
        leave_lane(request)
        await wait(cluster, terms, partitions, read, context.nothing_to_give)
        if isinstance(request, LargeRequest):
            await request.enter(context.lane)
        read = await _look(cluster, terms, partitions.pending())
    if cluster.slow_topics and read.size_bytes:
        read = await hold_back(context, request, terms, partitions, read, _look)
    if terms.is_old:
        await for_old_client(cluster, terms.version, read.answers, context.stop)
    return read


async def _look(
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition]
) -> FetchRead:
    read = FetchRead(terms.max_bytes, cluster.logs.sent_files_max)
    if terms.denied:
        from broker_lite.handler.fetch.denied import set_aside

        partitions = await set_aside(partitions, terms.denied, read)
    if len(partitions) > PARTITIONS_AT_A_TIME:
        await read_many(cluster, terms, partitions, read)
    else:
        read_partitions(cluster, terms, partitions, read)
    read.end()
    return read


async def _remember_all(partitions: FetchPartitions, read: FetchRead, isolation_level: int) -> None:
    """Begin a session with the answers of its full fetch; unknown topics are ordered last.

    See: F-42, F-45.
    """
    for position, answer in enumerate(read.answers):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        partition = answer.partition
        partition.high_watermark = answer.high_watermark
        partition.log_start_offset = answer.log_start_offset
        if answer.is_drained:
            _settle(partitions, answer, isolation_level)
        partitions.move_to_end(partition)


async def _news(
    partitions: FetchPartitions, read: FetchRead, isolation_level: int
) -> list[PartitionRead]:
    """Return the answers for the session's partitions that tell the client something new."""
    news = []
    for position, answer in enumerate(read.answers):
        if position % PARTITIONS_AT_A_TIME == PARTITIONS_AT_A_TIME - 1:
            await checkpoint()
        if _remember(partitions, answer, isolation_level):
            news.append(answer)
    return news


def _remember(partitions: FetchPartitions, answer: PartitionRead, isolation_level: int) -> bool:
    """Remember the answer for a partition; return True if it tells the client something new.

    See: F-44, F-45.
    """
    partition = answer.partition
    is_news = answer.is_news
    partition.high_watermark = answer.high_watermark
    partition.log_start_offset = answer.log_start_offset
    if answer.size_bytes:
        partitions.move_to_end(partition)
    elif answer.is_drained:
        _settle(partitions, answer, isolation_level)
    return is_news


def _settle(partitions: FetchPartitions, answer: PartitionRead, isolation_level: int) -> None:
    """Look at a partition again only after its log changes, unless it changed since it was read."""
    partition, log = answer.partition, answer.log
    if log is not None and partition.fetch_offset >= limit_offset(log, isolation_level):
        partitions.settle(partition, log)


async def _is_throttled(
    quota: "RequestQuota", terms: FetchTerms, read: FetchRead, *, only_news: bool = False
) -> bool:
    """Count the answer for the quotas; return True if the client gets no records."""
    from broker_lite.handler.fetch.throttled import answer_bytes  # few brokers have quotas

    return quota.settle_fetch(await answer_bytes(terms, read.answers, only_news=only_news))


async def _answer(
    context: HandlerContext, terms: FetchTerms, answers: list[PartitionRead], session_id: int
) -> Parts:
    """Encode the answers, and drop them."""
    # Kafka leaves the addresses out for followers.
    node_endpoints = (
        _endpoints(context, answers)
        if terms.version >= CURRENT_LEADER_FROM
        and not terms.is_follower
        and any(each.current_leader is not None for each in answers)
        else ()
    )
    if len(answers) > PARTITIONS_AT_A_TIME:
        parts = await encode_many(
            terms.version, answers, session_id=session_id, node_endpoints=node_endpoints
        )
        await let_go(answers)
    else:
        parts = encode_fetch_response(
            terms.version, answers, session_id=session_id, node_endpoints=node_endpoints
        )
    if context.cluster.canned_runs.is_used:
        # Imported here, because few topics are synthetic.
        from broker_lite.handler.fetch.synthetic import expanded

        return expanded(parts)
    return cast(Parts, parts)


def _endpoints(context: HandlerContext, answers: list[PartitionRead]) -> list[NodeEndpoint]:
    """Return the addresses of the leaders that the answers name."""
    leaders = {each.current_leader[0] for each in answers if each.current_leader is not None}
    return endpoints_of(context, leaders)


def _refuse(terms: FetchTerms, code: ErrorCode, session_id: int) -> Parts:
    """See: F-41: a top-level error, and no partitions; or none for a client that is throttled."""
    return cast(
        Parts,
        encode_fetch_response(terms.version, (), error_code=code, session_id=session_id),
    )

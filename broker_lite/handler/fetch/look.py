"""Look at the partitions of a Fetch request, and once more after waiting."""

from typing import TYPE_CHECKING, Final, cast

from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.fetch.long_poll import wait
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME, read_many
from broker_lite.handler.fetch.old_clients import MAGIC_2_FROM, ZSTD_FROM, for_old_client
from broker_lite.handler.fetch.partition import FetchPartition, FetchPartitions
from broker_lite.handler.fetch.preferred import redirect_of
from broker_lite.handler.fetch.read import (
    LOGS_AT_A_TIME,
    FetchRead,
    FetchTerms,
    load_logs,
    read_partitions,
)
from broker_lite.handler.fetch.slow import hold_back
from broker_lite.handler.large import LargeRequest, enter_lane, leave_lane
from broker_lite.wire.fetch_request import FetchRequest

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

_FETCH_KEY: Final = 1
_CONSUMERS: Final = frozenset((-1, -2))
_NOTHING_DENIED: Final[frozenset[str | bytes]] = frozenset()

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__


def terms_of(context: HandlerContext, body: FetchRequest, version: int) -> FetchTerms:
    """Take from a request what holds for all its partitions.

    See: F-02, F-11.
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


async def look_at_all(
    context: HandlerContext, request: Request, terms: FetchTerms, partitions: FetchPartitions
) -> FetchRead:
    """Read for a client without a session; the memory of a large request counts while it waits.

    If there is no room for a large request, it does not wait.

    See: F-47.
    """
    if not isinstance(request, LargeRequest):
        return await look(context, request, terms, partitions)
    sessions, size_bytes = context.fetch_sessions, partitions.size_bytes
    if not sessions.hold(size_bytes):
        return await look(context, request, terms._replace(max_wait_ms=0), partitions)
    try:
        return await look(context, request, terms, partitions)
    finally:
        sessions.give_back(size_bytes)


async def look(
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
    return await look_again(context, request, terms, partitions, read)


async def look_again(
    context: HandlerContext,
    request: Request,
    terms: FetchTerms,
    partitions: FetchPartitions,
    read: FetchRead,
) -> FetchRead:
    """Do what is left after the first look, which has found `read`.

    See: F-30, F-31.
    """
    cluster = context.cluster
    if read.must_wait(terms, len(partitions)):
        leave_lane(request)
        await wait(cluster, terms, partitions, read, context.nothing_to_give)
        await enter_lane(context, request)
        read = await _look(cluster, terms, partitions.pending())
    if cluster.slow_topics and read.size_bytes:
        read = await hold_back(context, request, terms, partitions, read, _look)
    if terms.is_old:
        await for_old_client(cluster, terms.version, read.answers, context.stop)
    return read


def is_enough(context: HandlerContext, terms: FetchTerms, read: FetchRead, count: int) -> bool:
    """True if look_again() would only return `read`, the first look at `count` partitions."""
    if terms.is_old or (context.cluster.slow_topics and read.size_bytes):
        return False
    return not read.must_wait(terms, count)


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


def look_at_few(
    cluster: "Cluster", terms: FetchTerms, partitions: list[FetchPartition]
) -> FetchRead:
    """Look at no more than LOGS_AT_A_TIME partitions, all of which the client may read."""
    read = FetchRead(terms.max_bytes, cluster.logs.sent_files_max)
    read_partitions(cluster, terms, partitions, read)
    read.end()
    return read

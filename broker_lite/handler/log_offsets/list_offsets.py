"""ListOffsets (2): find the offset for a timestamp.

- v0 lists segment offsets older than a time; v1 one offset and its timestamp (KIP-79).
- v2 isolation level (KIP-98); v4 leader epochs (KIP-320); v7 -3, the record with the largest
  timestamp (KIP-734); v8 -4 earliest local (KIP-405); v9 -5 latest tiered (KIP-1005); v10 a timeout
  for tiered storage (KIP-1075); v11 -6 earliest pending upload (KIP-1023).

Not done: tiered storage. Earliest local is the earliest offset; latest tiered and earliest pending
upload are never found.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from anyio.lowlevel import checkpoint

from broker_lite.errors import BrokerError, ErrorCode, OffsetNotAvailable, UnsupportedVersion
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.fetch.read import LOGS_AT_A_TIME
from broker_lite.handler.fetch.readable import limit_offset
from broker_lite.handler.large import LargeRequest
from broker_lite.handler.leadership import check_leader
from broker_lite.handler.log_offsets.denied import list_many_allowed, set_denied_aside
from broker_lite.handler.log_offsets.heavy_search import NOT_YET, Searched, search_heavy
from broker_lite.handler.log_offsets.list_offsets_many import list_many
from broker_lite.log import timestamps
from broker_lite.log.canned.endless import LOG_START, EndlessRecords
from broker_lite.log.log import Log
from broker_lite.log.timestamps import HeavyBatch
from broker_lite.wire.list_offsets import (
    AskedPartition,
    ListedPartition,
    ListedTopic,
    ListOffsetsRequest,
    decode_list_offsets_request,
    encode_list_offsets_response,
)

logger = logging.getLogger("broker_lite.handler")


LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

_FIRST_VERSION: Final = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_CONSUMER: Final = -1
_DEBUGGING: Final = -2
_NOT_AVAILABLE_FROM: Final = 5


class _Found(NamedTuple):
    """An offset with its timestamp and leader epoch; -1 for each that does not exist."""

    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


_NOTHING: Final = _Found()


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Find offsets by timestamp or by a special value.

    Raises:
        DecodeError: the bytes are not a request of this version.

    Rule: F-71 to F-73, F-75.
    See: F-70, F-74.
    """
    version = request.api_version
    denied: list[ListedTopic] = []
    if isinstance(request, LargeRequest):
        answer_one = partial(_answer_in_full, context, version)
        if context.authorizer is None:
            return await list_many(request, answer_one)
        return await list_many_allowed(context, request, answer_one)
    body = decode_list_offsets_request(request.body, version, request.position)
    if context.authorizer is not None:
        body, denied = set_denied_aside(context, body)
    duplicates = _duplicates(body.topics) if version > 0 else ()
    topics: list[ListedTopic] = []
    for name, partitions in _distinct(body.topics):
        answers = []
        # A partition that the request names more than once gets one answer, which is an error.
        asked = {each.partition_index: each for each in partitions}
        for position, wanted in enumerate(asked.values()):
            if position % LOGS_AT_A_TIME == LOGS_AT_A_TIME - 1:
                await checkpoint()
            index = wanted.partition_index
            if duplicates and (name, index) in duplicates:
                answers.append(ListedPartition(index, ErrorCode.INVALID_REQUEST))
            else:
                answer = _answer(context, version, body, name, wanted)
                if isinstance(answer, HeavyBatch):
                    answer = await _answer_in_full(context, version, body, name, wanted)
                answers.append(answer)
        topics.append((name, answers))
    return [encode_list_offsets_response(version, topics + denied)]


def _distinct(
    topics: Sequence[tuple[str, Sequence[AskedPartition]]],
) -> Iterable[tuple[str, Sequence[AskedPartition]]]:
    """Return the topics, and one that is named more than once only once.

    See: F-73.
    """
    if len(topics) == 1 or len({name for name, _ in topics}) == len(topics):
        return topics
    merged: dict[str, list[AskedPartition]] = {}
    for name, partitions in topics:
        merged.setdefault(name, []).extend(partitions)
    return list(merged.items())


def _duplicates(
    topics: Sequence[tuple[str, Sequence[AskedPartition]]],
) -> Collection[tuple[str, int]]:
    """Return the topics and partitions that the request names more than once.

    Rule: F-73.
    """
    asked = [(name, each.partition_index) for name, partitions in topics for each in partitions]
    if len(asked) == 1:  # the usual request of a consumer, which asks about its position
        return ()
    return {key for key, count in Counter(asked).items() if count > 1}


async def _answer_in_full(
    context: HandlerContext,
    version: int,
    body: ListOffsetsRequest,
    topic: str,
    wanted: AskedPartition,
) -> ListedPartition:
    """Return the answer for one partition; large batches are searched in a thread."""
    answer = _answer(context, version, body, topic, wanted)
    while isinstance(answer, HeavyBatch):
        searched = await search_heavy(answer, context.stop)
        answer = _answer(context, version, body, topic, wanted, searched)
    return answer


def _answer(
    context: HandlerContext,
    version: int,
    body: ListOffsetsRequest,
    topic: str,
    wanted: AskedPartition,
    searched: Searched = NOT_YET,
) -> ListedPartition | HeavyBatch:
    """Return the answer for one partition, or a batch that must first be searched in a thread.

    Rule: F-73.
    """
    index = wanted.partition_index
    try:
        if version > 0:
            _check_timestamp(wanted.timestamp, version)
        log = context.cluster.log(topic, index)
        if version == 0:
            check_leader(context.cluster, context.node_id, log)
            offsets = _old_style(context, log, body.replica_id, wanted)
            return ListedPartition(index, old_style_offsets=offsets)
        check_leader(
            *(context.cluster, context.node_id, log, wanted.current_leader_epoch),
            may_follow=body.replica_id == _DEBUGGING,
        )
        isolation_level = body.isolation_level if body.replica_id == _CONSUMER else None
        found = find_offset(log, wanted.timestamp, isolation_level, searched)
    except HeavyBatch as heavy:
        return heavy
    except OffsetNotAvailable as early:
        is_old = version < _NOT_AVAILABLE_FROM
        return ListedPartition(index, ErrorCode.LEADER_NOT_AVAILABLE if is_old else early.code)
    except BrokerError as error:
        return ListedPartition(index, error.code)
    except Exception:
        logger.exception("offsets not listed topic=%s-%d", topic, index)
        return ListedPartition(index, ErrorCode.UNKNOWN_SERVER_ERROR)
    return ListedPartition(index, 0, found.timestamp, found.offset, found.leader_epoch)


def _check_timestamp(timestamp: int, version: int) -> None:
    """Demand that a version has a special value; that comes before the partition is looked for.

    Raises:
        UnsupportedVersion: the timestamp is a special value that this version does not have.

    See: F-71, F-73 (ReplicaManager.fetchOffset).
    """
    if timestamp < 0 and version < _FIRST_VERSION.get(timestamp, version + 1):
        raise UnsupportedVersion


def find_offset(
    log: Log, timestamp: int, isolation_level: int | None, searched: Searched = NOT_YET
) -> _Found:
    """Find the offset that a timestamp or a special value stands for.

    Args:
        log: of the partition.
        timestamp: or a special value.
        isolation_level: of a consumer; None for other readers, which see the whole log.
        searched: the outcome of the search in a thread.

    Raises:
        HeavyBatch: this batch is to be searched in a thread; the search goes on with its outcome.
        OffsetNotAvailable: the leader is new, and does not know yet what is committed.
        KafkaStorageError: a file cannot be read.

    Rule: F-71, F-72, F-75.
    """
    if log.visibility.synthetic is not None:
        return _of_synthetic(log, log.visibility.synthetic, timestamp)
    if timestamp >= 0 or timestamp == MAX_TIMESTAMP:
        return _by_timestamp(log, timestamp, isolation_level, searched)
    return _SPECIAL[timestamp](log, isolation_level)


def _of_synthetic(log: Log, records: EndlessRecords, timestamp: int) -> _Found:
    """See: F-16, F-71, F-72."""
    epoch = log.leader_epoch
    if timestamp == LATEST:
        return _Found(-1, records.end_offset, epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _Found(-1, LOG_START, epoch)
    if timestamp == MAX_TIMESTAMP:
        found = records.max_timestamp_offset()
    else:
        found = records.offset_for_timestamp(timestamp) if timestamp >= 0 else None
    return _NOTHING if found is None else _Found(*found, epoch)


def _limit(log: Log, isolation_level: int | None) -> int:
    return log.log_end_offset if isolation_level is None else limit_offset(log, isolation_level)


def _check_committed(log: Log, isolation_level: int | None) -> None:
    """Check that the leader knows what is committed: its high watermark is of its own epoch.

    Raises:
        OffsetNotAvailable: records of earlier epochs may still be committed.

    Rule: F-73 (Partition.fetchOffsetForTimestamp).
    """
    if isolation_level is None or log.high_watermark == log.log_end_offset:
        return
    newest = log.epochs.entries[-1]
    if newest.epoch == log.leader_epoch and newest.start_offset > log.high_watermark:
        raise OffsetNotAvailable


def _latest(log: Log, isolation_level: int | None) -> _Found:
    _check_committed(log, isolation_level)
    return _Found(-1, _limit(log, isolation_level), log.leader_epoch)


def _earliest(log: Log, isolation_level: int | None) -> _Found:
    """Return the first entry's leader epoch if that entry covers the log start offset."""
    start_offset = log.log_start_offset
    entries = log.epochs.entries
    if entries and entries[0].start_offset <= start_offset:
        return _Found(-1, start_offset, entries[0].epoch)
    return _Found(-1, start_offset, -1)


def _by_timestamp(
    log: Log, timestamp: int, isolation_level: int | None, searched: Searched
) -> _Found:
    """Rule: F-72."""
    if searched.error is not None:
        raise searched.error
    found = searched.found
    if found is None and timestamp == MAX_TIMESTAMP:
        found = timestamps.max_timestamp_offset(log, from_offset=searched.from_offset, at_once=True)
    elif found is None:
        found = timestamps.offset_for_timestamp(
            log, timestamp, from_offset=searched.from_offset, at_once=True
        )
    if found is None or found.offset >= _limit(log, isolation_level):
        _check_committed(log, isolation_level)
        return _NOTHING
    return _Found(*found)


def _nothing_tiered(log: Log, isolation_level: int | None) -> _Found:
    return _NOTHING


_SPECIAL: Final[dict[int, Callable[[Log, int | None], _Found]]] = {
    LATEST: _latest,
    EARLIEST: _earliest,
    EARLIEST_LOCAL: _earliest,
    LATEST_TIERED: _nothing_tiered,
    EARLIEST_PENDING_UPLOAD: _nothing_tiered,
}


def _old_style(
    context: HandlerContext, log: Log, replica_id: int, wanted: AskedPartition
) -> list[int]:
    """Return the answer of version 0; a consumer sees nothing above the high watermark.

    Raises:
        UnsupportedVersion: the timestamp is a special value other than latest and earliest.

    See: F-74.
    """
    if wanted.timestamp < EARLIEST:
        raise UnsupportedVersion
    if log.visibility.synthetic is not None:
        # as of one segment that is older than any timestamp
        ends = [log.visibility.synthetic.end_offset] if wanted.timestamp == LATEST else []
        return [*ends, LOG_START][: wanted.offsets_max]
    now_ms = context.clock.now_ms()
    offsets = timestamps.offsets_before(log, wanted.timestamp, wanted.offsets_max, now_ms)
    high_watermark = log.high_watermark
    if replica_id == _CONSUMER and any(offset > high_watermark for offset in offsets):
        return [high_watermark, *(offset for offset in offsets if offset <= high_watermark)]
    return offsets

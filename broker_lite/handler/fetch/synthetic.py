"""Fetch from synthetic topics: the records are made, not stored.

The rest of the request goes its usual way: a piece of the endless log takes the place of a range of
a file, and stands for as many bytes. Right before the answer is sent, the piece becomes the parts
that are sent.

Not done: conversion for clients of versions below 4, which only a broker that emulates a release
before 4.0 has. They are answered with UNSUPPORTED_VERSION (35), as by Kafka 3 where
message.downconversion.enable is false; see old_clients.py.

See: F-16.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from broker_lite.errors import OffsetOutOfRange
from broker_lite.handler.context import Parts
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.fetch.read import FetchTerms, PartitionRead
from broker_lite.handler.fetch.readable import READ_COMMITTED
from broker_lite.log.canned.endless import LOG_START
from broker_lite.log.canned.run import CannedSlice
from broker_lite.log.log import Log
from broker_lite.wire.fetch import Part

if TYPE_CHECKING:
    from broker_lite.log.canned.endless import EndlessRecords


def read_endless(
    log: Log,
    records: "EndlessRecords",
    terms: FetchTerms,
    partition: FetchPartition,
    left_bytes: int,
    is_first: bool,
) -> PartitionRead:
    """Read one partition of a synthetic topic.

    Args:
        log: of the partition.
        records: of the log.
        terms: of the request.
        partition: that is read.
        left_bytes: what the answer has room for.
        is_first: no partition before has given bytes.

    Raises:
        OffsetOutOfRange: the offset, or the epoch that was fetched last, is beyond the log.
        UnknownServerError: a limit is negative.
        KafkaStorageError: the records cannot be made.

    See: F-05, F-06, F-11, F-21.
    """
    fetch_offset, end_offset = partition.fetch_offset, records.end_offset
    max_bytes = min(partition.max_bytes, left_bytes)
    found = diverging = None
    if partition.last_fetched_epoch >= 0:
        diverging = _diverging(log, records, partition)
    if diverging is None:
        found = records.read(
            fetch_offset,
            max_bytes=max_bytes,
            answered_bytes=terms.max_bytes - left_bytes,
            min_one_batch=is_first,
            leader_epoch=log.leader_epoch,
            wake=log.visibility.wake,
        )
    # To a reader of committed records Kafka answers null where it dropped a fragment, else a list.
    is_dropped = found is None and max_bytes > 0 and records.has_run_at(fetch_offset)
    has_list = terms.isolation_level == READ_COMMITTED and diverging is None and not is_dropped
    return PartitionRead(
        partition,
        log,
        0,
        end_offset,
        end_offset,
        LOG_START,
        () if has_list else None,
        found,
        is_drained=fetch_offset >= end_offset,
        diverging_epoch=diverging,
    )


def _diverging(
    log: Log, records: "EndlessRecords", partition: FetchPartition
) -> tuple[int, int] | None:
    """Return the end of the log to a reader that is beyond it.

    Raises:
        OffsetOutOfRange: the epoch is unknown, or the offset lies before the log.
    """
    epoch, end_offset = records.end_offset_for(partition.last_fetched_epoch, log.leader_epoch)
    if epoch < 0 or partition.fetch_offset < LOG_START:
        raise OffsetOutOfRange
    return (epoch, end_offset) if end_offset < partition.fetch_offset else None


def expanded(parts: Sequence[Part]) -> Parts:
    """Replace each piece of an endless log by the parts that are sent."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, CannedSlice):
            found += part.parts()
        else:
            found.append(part)
    return cast(Parts, found)

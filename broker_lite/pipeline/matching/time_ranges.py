"""Narrows a read to the offsets that can have records of wanted times, by the time indexes.

The beginning is exact: no record in front of the first one that reaches a time is younger. Behind
the first record that reaches the end, older ones may follow, because producers give the timestamps.
So a read goes on until a record is later than the end by the `lateness` that is allowed.
"""

from collections.abc import Mapping

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.parallel import in_parallel
from broker_lite.pipeline.files.positions import earliest, offset_for_timestamp
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.ranges import OffsetRange


def narrowed_by_time(
    io: FileIO,
    logs: Mapping[TopicPartition, PartitionLog],
    ranges: Mapping[TopicPartition, OffsetRange],
    from_ms: int | None,
    until_ms: int | None,
    lateness_ms: int,
) -> dict[TopicPartition, OffsetRange]:
    """Return where records of wanted times can be; a range may become empty.

    Args:
        io: opens the logs.
        logs: of all partitions that have a range.
        ranges: the offsets of the read.
        from_ms: the earliest time; None for no limit.
        until_ms: the first time that is too late; None for no limit.
        lateness_ms: how far timestamps in a log may go back.

    Raises:
        OSError: a file cannot be read.
    """

    def narrow(key: TopicPartition) -> OffsetRange:
        log, bounds = logs[key], ranges[key]
        first, end = bounds
        if from_ms is not None:
            first = _first_offset(io, log, from_ms, bounds)
        if until_ms is not None:
            # Damage is no end: what is behind it may be wanted, and the reader tells of it.
            end_ms = until_ms + lateness_ms
            found = offset_for_timestamp(io, log, end_ms, damage_matches=False)
            end = bounds.end_offset if found is None else found
        return OffsetRange(first, max(first, end)).within(bounds)

    return dict(zip(ranges, in_parallel(io, narrow, ranges), strict=True))


def _first_offset(io: FileIO, log: PartitionLog, from_ms: int, bounds: OffsetRange) -> int:
    found = offset_for_timestamp(io, log, from_ms)
    if found is not None:
        return found
    # Where records were deleted in the midst of a segment, none is no proof that there is none.
    is_proof = not log.segments or earliest(log) == log.segments[0].base_offset
    return bounds.end_offset if is_proof else bounds.first_offset

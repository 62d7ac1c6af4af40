"""Turns the limits of a read into offsets by partition, and detects data loss.

Limits and errors mean the same as in Spark's Kafka connector. The earliest offset is the first one
in the files, the latest the one after the last.
"""

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import EVERY_OFFSET, PartitionLog, find_partitions
from broker_lite.pipeline.files.log_end import LogEnd, log_end
from broker_lite.pipeline.files.parallel import in_parallel
from broker_lite.pipeline.files.positions import earliest, offset_for_timestamp
from broker_lite.pipeline.files.witnesses import witnessed_end
from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption
from broker_lite.pipeline.read.offset_limits import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Bound,
    OffsetLimit,
    TopicPartition,
)
from broker_lite.pipeline.read.options import (
    Compacted,
    IsolationLevel,
    OnNoMatch,
    ReadOptions,
    View,
)
from broker_lite.pipeline.read.transactions import last_stable_offset

logger = logging.getLogger("broker_lite.pipeline")


class PlanError(ValueError):
    """The log cannot be read as the options say; the text is one line for the user."""


class DataLossError(PlanError):
    """Wanted offsets are gone or not there yet, and failOnDataLoss is true."""


class OffsetRange(NamedTuple):
    """The offsets from first_offset up to, but not including, end_offset."""

    first_offset: int
    end_offset: int

    def within(self, bounds: "OffsetRange") -> "OffsetRange":
        """Clip it to bounds; a range outside of them becomes empty."""
        low = min(max(self.first_offset, bounds.first_offset), bounds.end_offset)
        return OffsetRange(low, max(low, min(self.end_offset, bounds.end_offset)))


def find_logs(
    io: FileIO,
    root: str,
    options: ReadOptions,
    is_needed: Callable[[str, int], bool] | None = None,
) -> dict[TopicPartition, PartitionLog]:
    """Find the partitions that the options select.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a read.
        is_needed: takes topic and partition; the directories of others are not listed. None for
            all. Only for a selection that names nothing, or what it names is missing.

    Raises:
        PlanError: a named topic or partition does not exist.
        FileNotFoundError: the root does not exist.
        NotADirectoryError: it is a file.
        LayoutError: the directory holds segments, but is not named TOPIC-PARTITION.
    """
    wants = options.selection.wants
    if is_needed is None:
        logs = find_partitions(io, root, wants)
    else:
        logs = find_partitions(io, root, lambda *key: wants(*key) and is_needed(*key))
    missing = options.selection.missing(logs)
    if missing:
        raise PlanError(f"{options.path}: there is no {', '.join(missing)}")
    return logs


def resolve(
    io: FileIO, logs: Mapping[TopicPartition, PartitionLog], options: ReadOptions
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets of a batch query by partition; a range may be empty.

    Raises:
        DataLossError: offsets are missing, and failOnDataLoss is true.
        PlanError: the limits do not name all partitions, no record reaches the timestamp, or a
            range would end before its start.
    """
    bounds = readable_bounds(io, logs, options)
    starts = resolve_limit(io, logs, options.starting, bounds, options.on_no_match)
    ends = resolve_limit(io, logs, options.ending, bounds, OnNoMatch.LATEST)
    return {
        key: _checked(key, OffsetRange(starts[key], ends[key]), bounds[key], options)
        for key in logs
    }


def resolve_limit(
    io: FileIO,
    logs: Mapping[TopicPartition, PartitionLog],
    limit: OffsetLimit,
    bounds: Mapping[TopicPartition, OffsetRange],
    on_no_match: OnNoMatch,
) -> dict[TopicPartition, int]:
    """Return the offset that a limit means in each partition.

    Args:
        io: opens the logs.
        logs: all logs of the read.
        limit: the start or the end.
        bounds: the offsets that each log holds.
        on_no_match: what to do if no record reaches a timestamp.

    Raises:
        PlanError: the limit does not name exactly these partitions, or no record reaches the
            timestamp.
    """
    match limit:
        case Bound.EARLIEST:
            return {key: bounds[key].first_offset for key in logs}
        case Bound.LATEST:
            return {key: bounds[key].end_offset for key in logs}
        case AtOffsets(offsets):
            _check_names(logs, offsets)
            return {key: _offset(offsets[key], bounds[key]) for key in logs}
        case AtTimestamp(timestamp_ms):
            timestamps_ms: Mapping[TopicPartition, int] = dict.fromkeys(logs, timestamp_ms)
        case AtTimestamps(timestamps_ms):
            _check_names(logs, timestamps_ms)
    found = in_parallel(
        io, lambda key: offset_for_timestamp(io, logs[key], timestamps_ms[key]), logs
    )
    offsets = {}
    for key, offset in zip(logs, found, strict=True):
        end_offset = bounds[key].end_offset
        # with read_committed, nothing behind the first open transaction counts, as for ListOffsets
        if offset is None or offset >= end_offset:
            if on_no_match is OnNoMatch.ERROR:
                raise PlanError(
                    f"{_name(key)}: no readable record is as young as {timestamps_ms[key]};"
                    " startingOffsetsByTimestampStrategy=latest begins at the end then"
                )
            offset = end_offset
        offsets[key] = offset
    return offsets


def bounds_of(
    io: FileIO, logs: Mapping[TopicPartition, PartitionLog]
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that each log holds, up to the end of its last whole batch."""
    return _each(io, logs, lambda log: log_end(io, log).offset)


def readable_bounds(
    io: FileIO, logs: Mapping[TopicPartition, PartitionLog], options: ReadOptions
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets of each log that are readable under the options.

    A log that ends below what was on disk is damaged: its end is no torn tail.

    With read_committed, a log ends where the oldest open transaction begins.

    Raises:
        CorruptLog: with onCorrupt=fail, the end of a log is damaged, or a marker may be.
    """
    return _each(
        io, logs, lambda log: readable_end(io, log, told_end(io, log, options).offset, options)
    )


def told_end(io: FileIO, log: PartitionLog, options: ReadOptions) -> LogEnd:
    """Find the end of a log, and report evidence that it was longer.

    A log that ends below what was on disk is damaged: its end is no torn tail.

    Raises:
        CorruptLog: the log was longer, and onCorrupt=fail.
        FileNotFoundError: the last segment vanished since it was listed.

    See: S-10, S-11, S-18, S-70 (LogManager.checkpointLogRecoveryOffsets).
    """
    end = log_end(io, log)
    if not log.segments or options.view is View.INDEX:
        return end
    witness = witnessed_end(io, log, end.offset)
    if witness is not None:
        # A broker may have appended since: it writes the batch first, then its index entries.
        end = log_end(io, log)
        if end.offset < witness.next_offset:
            text = f"the log ends at offset {end.offset}, and {witness.text}"
            path = log.segments[-1].log_path
            ON_CORRUPTION[options.on_corrupt](Corruption(path, end.position, witness.rule, text))
    return end


def cleaned_end(log: PartitionLog, options: ReadOptions) -> int:
    """Return the offset below which a log may have gaps, by the option compacted."""
    match options.compacted:
        case Compacted.TRUE:
            return EVERY_OFFSET
        case Compacted.FALSE:
            return 0
        case Compacted.AUTO:
            return log.cleaned_end


def readable_end(
    io: FileIO, log: PartitionLog, end_offset: int, options: ReadOptions, *, decided_below: int = 0
) -> int:
    """Return the end of the readable part of a log; see last_stable_offset()."""
    if options.isolation_level is IsolationLevel.READ_UNCOMMITTED:
        return end_offset
    on_corrupt = ON_CORRUPTION[options.on_corrupt]
    return last_stable_offset(
        io,
        log._replace(cleaned_end=cleaned_end(log, options)),
        end_offset,
        on_corrupt=on_corrupt,
        decided_below=decided_below,
    )


def _each(
    io: FileIO, logs: Mapping[TopicPartition, PartitionLog], end_of: Callable[[PartitionLog], int]
) -> dict[TopicPartition, OffsetRange]:
    ends = in_parallel(io, end_of, logs.values())
    firsts = {key: earliest(log) for key, log in logs.items()}
    return {
        key: OffsetRange(first, max(first, end))
        for (key, first), end in zip(firsts.items(), ends, strict=True)
    }


def _check_names(
    logs: Mapping[TopicPartition, PartitionLog], named: Mapping[TopicPartition, int]
) -> None:
    for key in sorted(logs.keys() ^ named.keys()):
        what = "is read, but has no limit" if key in logs else "has a limit, but is not read"
        raise PlanError(f"{_name(key)} {what}: offsets and timestamps are for all partitions")


def _offset(offset: int, bounds: OffsetRange) -> int:
    if offset == EARLIEST_OFFSET:
        return bounds.first_offset
    return bounds.end_offset if offset == LATEST_OFFSET else offset


def _checked(
    key: TopicPartition, wanted: OffsetRange, bounds: OffsetRange, options: ReadOptions
) -> OffsetRange:
    """Clip a range to the existing offsets; lost offsets are an error or a warning."""
    if wanted.first_offset > wanted.end_offset:
        raise PlanError(
            f"{_name(key)}: begins at {wanted.first_offset}, behind its end {wanted.end_offset}"
        )
    found = wanted.within(bounds)
    if found != wanted and wanted.first_offset < wanted.end_offset:
        text = (
            f"{_name(key)}: offsets {wanted.first_offset} to {wanted.end_offset} were asked for,"
            f" the log has {bounds.first_offset} to {bounds.end_offset}"
        )
        if options.fail_on_data_loss:
            raise DataLossError(f"{text}; failOnDataLoss=false reads what is there")
        logger.warning("data may be lost: %s", text)
    return found


def _name(key: TopicPartition) -> str:
    return f"{key[0]}-{key[1]}"

"""Finds where a stream without a checkpoint begins."""

from collections.abc import Mapping

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.positions import earliest
from broker_lite.pipeline.read.offset_limits import AtOffsets, TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import bounds_of, find_logs, readable_bounds, resolve_limit
from broker_lite.pipeline.stream.settling import is_swapping, settled
from broker_lite.pipeline.stream.stretch import report_loss


def initial_offsets(io: FileIO, root: str, options: ReadOptions) -> dict[TopicPartition, int]:
    """Return the first offset of each existing partition; a later one begins at 0.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a stream.

    Raises:
        DataLossError: a wanted offset does not exist, and failOnDataLoss is true.
        PlanError: a named topic or partition does not exist, the limits do not name all partitions,
            or no record reaches the timestamp.
        OSError: the log directory cannot be read.
    """
    return settled(lambda: _look(io, root, options), options.path)


def _look(io: FileIO, root: str, options: ReadOptions) -> dict[TopicPartition, int] | None:
    logs = find_logs(io, root, options)
    bounds = readable_bounds(io, logs, options)
    found = resolve_limit(io, logs, options.starting, bounds, options.on_no_match)
    if not _is_settled(io, root, options, logs):
        return None
    if isinstance(options.starting, AtOffsets):
        # Offsets of open transactions exist, though they are not readable yet.
        for key, (first, end) in bounds_of(io, logs).items():
            if not first <= found[key] <= end:
                report_loss(
                    f"startingOffsets: {key[0]}-{key[1]} has no offset {found[key]}, but {first}"
                    f" to {end}",
                    options,
                )
                found[key] = min(max(found[key], first), end)
    return found


def _is_settled(
    io: FileIO, root: str, options: ReadOptions, logs: Mapping[TopicPartition, PartitionLog]
) -> bool:
    """Tell whether the logs still begin at the same offsets."""
    # In this order: a swap that ends after the first check shows in the listing after it.
    if any(is_swapping(io, log.directory) for log in logs.values()):
        return False
    now = find_logs(io, root, options)
    return all(earliest(now[key]) == earliest(log) for key, log in logs.items() if key in now)

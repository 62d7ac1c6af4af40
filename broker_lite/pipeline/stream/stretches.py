"""Cuts the offsets of a trigger into stretches, one per task.

The files suggest where to cut, and may change later. That does no harm: every offset belongs to
exactly one stretch anyway.
"""

from collections.abc import Mapping
from itertools import pairwise

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog, find_partitions
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.ranges import OffsetRange, bounds_of
from broker_lite.pipeline.stream.offsets import Offsets, first_offsets
from broker_lite.pipeline.stream.settling import settled
from broker_lite.pipeline.stream.stretch import Stretch, report_loss


def plan_stretches(
    io: FileIO, root: str, options: ReadOptions, start: Offsets, end: Offsets
) -> list[Stretch]:
    """Cut the offsets from `start` to `end` into stretches.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a stream.
        start: where the trigger begins; a partition that is missing begins at 0.
        end: where it ends; a partition whose end is not above its start has nothing to read.

    Raises:
        DataLossError: a partition is gone, and failOnDataLoss is true.
        OSError: the log directory cannot be read.
    """
    firsts = first_offsets(start, end)
    wanted = {key: OffsetRange(firsts[key], end[key]) for key in end if firsts[key] < end[key]}
    logs, cuts = settled(lambda: _advice(io, root, options, wanted), options.path)
    uri = root if isinstance(io, LocalFileIO) else options.path
    found = []
    for key, (first, last) in wanted.items():
        if key not in logs:
            report_loss(
                f"{key[0]}-{key[1]}: is gone, offsets {first} to {last} are expected", options
            )
            continue
        directory, places = logs[key].directory, [first, *cuts[key], last]
        found += [Stretch(uri, directory, *key, *piece) for piece in pairwise(places)]
    return found


def _advice(
    io: FileIO, root: str, options: ReadOptions, wanted: Mapping[TopicPartition, OffsetRange]
) -> tuple[dict[TopicPartition, PartitionLog], dict[TopicPartition, list[int]]]:
    """Return the wanted logs, and the offsets, in order, at which to cut them."""
    logs = find_partitions(io, root, lambda *key: key in wanted)
    logs = {key: log for key, log in logs.items() if key in wanted}
    bounds = bounds_of(io, logs)
    there = {key: wanted[key].within(bounds[key]) for key in logs}
    starts: dict[TopicPartition, list[int]] = {key: [] for key in logs}
    for split in plan_ranges(io, root, logs, there, options):
        starts[split.topic, split.partition].append(split.first_offset)
    return logs, {key: offsets[1:] for key, offsets in starts.items()}

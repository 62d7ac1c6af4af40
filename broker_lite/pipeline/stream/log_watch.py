"""Watches the ends of the logs that a stream follows.

The log directory is listed every time, which finds new partitions and topics. A log is only opened
if its listing has changed, because a waiting stream asks many times per second.
"""

from typing import NamedTuple

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog, find_partitions
from broker_lite.pipeline.files.parallel import in_parallel
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import readable_end, told_end
from broker_lite.pipeline.stream.offsets import Offsets
from broker_lite.pipeline.stream.settling import settled
from broker_lite.pipeline.stream.stretch import report_loss


class Horizon(NamedTuple):
    """The end of a log.

    Attributes:
        end_offset: the offset after its last whole batch.
        readable_offset: the first offset that is not readable yet; below end_offset if a
            transaction is open.
    """

    end_offset: int
    readable_offset: int


class _Seen(NamedTuple):
    log: PartitionLog
    horizon: Horizon
    is_whole: bool


class LogWatch:
    """Tracks the ends of the selected logs.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a stream.
    """

    def __init__(self, io: FileIO, root: str, options: ReadOptions) -> None:
        self._io, self._root, self._options = io, root, options
        self._seen: dict[TopicPartition, _Seen] = {}

    def horizons(self) -> dict[TopicPartition, Horizon]:
        """Return the present ends of the logs.

        Raises:
            FileNotFoundError: the log directory does not exist.
            OSError: it, or a log, cannot be read.
        """
        self._seen = settled(self._look, self._options.path)
        return {key: seen.horizon for key, seen in self._seen.items()}

    def _look(self) -> dict[TopicPartition, _Seen]:
        logs = find_partitions(self._io, self._root, self._options.selection.wants)
        return dict(zip(logs, in_parallel(self._io, self._see, logs.values()), strict=True))

    def _see(self, log: PartitionLog) -> _Seen:
        before = self._seen.get((log.topic, log.partition))
        # A preallocated file gets records without growing, so only a full file counts as unchanged.
        if before is not None and before.is_whole and before.log == log:
            return before
        offset, position = told_end(self._io, log, self._options)
        decided = min(before.horizon.readable_offset, offset) if before is not None else 0
        readable = readable_end(self._io, log, offset, self._options, decided_below=decided)
        is_whole = not log.segments or position == log.segments[-1].size_bytes
        return _Seen(log, Horizon(offset, readable), is_whole)


def reachable(
    start: Offsets, horizons: dict[TopicPartition, Horizon], options: ReadOptions
) -> dict[TopicPartition, int]:
    """Return up to where a stream can read from `start`.

    Raises:
        DataLossError: a partition is gone, or ends before its start, and failOnDataLoss is true.
            Otherwise the stream drops the former and continues at the end of the latter.
    """
    for topic, partition in sorted(start.keys() - horizons.keys()):
        report_loss(f"{topic}-{partition}: is gone", options)
    found = {}
    for key, horizon in horizons.items():
        first = start.get(key, 0)
        if horizon.end_offset < first:
            report_loss(
                f"{key[0]}-{key[1]}: the stream came to offset {first},"
                f" the log ends at {horizon.end_offset}",
                options,
            )
            found[key] = horizon.end_offset
        else:
            found[key] = max(first, horizon.readable_offset)
    return found

"""The streaming reader of `kafka_segments`, which follows logs while they are written.

While a query runs, Spark keeps one reader in a Python process beside the driver, which finds new
offsets and plans. A pickled copy in each task reads. The query's state is the offsets in its
checkpoint: a restart repeats the last unfinished trigger with the same offsets.

Reading the same offsets twice gives the same records, unless the log was compacted in between. So
with an exactly-once sink, no record is lost or doubled.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.spark.worker import settle_worker
from broker_lite.pipeline.stream.log_watch import Horizon, LogWatch, reachable
from broker_lite.pipeline.stream.offsets import (
    Offsets,
    count_between,
    from_shape,
    limited,
    to_shape,
)
from broker_lite.pipeline.stream.start import initial_offsets
from broker_lite.pipeline.stream.stretch import Stretch, read_stretch
from broker_lite.pipeline.stream.stretches import plan_stretches


class SegmentsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the logs that the options select.

    Args:
        options: of a stream, with the columns that Spark wants.
        clock_s: seconds that only go forward.
    """

    def __init__(self, options: ReadOptions, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self._clock_s = clock_s
        self._io, self._root = open_file_io(options.path)
        self._watch = LogWatch(self._io, self._root, options)
        self._target: dict[TopicPartition, Horizon] | None = None
        self._latest: Offsets | None = None
        self._triggered_s: float | None = None

    def initialOffset(self) -> dict[str, Any]:  # type: ignore[explicit-override]
        """Return where a query without a checkpoint begins.

        Raises:
            PlanError: something that the options ask for is missing; see initial_offsets().
            OSError: the log directory cannot be read.
        """
        return to_shape(initial_offsets(self._io, self._root, self.options))

    def getDefaultReadLimit(self) -> ReadLimit:  # type: ignore[explicit-override]
        """Tell Spark that there is a limit; latestOffset() applies it."""
        if self.options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self.options.max_offsets_per_trigger)
        if self.options.min_offsets_per_trigger is not None:
            return ReadMinRows(self.options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # type: ignore[explicit-override]
        """Fix the present ends of the logs as the end of the query."""
        self._target = self._watch.horizons()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # type: ignore[explicit-override]
        """Return the end of the trigger that begins at `start`; `start` itself if nothing is new.

        Raises:
            DataLossError: a log is gone or was cut, and failOnDataLoss is true.
            OSError: the logs cannot be read.
        """
        begin = from_shape(start)
        horizons = self._watch.horizons() if self._target is None else self._target
        self._latest = latest = reachable(begin, horizons, self.options)
        if isinstance(limit, ReadAllAvailable):
            return to_shape(latest)
        if self._waits(begin, latest):
            return start
        if self.options.max_offsets_per_trigger is not None:
            latest = limited(begin, latest, self.options.max_offsets_per_trigger)
        return to_shape(latest)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # type: ignore[explicit-override]
        """Return the last seen ends of the logs, for the query's progress."""
        return None if self._latest is None else to_shape(self._latest)

    def partitions(  # type: ignore[explicit-override]
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> list[InputPartition]:
        """Plan the stretches of a trigger.

        Raises:
            DataLossError: a partition is gone, and failOnDataLoss is true.
            OSError: the logs cannot be read.
        """
        planned = plan_stretches(
            self._io, self._root, self.options, from_shape(start), from_shape(end)
        )
        return [InputPartition(stretch) for stretch in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[explicit-override]
        """Yield the rows of a stretch."""
        settle_worker()
        stretch: Stretch = partition.value
        io, _ = open_file_io(stretch.uri)
        return read_stretch(io, stretch, self.options)

    def _waits(self, start: Offsets, latest: Offsets) -> bool:
        """Tell whether to wait until there are minOffsetsPerTrigger offsets.

        The first trigger never waits, nor one with a fixed end, which would wait for ever.
        """
        least = self.options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now_s = self._clock_s()
        if self._triggered_s is not None and count_between(start, latest) < least:
            waited_ms = (now_s - self._triggered_s) * 1000
            if waited_ms < self.options.max_trigger_delay_ms:
                return True
        self._triggered_s = now_s
        return False

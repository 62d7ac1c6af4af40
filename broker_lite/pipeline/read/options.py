"""The options of a read: those of Spark's Kafka connector, and a few of our own.

So that the options of `format("kafka")` need no change, what only a client of a broker uses is
passed over: `kafka.…` except `kafka.isolation.level`, and the settings of the connector's own
consumer. Any other unknown name is an error.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from broker_lite.pipeline.read import option_values
from broker_lite.pipeline.read.counting import Counting
from broker_lite.pipeline.read.formats import FORMAT_OPTIONS, column_formats
from broker_lite.pipeline.read.offset_limits import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Bound,
    OffsetLimit,
    TopicPartition,
    parse_assignment,
    parse_offsets,
    parse_timestamps,
)
from broker_lite.pipeline.read.option_values import Given, OptionError
from broker_lite.pipeline.read.selection import (
    ALL_TOPICS,
    Assigned,
    Selection,
    TopicPattern,
    Topics,
)
from broker_lite.pipeline.registry.settings import ColumnFormat

logger = logging.getLogger("broker_lite.pipeline")

OPTIONS: Final = (
    "path",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "view",
    "columns",
    "maxSplitBytes",
    "pushdown",
    "checkCrc",
    "isolationLevel",
    "onCorrupt",
    "compacted",
    *FORMAT_OPTIONS,
)
SPLIT_BYTES: Final = 64 << 20
SPLITS_MAX: Final = 100_000
MAX_TRIGGER_DELAY_MS: Final = 15 * 60_000

_OF_A_CLIENT: Final = ("kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix")
_CLIENT_ISOLATION: Final = "kafka.isolation.level"
_SELECTIONS: Final = ("subscribe", "subscribePattern", "assign")
_STREAM_ONLY: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_BATCH_ONLY: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")


class View(StrEnum):
    """What a row stands for."""

    RECORDS = "records"
    BATCHES = "batches"
    INDEX = "index"


class IsolationLevel(StrEnum):
    """Whether to read records of aborted and of open transactions."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Compacted(StrEnum):
    """Whether offsets may be missing: true, false, or as the cleaner's checkpoint says."""

    AUTO = "auto"
    TRUE = "true"
    FALSE = "false"


class OnCorrupt(StrEnum):
    """What to do about damage."""

    FAIL = "fail"
    SKIP = "skip"
    REPORT = "report"


class OnNoMatch(StrEnum):
    """What to do if no record reaches the starting timestamp."""

    ERROR = "error"
    LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read; made by parse().

    Attributes:
        path: a log directory, the directory of a partition, or a URI of one of them.
        columns: names in the wanted order, None for all.
        min_partitions: the least number of splits, None for no minimum.
        max_records_per_partition: the most offsets in a split.
        max_split_bytes: approximate size of a split in bytes, None for split_bytes() to choose.
        formats: of the columns that are decoded, by their names.
        counting: what is counted, instead of the rows of the record view; None to read them.
    """

    path: str
    selection: Selection
    starting: OffsetLimit
    ending: OffsetLimit
    on_no_match: OnNoMatch
    include_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    view: View
    columns: tuple[str, ...] | None
    max_split_bytes: int | None
    pushdown: bool
    check_crc: bool
    isolation_level: IsolationLevel
    on_corrupt: OnCorrupt
    compacted: Compacted
    formats: tuple[tuple[str, ColumnFormat], ...] = ()
    counting: Counting | None = None

    @classmethod
    def parse(
        cls, options: Mapping[str, str | None], *, is_stream: bool | None = False
    ) -> "ReadOptions":
        """Parse the options of a batch query or of a stream; names are case-insensitive.

        A stream begins at the latest offset unless an option says otherwise, has no end, and only
        has the record view. With is_stream=None (not known yet) these rules are not checked.

        Raises:
            OptionError: an option is wrong, or two contradict each other.
        """
        given = Given(options, OPTIONS, lambda name: name.startswith(_OF_A_CLIENT))
        path = given.text("path")
        if not path:
            raise OptionError("option path: the log directory is needed, .load(path)")
        parsed = cls(
            path=path,
            selection=_selection(given),
            starting=_limit(given, "starting", Bound.LATEST if is_stream else Bound.EARLIEST),
            ending=_limit(given, "ending", Bound.LATEST),
            on_no_match=given.choice("startingOffsetsByTimestampStrategy", OnNoMatch.ERROR),
            include_headers=given.flag("includeHeaders", False),
            min_partitions=given.count("minPartitions"),
            max_records_per_partition=given.count("maxRecordsPerPartition"),
            fail_on_data_loss=given.flag("failOnDataLoss", True),
            max_offsets_per_trigger=given.count("maxOffsetsPerTrigger"),
            min_offsets_per_trigger=given.count("minOffsetsPerTrigger"),
            max_trigger_delay_ms=given.parsed("maxTriggerDelay", option_values.duration_ms)
            or MAX_TRIGGER_DELAY_MS,
            view=given.choice("view", View.RECORDS),
            columns=given.parsed("columns", option_values.names),
            max_split_bytes=given.parsed("maxSplitBytes", option_values.size_bytes),
            pushdown=given.flag("pushdown", False),
            check_crc=given.flag("checkCrc", True),
            isolation_level=_isolation_level(given),
            on_corrupt=given.choice("onCorrupt", OnCorrupt.FAIL),
            compacted=given.choice("compacted", Compacted.AUTO),
            formats=column_formats(given),
        )
        if parsed.formats and parsed.view is not View.RECORDS:
            raise given.error("view", "only records have keys and values to decode")
        if is_stream:
            _check_stream(given, parsed)
        elif is_stream is not None:
            _check_batch(given, parsed)
        return parsed

    def split_bytes(self, read_bytes: int) -> int:
        """Return the approximate size of a split in bytes.

        A read of many TB has larger splits: each is a task for the driver, and a cut within a
        segment costs it two reads.

        Args:
            read_bytes: the size of all that is read.
        """
        return self.max_split_bytes or max(SPLIT_BYTES, read_bytes // SPLITS_MAX)


def _isolation_level(given: Given) -> IsolationLevel:
    default = given.choice(_CLIENT_ISOLATION, IsolationLevel.READ_UNCOMMITTED)
    return given.choice("isolationLevel", default)


def _selection(given: Given) -> Selection:
    chosen = [name for name in _SELECTIONS if name in given]
    if len(chosen) > 1:
        raise OptionError(f"options {', '.join(chosen)}: only one of them can be given")
    topics = given.parsed("subscribe", option_values.names)
    if topics is not None:
        return Topics(frozenset(topics))
    pattern = given.parsed("subscribePattern", _pattern)
    if pattern is not None:
        return TopicPattern(pattern)
    partitions = given.parsed("assign", parse_assignment)
    return ALL_TOPICS if partitions is None else Assigned(partitions)


def _pattern(text: str) -> re.Pattern[str]:
    if not text:
        raise ValueError("a regular expression is needed")
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error


def _limit(given: Given, side: str, default: Bound) -> OffsetLimit:
    """As in the connector: one timestamp, else timestamps by partition, else offsets."""
    timestamp = given.parsed(f"{side}Timestamp", option_values.timestamp_ms)
    if timestamp is not None:
        return AtTimestamp(timestamp)
    timestamps = given.parsed(f"{side}OffsetsByTimestamp", parse_timestamps)
    if timestamps is not None:
        return timestamps
    offsets = given.parsed(f"{side}Offsets", _offsets)
    return default if offsets is None else offsets


def _offsets(text: str) -> OffsetLimit:
    if text.lower() in ("earliest", "latest"):
        return Bound(text.lower())
    try:
        return parse_offsets(text)
    except ValueError as error:
        raise ValueError(f"earliest or latest are allowed, or JSON: {error}") from error


def _check_stream(given: Given, options: ReadOptions) -> None:
    for name in _BATCH_ONLY:
        if name in given:
            raise given.error(name, "a stream has no end")
    if options.view is not View.RECORDS:
        raise given.error("view", "a stream has records only")
    low, high = options.min_offsets_per_trigger, options.max_offsets_per_trigger
    if low is not None and high is not None and low > high:
        raise given.error("minOffsetsPerTrigger", f"is above maxOffsetsPerTrigger={high}")


def _check_batch(given: Given, options: ReadOptions) -> None:
    for name in _STREAM_ONLY:
        if name in given:
            logger.warning("option without meaning for a batch query name=%s", name)
    if options.starting is Bound.LATEST or _has(options.starting, LATEST_OFFSET):
        raise given.error("startingOffsets", "a batch query cannot begin at latest")
    if options.ending is Bound.EARLIEST or _has(options.ending, EARLIEST_OFFSET):
        raise given.error("endingOffsets", "a batch query cannot end at earliest")
    _check_order(options.starting, options.ending)


def _has(limit: OffsetLimit, offset: int) -> bool:
    return isinstance(limit, AtOffsets) and offset in limit.offsets.values()


def _check_order(starting: OffsetLimit, ending: OffsetLimit) -> None:
    if isinstance(starting, AtOffsets) and isinstance(ending, AtOffsets):
        _check_pairs("Offsets", starting.offsets, ending.offsets)
    elif isinstance(starting, AtTimestamps) and isinstance(ending, AtTimestamps):
        _check_pairs("OffsetsByTimestamp", starting.timestamps_ms, ending.timestamps_ms)


def _check_pairs(
    name: str, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> None:
    if starts.keys() != ends.keys():
        topic, partition = min(starts.keys() ^ ends.keys())
        raise OptionError(
            f"options starting{name}, ending{name}: only one of them has {topic}-{partition}"
        )
    for (topic, partition), start in starts.items():
        end = ends[topic, partition]
        if start > end >= 0:
            raise OptionError(
                f"options starting{name}, ending{name}:"
                f" {topic}-{partition} would begin at {start}, behind its end {end}"
            )

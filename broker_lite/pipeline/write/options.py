"""The options of a write, parsed once on the driver."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from broker_lite.log.files.names import parse_partition_directory, partition_directory
from broker_lite.pipeline.read.option_values import Given, size_bytes
from broker_lite.pipeline.write.encode import BATCH_BYTES
from broker_lite.pipeline.write.log_writer import SEGMENT_BYTES
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.codecs.compression import Codec

_NAMES: Final = (
    "path",
    "topic",
    "partitions",
    "compression",
    "batchBytes",
    "segmentBytes",
    "baseOffset",
    "timestampType",
    "keepOffsets",
    "keepBatches",
    "sync",
)
_SIZE_MAX: Final = (1 << 31) - 1
_OFFSET_MAX: Final = (1 << 63) - 1


class TimestampType(StrEnum):
    """Whether to use the timestamps of the rows or the time of the write.

    See: R-13 (TimestampType).
    """

    CREATE_TIME = "createtime"
    LOG_APPEND_TIME = "logappendtime"


class Compression(StrEnum):
    """The codecs, by Kafka's names for compression.type."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"

    @property
    def codec(self) -> Codec:
        """The codec of this name."""
        return Codec[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of a write; made by parse().

    Attributes:
        path: the log directory, or its URI.
        topic: of all rows, also if they have a column topic; None uses the column.
        partitions: partitions per topic, for rows without a partition; None means the existing
            ones.
        base_offset: where empty logs begin.
        is_compressed_anew: the codec was given, so kept batches get it, too.
        keep_offsets: rows keep the offset of their column.
        keep_batches: rows with a header in the column `batch` begin a batch that keeps it.
        sync: fsync before the segments become visible.
    """

    path: str
    topic: str | None = None
    partitions: int | None = None
    compression: Compression = Compression.NONE
    is_compressed_anew: bool = False
    batch_bytes: int = BATCH_BYTES
    segment_bytes: int = SEGMENT_BYTES
    base_offset: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    keep_offsets: bool = False
    keep_batches: bool = False
    sync: bool = True

    @classmethod
    def parse(cls, options: Mapping[str, str | None]) -> "WriteOptions":
        """Parse the options of a write; names are case-insensitive.

        Raises:
            OptionError: an option is unknown, has a wrong value, or contradicts another one.
        """
        given = Given(options, _NAMES)
        path = given.text("path")
        if not path:
            raise given.error("path", "the log directory to write to must be given")
        if "baseOffset" in given and given.flag("keepOffsets", False):
            raise given.error("baseOffset", "keepOffsets=true already decides where the log begins")
        if given.flag("keepBatches", False) and not given.flag("keepOffsets", False):
            raise given.error("keepBatches", "batches have offsets, so it needs keepOffsets=true")
        return cls(
            path=path,
            topic=given.parsed("topic", topic_name),
            partitions=given.count("partitions"),
            compression=given.choice("compression", Compression.NONE),
            is_compressed_anew="compression" in given,
            batch_bytes=given.parsed("batchBytes", _batch_size) or BATCH_BYTES,
            segment_bytes=given.parsed("segmentBytes", _segment_size) or SEGMENT_BYTES,
            base_offset=given.parsed("baseOffset", _offset),
            timestamp_type=given.choice("timestampType", TimestampType.CREATE_TIME),
            keep_offsets=given.flag("keepOffsets", False),
            keep_batches=given.flag("keepBatches", False),
            sync=given.flag("sync", True),
        )


def topic_name(text: str) -> str:
    """Check the name of a topic.

    Raises:
        ValueError: the text says what is allowed.

    See: S-02 (Topic.validate).
    """
    if text in (".", "..") or parse_partition_directory(partition_directory(text, 0)) != (text, 0):
        raise ValueError("1 to 249 letters, digits, dots, underscores and hyphens are allowed")
    return text


def _batch_size(text: str) -> int:
    size = size_bytes(text)
    if not RECORD_BATCH_OVERHEAD < size <= _SIZE_MAX:
        raise ValueError(f"a size from {RECORD_BATCH_OVERHEAD + 1} to {_SIZE_MAX} is allowed")
    return size


def _segment_size(text: str) -> int:
    size = size_bytes(text)
    if size > _SIZE_MAX:
        raise ValueError(f"a size up to {_SIZE_MAX} is allowed")
    return size


def _offset(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _OFFSET_MAX:
        raise ValueError("an offset, 0 or more, is allowed")
    return int(text)

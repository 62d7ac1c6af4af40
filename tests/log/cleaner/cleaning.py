"""Logs that are cleaned in tests, step by step in one thread, and what is left of them."""

import os
from collections.abc import Iterable
from pathlib import Path

from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.cleaning import Cleaning
from broker_lite.log.cleaner.eligibility import find_cleanable
from broker_lite.log.cleaner.offset_map import MapLimits
from broker_lite.log.cleaner.pace import Pace
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.removal import SegmentRemoval
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from tests.log.logs import FOREVER_MS, NOW_MS, T0, batches_of, open_log, validated

KEY = ("topic", 0)
LIMITS = MapLimits(1 << 20, 0.9)
UNLIMITED = float("inf")
RETENTION_MS = 5000

Pair = tuple[str | None, str | None]
Producer = tuple[int, int, int]
NO_PRODUCER = (-1, -1, -1)


def config(**changed: object) -> LogConfig:
    given = {
        "segment_ms": FOREVER_MS,
        "cleanup_delete": False,
        "cleanup_compact": True,
        "min_cleanable_dirty_ratio": 0.0,
        "delete_retention_ms": RETENTION_MS,
        **changed,
    }
    return LogConfig(**given)  # type: ignore[arg-type]


def text(data: str | None) -> bytes | None:
    return None if data is None else data.encode()


class CleanedLog:
    """A log on disk with the cleaner of its directory; time goes on only when it is told to."""

    def __init__(self, data_dir: Path, settings: LogConfig | None = None) -> None:
        self.data_dir = data_dir
        data_dir.mkdir(exist_ok=True)
        self.directory = data_dir / "topic-0"
        self.now_ms = NOW_MS
        self.cache = FileCache()
        self.settings = settings if settings is not None else config()
        self.log = open_log(self.directory, self.settings, cache=self.cache)
        self.partition = Partition(self.settings)
        self.partition.log = self.log
        self.partitions = {KEY: self.partition}
        self.removal = SegmentRemoval(self.cache, lambda: self.now_ms)
        self.cleaner = self.new_cleaner()

    def new_cleaner(self) -> Cleaner:
        return Cleaner(
            self.data_dir,
            self.partitions,
            self.removal,
            load=lambda topic, partition: self.log,
            now_ms=lambda: self.now_ms,
        )

    def append(
        self,
        *pairs: Pair,
        producer: Producer = NO_PRODUCER,
        transactional: bool = False,
        codec: int = 0,
        timestamp: int = T0,
    ) -> int:
        builder = BatchBuilder(
            codec=codec,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=producer[2],
            is_transactional=transactional,
        )
        for key, value in pairs:
            builder.append(timestamp, text(key), text(value))
        return self.log.append(validated(builder.build()), now_ms=self.now_ms).base_offset

    def roll(self) -> None:
        self.log.roll(self.now_ms)

    def begin(self, limits: MapLimits = LIMITS) -> Cleaning:
        found = find_cleanable(self.log, self.cleaner.checkpoint.get(KEY), self.now_ms)
        return self.cleaner.begin(found, limits, Pace(UNLIMITED, lambda: 0))

    def clean(self, limits: MapLimits = LIMITS) -> int:
        """Clean it once, and give the first dirty offset of the next time."""
        cleaning = self.begin(limits)
        try:
            cleaning.gather()
            while (cleaned := cleaning.rewrite_next()) is not None:
                self.cleaner.swap(cleaning, cleaned)
        finally:
            self.cleaner.done(cleaning)
        return cleaning.round_end

    def batches(self) -> list[RecordBatch]:
        return [view(data) for data in self.batch_bytes()]

    def batch_bytes(self) -> list[bytes]:
        found = []
        for segment in self.log.segments.all:
            found += batches_of(Path(segment.path).read_bytes())
        return found

    def records(self) -> list[tuple[int, str | None, str | None]]:
        return records_of(self.batches())

    def files(self) -> list[str]:
        return sorted(os.listdir(self.directory))

    def reopened(self) -> Log:
        """What another process makes of the directory after a crash."""
        return open_log(self.directory, self.settings, clean=False)


def view(data: bytes) -> RecordBatch:
    return RecordBatch(memoryview(bytearray(data)), 0, len(data))


def records_of(batches: Iterable[RecordBatch]) -> list[tuple[int, str | None, str | None]]:
    return [
        (
            record.offset,
            None if record.key is None else record.key.decode(),
            None if record.value is None else record.value.decode(),
        )
        for batch in batches
        if not batch.is_control
        for record in iterate_records(batch)
    ]

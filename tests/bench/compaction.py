"""How fast logs are compacted, beside Apache Kafka's own cleaner on the same files.

    python -m tests.bench.compaction [--megabytes 256] [--kafka]

CPU is that of this process, of both passes and the swap; a MB is 10^6 bytes of segments. Kafka's is
that of its process while it cleans a copy of the same log, its first, just after its start.
"""

import argparse
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.eligibility import find_cleanable
from broker_lite.log.cleaner.offset_map import MapLimits
from broker_lite.log.cleaner.pace import Pace
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.log.removal import SegmentRemoval
from broker_lite.record import implementations
from broker_lite.record.builder import BatchBuilder

KEY: Final = ("t", 0)
LIMITS: Final = MapLimits(134_217_728, 0.9)
CONFIG: Final = LogConfig(
    segment_bytes=64 << 20,
    cleanup_delete=False,
    cleanup_compact=True,
    min_cleanable_dirty_ratio=0.0,
)


class Case(NamedTuple):
    """What a log is made of."""

    name: str
    record_bytes: int
    batch_records: int
    keys: int
    codec: int = 0


CASES: Final = (
    Case("100 B, batches of 150, 200,000 keys", 100, 150, 200_000),
    Case("100 B, batches of 150, each key once", 100, 150, 0),
    Case("100 B, batches of 150, 10 keys", 100, 150, 10),
    Case("100 B, batches of 1, 200,000 keys", 100, 1, 200_000),
    Case("100 B, batches of 150, 200,000 keys, lz4", 100, 150, 200_000, 3),
    Case("1 KB, batches of 16, 200,000 keys", 1000, 16, 200_000),
)


def make(directory: Path, case: Case, size_bytes: int) -> Log:
    """Write a log, with a new segment at its end."""
    directory.mkdir(parents=True)
    log = load_log(LoadRequest(*KEY, str(directory), CONFIG), FileCache(), now_ms=0)
    log.become_leader(0)
    draw, number = random.Random(1), 0
    value = draw.randbytes(case.record_bytes)
    while log.segments.size_bytes < size_bytes:
        builder = BatchBuilder(codec=case.codec)
        for _ in range(case.batch_records):
            number += 1
            key = b"%012d" % (draw.randrange(case.keys) if case.keys else number)
            builder.append(1_700_000_000_000 + number, key, value[: case.record_bytes - 20])
        log.append_batch(builder.build(), now_ms=0)
    log.roll(0)
    return log


def clean(log: Log) -> tuple[float, float]:
    """Clean it; give the seconds of this process and of the clock."""
    partition = Partition(CONFIG)
    partition.log = log
    removal = SegmentRemoval(log.segments.cache, lambda: 0)
    directory = Path(log.directory).parent
    cleaner = Cleaner(directory, {KEY: partition}, removal, load=lambda *_: log, now_ms=lambda: 0)
    before = time.process_time(), time.perf_counter()
    found = find_cleanable(log, None, 0)
    cleaning = cleaner.begin(found, LIMITS, Pace(float("inf"), lambda: 0))
    cleaning.gather()
    while (cleaned := cleaning.rewrite_next()) is not None:
        cleaner.swap(cleaning, cleaned)
    cleaner.done(cleaning)
    return time.process_time() - before[0], time.perf_counter() - before[1]


def of_kafka(log_directory: Path, folder: Path) -> tuple[float, float]:
    """Have a Kafka clean a copy of a log; give the seconds of its process and of the clock."""
    from tests.differential.compaction_kafka import CleaningKafka
    from tests.differential.compaction_logs import Plan
    from tests.support.reference_kafka import ReferenceKafka

    settings = {"log.cleaner.backoff.ms": "100"}
    plan = Plan(KEY[0], {"cleanup.policy": "delete", "retention.ms": "-1"}, [], [])
    with ReferenceKafka(folder, settings=settings) as kafka:
        client = CleaningKafka(kafka)
        client.create([plan])
        client.close()
    target = folder / "log" / "t-0"
    for path in target.glob("0*"):
        path.unlink()
    for path in log_directory.iterdir():
        if path.suffix in {".log", ".index", ".timeindex", ".snapshot"}:
            shutil.copy(path, target)
    (folder / "log" / ".kafka_cleanshutdown").unlink(missing_ok=True)
    with ReferenceKafka(folder, settings=settings) as kafka:
        client = CleaningKafka(kafka)
        end = max(int(path.stem) for path in target.glob("*.log"))
        process = psutil.Process(kafka.pid)
        before_s, begun_s = sum(process.cpu_times()[:2]), time.perf_counter()
        client.configure(["t"], cleanup_policy="compact", min_cleanable_dirty_ratio="0.0")
        late = client.wait_until_cleaned({"t": end})
        wall_s = time.perf_counter() - begun_s
        cpu_s = sum(process.cpu_times()[:2]) - before_s
        client.close()
    return cpu_s, wall_s if not late else float("inf")


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--kafka", action="store_true", help="the first case by a Kafka, too")
    given = parser.parse_args()
    print(implementations())
    print(f"{'case':44} {'MB':>6} {'left':>6} {'CPU s':>6} {'wall s':>6} {'MB/CPU s':>8}")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            log = make(Path(folder, "data", "t-0"), case, given.megabytes * 1_000_000)
            size = log.segments.size_bytes / 1e6
            rows = []
            if given.kafka and case is CASES[0]:
                seconds = of_kafka(Path(log.directory), Path(folder, "kafka"))
                rows.append((f"Kafka: {case.name}", *seconds))
            rows.append((case.name, *clean(log)))
            for name, cpu_s, wall_s in rows:
                left = f"{size:6.0f} {log.segments.size_bytes / 1e6:6.0f}"
                print(f"{name:44} {left} {cpu_s:6.2f} {wall_s:6.2f} {size / cpu_s:8.0f}")


if __name__ == "__main__":
    main()

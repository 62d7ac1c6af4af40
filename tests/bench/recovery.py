"""How fast a start is: recovery after a kill next to Kafka's own, and a clean one of 1,000 logs.

    python -m tests.bench.recovery [--gb 2] [--partitions 1000] [--dir DIR]

The log is in the page cache. Kafka's figure is that of its own log code in a warm process of its
own, without the rest of a start; both check every checksum. The best of three rounds in turns.
"""

import argparse
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.settings import Given, Settings
from tests.differential.loaded_log import KafkaLoader, Start, kafka_loader
from tests.support.broker_process import BrokerProcess

GB = 1_000_000_000
ROUNDS = 3
RECOVERY_GB_PER_S_MIN = 1.0
CLEAN_START_S_MAX = 2.0
BATCHES = {"1 MB": (1000, 1036), "16 KB": (150, 99), "1 KB": (10, 88)}


class Figures(NamedTuple):
    """The best round of one side; CPU is the process's, -1 where it is not known."""

    gb_per_s: float
    cpu_gb_per_s: float


def write_log(directory: Path, size_bytes: int, shape: tuple[int, int]) -> int:
    """Write a log of like batches, as a broker that was killed leaves it; give its size."""
    directory.mkdir()
    config = LogConfig(segment_ms=1 << 62)
    log = load_log(LoadRequest("bench", 0, str(directory), config), FileCache(), now_ms=0)
    records, value_bytes = shape
    builder = BatchBuilder()
    for index in range(records):
        builder.append(timestamp=1_700_000_000_000 + index, key=None, value=os.urandom(value_bytes))
    batch = bytearray(builder.build())
    for _ in range(size_bytes // len(batch)):
        log.append_batch(batch, now_ms=0)
    return log.segments.size_bytes


def recover_ours(directory: Path) -> float:
    """Recover a log in this process and give the processor's seconds."""
    begun = time.process_time()
    request = LoadRequest("bench", 0, str(directory), LogConfig(), is_clean=False)
    load_log(request, FileCache(), now_ms=0)
    return time.process_time() - begun


def compare_recovery(folder: Path, size_bytes: int, kafka: KafkaLoader) -> bool:
    """Print a line for each size of batch; tell whether the bounds are kept."""
    is_fast = True
    for name, shape in BATCHES.items():
        directory = folder / "bench-0"
        written = write_log(directory, size_bytes if name == "1 MB" else size_bytes // 4, shape)
        ours, theirs = Figures(0, 0), 0.0
        for _ in range(ROUNDS):
            wall, cpu = _timed(partial(recover_ours, directory))
            ours = max(ours, Figures(written / wall / GB, written / cpu / GB))
            wall, _ = _timed(partial(_recover_kafka, kafka, directory))
            theirs = max(theirs, written / wall / GB)
        print(
            f"recovery of {written / GB:.1f} GB in batches of {name}: broker-lite"
            f" {ours.gb_per_s:.2f} GB/s, {ours.cpu_gb_per_s:.2f} GB per second of processor;"
            f" Kafka {theirs:.2f} GB/s; {ours.gb_per_s / theirs:.1f} times Kafka"
        )
        if name == "1 MB":
            is_fast = ours.cpu_gb_per_s >= RECOVERY_GB_PER_S_MIN and ours.gb_per_s >= theirs
        shutil.rmtree(directory)
    return is_fast


def _recover_kafka(kafka: KafkaLoader, directory: Path) -> float:
    outcome = kafka.load({directory: Start(is_clean=False, recovery_point=0)}, content=False)
    assert not outcome[directory].failure, outcome
    return 0.0


def _timed(run: Callable[[], float]) -> tuple[float, float]:
    begun = time.perf_counter()
    inner = run()
    return time.perf_counter() - begun, inner


def clean_start_s(folder: Path, partitions: int) -> float:
    """Give how long a start takes, process and all, until all partitions can be read."""
    data_dir = folder / "data"
    settings = Settings({"num.partitions": Given(str(partitions), "bench")})
    cluster = Cluster.open(settings, data_dir, Clock())
    cluster.create_topic("bench")
    builder = BatchBuilder()
    builder.append(timestamp=1_700_000_000_000, key=None, value=b"value")
    for partition in range(partitions):
        cluster.log("bench", partition).append_batch(builder.build(), now_ms=0)
    cluster.close()
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        with BrokerProcess(data_dir):
            best = min(best, time.perf_counter() - begun)
    return best


def main() -> int:
    """Run from the command line; 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="recovery-", dir=options.dir) as name:
        folder = Path(name)
        with kafka_loader("segment.index.bytes=10485760", is_for_long=True) as kafka:
            is_fast = compare_recovery(folder, int(options.gb * GB), kafka)
        elapsed_s = clean_start_s(folder, options.partitions)
        print(f"clean start with {options.partitions} partitions: {elapsed_s:.2f} s")
    return 0 if is_fast and elapsed_s <= CLEAN_START_S_MAX else 1


if __name__ == "__main__":
    raise SystemExit(main())

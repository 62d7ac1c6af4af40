"""Exports of a growing log whose driver is killed in the midst, again and again.

    python -m tests.pipeline.spark.lake.kills --format delta --seed 1 --kills 5

Before each export the log grows, may lose to retention what the table has, and may get a new topic.
Each driver is killed at a moment that the seed chooses: while Spark writes, when all is written and
nothing is committed, or after the commit. In the end a driver may finish, and the table has to have
every record of the log once: neither it nor a second log, which is written alike and loses nothing,
has a row that the other one has not.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.export import records_of
from broker_lite.pipeline.spark.jobs.export_lake import export_lake
from broker_lite.pipeline.spark.jobs.exported import read_export
from broker_lite.pipeline.spark.lake.formats import open_or_create_table
from broker_lite.pipeline.spark.running import running
from tests.pipeline.stream_support import delete_segments_below
from tests.pipeline.support import Partition, numbered

TIMEOUT_S: Final = 240
STEP_S: Final = 0.001
BATCHES: Final = 40
BATCH_RECORDS: Final = 250
SEGMENT_BYTES: Final = 100_000
_COMMITS: Final = {"delta": "_delta_log/*.json", "iceberg": "metadata/snap-*.avro"}


class Kills:
    """A log, its table, and who kills the exports.

    Args:
        folder: an empty folder.
        table_format: delta or iceberg.
        seed: the same seed makes the same log and the same choices.

    Attributes:
        moments: at which drivers were killed.
    """

    def __init__(self, folder: Path, table_format: str, seed: int) -> None:
        self.log, self.target = folder / "log", folder / "table"
        self._whole = folder / "whole"
        self.moments: list[str] = []
        self._format, self._random = table_format, random.Random(seed)
        self._written = 0
        self._partitions = [("orders", 0), ("orders", 1)]

    def grow(self) -> None:
        """Append to all partitions; delete what the table has; at times make a topic."""
        if self._random.random() < 0.5:
            self._partitions.append((f"topic.{len(self._partitions)}", 0))
        done = open_or_create_table(str(self.target), self._format).offsets(self._partitions)
        for topic, number in self._partitions:
            for root in (self.log, self._whole):
                with Partition(root, topic, number, segment_bytes=SEGMENT_BYTES) as partition:
                    for _ in range(BATCHES):
                        first = partition.log.log_end_offset
                        partition.append(numbered(BATCH_RECORDS, first=first), codec=4)
            self._written += BATCHES * BATCH_RECORDS
            if self._random.random() < 0.5:
                directory = self.log / f"{topic}-{number}"
                delete_segments_below(directory, done.get((topic, number), 0))

    def kill_one(self) -> None:
        """Start an export, and kill it at a moment that the seed chooses."""
        moments: dict[str, Callable[[], bool]] = {
            "while Spark writes": lambda: self._count("data/*/_temporary/**/*.parquet") > 0,
            "before the commit": self._has_grown("data/*/_SUCCESS"),
            "after the commit": self._has_grown(_COMMITS[self._format]),
        }
        self.moments.append(self._random.choice(sorted(moments)))
        is_due = moments[self.moments[-1]]
        driver = self._start()
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not is_due() and driver.poll() is None:
                assert time.monotonic() < deadline, self.moments[-1]
                time.sleep(STEP_S)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()

    def finish(self) -> None:
        """Let an export come to its end."""
        driver = self._start()
        try:
            assert driver.wait(TIMEOUT_S) == 0
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)

    def check(self, spark: SparkSession) -> int:
        """Compare the records of the table with all that the log ever had; return how many.

        Raises:
            AssertionError: a record is missing, is there twice, or is another one.
        """
        table = read_export(spark, str(self.target), self._format)
        whole = records_of(spark, str(self._whole))
        assert (missing := whole.exceptAll(table).count()) == 0, f"{missing} missing"
        assert (strange := table.exceptAll(whole).count()) == 0, f"{strange} doubled or others"
        assert table.count() == self._written
        return self._written

    def _start(self) -> subprocess.Popen[bytes]:
        module = ["-m", "tests.pipeline.spark.lake.kills", "--export", str(self.log)]
        command = [sys.executable, *module, "--target", str(self.target), "--format", self._format]
        return subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)

    def _count(self, pattern: str) -> int:
        return sum(1 for _ in self.target.glob(pattern))

    def _has_grown(self, pattern: str) -> Callable[[], bool]:
        before = self._count(pattern)
        return lambda: self._count(pattern) > before


def run(folder: Path, table_format: str, seed: int, kills: int) -> Kills:
    """Kill so many exports, then let one finish."""
    lake = Kills(folder, table_format, seed)
    for _ in range(kills):
        lake.grow()
        lake.kill_one()
    lake.grow()
    lake.finish()
    return lake


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=sorted(_COMMITS), required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--export", help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export:
        with running(master="local[2]", quick_start=True, is_quiet=True) as spark:
            export_lake(spark, options.export, options.target, table_format=options.format)
        return
    with tempfile.TemporaryDirectory() as folder:
        lake = run(Path(folder), options.format, options.seed, options.kills)
        conf = {"spark.ui.showConsoleProgress": "false"}
        with running(master="local[2]", conf=conf, quick_start=True, is_quiet=True) as spark:
            records = lake.check(spark)
        print(f"{options.format}, seed {options.seed}: {records} records, each once")
        for moment in lake.moments:
            print(f"  killed {moment}")


if __name__ == "__main__":
    _main()

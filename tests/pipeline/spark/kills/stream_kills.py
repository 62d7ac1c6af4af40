"""A stream over growing segments whose driver is killed in the midst, again and again.

    python -m tests.pipeline.spark.kills.stream_kills --seed 1 --kills 5

Before and during each life of the driver the log grows, rolls segments and gets partitions. The
seed chooses when the driver dies: when a trigger is planned, when its rows are written and nothing
is committed, or after the commit. The sink is a `foreachBatch` that writes one file for each id of
a batch. In the end it has to have every record once, and those of each partition in their order,
batch by batch.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from broker_lite.pipeline.spark.running import running
from broker_lite.pipeline.stream.offsets import from_shape
from tests.pipeline.support import NewRecord, Partition
from tests.support.command import seeded_main
from tests.support.command_line import ROOT

TIMEOUT_S: Final = 240
TOPIC: Final = "followed"
BATCH_RECORDS: Final = 50
SEGMENT_BYTES: Final = 20_000
OFFSETS_PER_TRIGGER: Final = "400"
AHEAD: Final = 2000
"""How many records the log has that the stream has not; then the log waits."""
BATCHES_MAX: Final = 4
"""A driver is left to finish so many batches before it may die, at most."""

_STEP_S: Final = 0.005
_CONF: Final = {"spark.driver.memory": "1g", "spark.ui.showConsoleProgress": "false"}
_SHOWN: Final = 5


class Row(NamedTuple):
    """A record in the sink, or as it was written."""

    partition: int
    offset: int
    value: bytes


class StreamKills:
    """A log, the stream that follows it, and who kills its driver.

    Args:
        folder: an empty folder.
        seed: the same seed makes the same log and the same choices.

    Attributes:
        moments: at which drivers were killed.
        written: all records of the log.
        faults: what was wrong with the sink.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._logs, self._sink = folder / "logs", folder / "sink"
        self._checkpoint = folder / "checkpoint"
        self._errors = folder / "driver.err"
        self._random = random.Random(seed)
        self._partitions = 1
        self._batch_count = 0
        self._left: list[str] = []
        self.moments: list[str] = []
        self.written: list[Row] = []
        self.faults: list[str] = []

    def summary(self) -> str:
        """The figures of the run."""
        lines = [f"  killed {moment}" for moment in self.moments]
        found = f"{len(self.written)} records, {self._batch_count} batches"
        return "\n".join([f"{found}, {len(self.faults)} faults", *lines])

    def grow(self) -> None:
        """Append a batch to each partition."""
        for number in range(self._partitions):
            with Partition(self._logs, TOPIC, number, segment_bytes=SEGMENT_BYTES) as partition:
                first = partition.log.log_end_offset
                rows = [
                    Row(number, offset, b"%d-%d" % (number, offset))
                    for offset in range(first, first + BATCH_RECORDS)
                ]
                partition.append([NewRecord(b"key", row.value) for row in rows])
                self.written += rows

    def kill_one(self) -> None:
        """Start a driver, and kill it at a moment that the seed chooses."""
        self._partitions += self._random.random() < 0.5
        while self._unread() < AHEAD:
            self.grow()
        moments: dict[str, Callable[[], bool]] = {
            "when a trigger was planned": lambda: self._count("offsets") > self._count("commits"),
            "before the commit": lambda: len(self._batches()) > self._count("commits"),
            "after the commit": lambda: self._count("offsets") == self._count("commits"),
        }
        self._left = self._left or self._random.sample(sorted(moments), len(moments))
        self.moments.append(self._left.pop())
        goal = self._count("commits") + self._random.randint(1, BATCHES_MAX)
        is_due = moments[self.moments[-1]]
        self._live_until(lambda: self._count("commits") >= goal and is_due())

    def finish(self) -> None:
        """Let a driver read the rest of the log."""
        self._live_until(lambda: self._unread() == 0, grows=False)

    def check(self) -> None:
        """Compare the sink with the log, and note the faults."""
        batches = self._batches()
        self._batch_count = len(batches)
        found = [row for batch in batches for row in _rows(batch)]
        for number in range(self._partitions):
            offsets = [row.offset for row in found if row.partition == number]
            wrong = [(one, two) for one, two in pairwise(offsets) if two <= one]
            if wrong:
                self.faults.append(f"{TOPIC}-{number}: not in order: {wrong[:_SHOWN]}")
        doubled = len(found) - len(set(found))
        if doubled:
            self.faults.append(f"{doubled} records are doubled")
        if missing := set(self.written) - set(found):
            self.faults.append(f"{len(missing)} missing: {sorted(missing)[:_SHOWN]}")
        if strange := set(found) - set(self.written):
            self.faults.append(f"{len(strange)} not in the log: {sorted(strange)[:_SHOWN]}")

    def _live_until(self, is_due: Callable[[], bool], *, grows: bool = True) -> None:
        """Run a driver until something is true, then kill it with all that it started."""
        places = ("--logs", str(self._logs), "--sink", str(self._sink))
        module = ["-m", "tests.pipeline.spark.kills.stream_kills", *places]
        with self._errors.open("wb") as errors:
            driver = subprocess.Popen(
                [sys.executable, *module, "--checkpoint", str(self._checkpoint)],
                stdout=errors,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                start_new_session=True,
            )
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while not is_due():
                said = self._errors.read_text("utf-8", "replace")[-3000:]
                if driver.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the driver does not come on:\n{said}")
                if grows and self._unread() < AHEAD:
                    self.grow()
                time.sleep(_STEP_S)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()

    def _unread(self) -> int:
        """How many records of the log no finished batch has."""
        commits = list(_numbered(self._checkpoint / "commits"))
        if not commits:
            return len(self.written)
        lines = (self._checkpoint / "offsets" / str(max(commits))).read_text().splitlines()
        return len(self.written) - sum(from_shape(json.loads(lines[-1])).values())

    def _count(self, kind: str) -> int:
        return max(_numbered(self._checkpoint / kind), default=-1) + 1

    def _batches(self) -> list[Path]:
        """The written batches, in their order."""
        return [self._sink / str(number) for number in sorted(_numbered(self._sink))]


def _numbered(folder: Path) -> Iterator[int]:
    """Yield the numbers of a folder's entries: of a sink, those of batches that are complete."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name.isdecimal() and (path.is_file() or (path / "_SUCCESS").exists()):
            yield int(path.name)


def _rows(batch: Path) -> Iterator[Row]:
    """Yield the rows of a batch, in the order of its files."""
    for path in sorted(batch.glob("part-*.parquet")):
        for row in pq.read_table(path).to_pylist():
            yield Row(row["partition"], row["offset"], row["value"])


def follow(logs: str, sink: str, checkpoint: str) -> None:
    """Run the stream until it is killed."""

    def write(rows: DataFrame, number: int) -> None:
        rows.coalesce(1).write.mode("overwrite").parquet(f"{sink}/{number}")

    with running(master="local[2]", conf=_CONF, quick_start=True, is_quiet=True) as spark:
        reader = spark.readStream.format("kafka_segments").option("subscribe", TOPIC)
        reader = reader.option("maxOffsetsPerTrigger", OFFSETS_PER_TRIGGER)
        rows = reader.option("startingOffsets", "earliest").load(logs)
        writer = rows.writeStream.foreachBatch(write)
        writer.option("checkpointLocation", checkpoint).start().awaitTermination()


def run(seed: int, kills: int, folder: Path) -> StreamKills:
    """Kill so many drivers, then let one come to the end of the log."""
    stream = StreamKills(folder, seed)
    for _ in range(kills):
        stream.kill_one()
    stream.finish()
    stream.check()
    return stream


def _main() -> int:
    parser = argparse.ArgumentParser(add_help=False)
    for name in ("logs", "sink", "checkpoint"):
        parser.add_argument(f"--{name}")
    driver, _ = parser.parse_known_args()
    if driver.logs is None:
        return seeded_main(run, __doc__, count="kills", default=5)
    follow(driver.logs, driver.sink, driver.checkpoint)
    return 0


if __name__ == "__main__":
    sys.exit(_main())

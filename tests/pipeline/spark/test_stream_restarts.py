"""Streams whose driver is killed five times, over logs that change all the while.

One follows segments that are appended, rolled, compacted and deleted, while new partitions and
topics come; the other one follows a running broker by Spark's Kafka connector. What they wrote has
every record once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from broker_lite.pipeline.stream.offsets import from_shape
from tests.pipeline.stream_support import compaction, delete_segments_below
from tests.pipeline.support import NewRecord, Partition
from tests.support.broker_process import BrokerProcess

pytestmark = [pytest.mark.client, pytest.mark.slow]

RESTARTS: Final = 5
TIMEOUT_S: Final = 120
STEP_S: Final = 0.05
SEGMENT_BYTES: Final = 6000
BATCH_RECORDS: Final = 20
RECORDS_PER_LIFE: Final = 500
AHEAD: Final = 1000
"""How many records the logs have that no stream has read; then they wait."""
LIVE: Final = "live"

Place = tuple[str, int, int]


class Driver:
    """A process with both streams; a context manager that kills it with all that it started."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._output = (folder / "driver.out").open("ab")
        module = ["-m", "tests.pipeline.spark.stream_driver"]
        self._process = subprocess.Popen(
            [sys.executable, *module, str(folder), *arguments],
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )

    def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Ask until something is true, as long as the process lives."""
        deadline = time.monotonic() + TIMEOUT_S
        while not is_true():
            said = Path(self._output.name).read_text(errors="replace")[-5000:]
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(STEP_S)

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *error: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._output.close()


class ChangingLogs:
    """A log directory with everything that happens to one.

    Attributes:
        written: the values of all records by their place.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: dict[Place, str] = {}
        self._turns = count(1)
        self._partitions = [("followed", 0)]
        root.mkdir()

    def add(self, topic: str, partition: int) -> None:
        """Let there be one more partition from the next turn on."""
        self._partitions.append((topic, partition))

    def change(self, committed: dict[tuple[str, int], int]) -> None:
        """Append to all partitions; at times compact them, or delete what the stream has read."""
        turn = next(self._turns)
        for topic, number in self._partitions:
            with Partition(self.root, topic, number, segment_bytes=SEGMENT_BYTES) as partition:
                self._append(partition)
            if turn % 3 == 0:
                directory = self.root / f"{topic}-{number}"
                delete_segments_below(directory, committed.get((topic, number), 0))
        if turn % 4 == 0:
            most = 3 * SEGMENT_BYTES
            for step in compaction(self.root, survives, tag=f"turn-{turn}", segment_bytes=most):
                step()

    def _append(self, partition: Partition) -> None:
        first = partition.log.log_end_offset
        name = f"{partition.topic}-{partition.partition}"
        values = {offset: f"{name}-{offset}" for offset in range(first, first + BATCH_RECORDS)}
        partition.append([NewRecord(b"key", value.encode()) for value in values.values()])
        for offset, value in values.items():
            self.written[partition.topic, partition.partition, offset] = value


def survives(offset: int) -> bool:
    """Whether compaction leaves a record."""
    return offset % 5 != 3


def committed_offsets(folder: Path) -> dict[tuple[str, int], int]:
    """Up to where a query is done, by its checkpoint."""
    commits = folder / "checkpoint" / "commits"
    done = [int(path.name) for path in commits.glob("[0-9]*")] if commits.exists() else []
    if not done:
        return {}
    lines = (folder / "checkpoint" / "offsets" / str(max(done))).read_text().splitlines()
    return from_shape(json.loads(lines[-1]))


def total(folder: Path) -> int:
    """How many offsets a query is done with."""
    return sum(committed_offsets(folder).values())


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker with an empty topic."""
    with BrokerProcess(tmp_path / "broker") as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(LIVE, 2, 1)])[LIVE].result(TIMEOUT_S)
        yield broker


def test_nothing_is_lost_and_nothing_doubled(
    spark: SparkSession, connector_jars: list[Path], broker: BrokerProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    folder.mkdir()
    segments, live = folder / "segments", folder / "live"
    logs = ChangingLogs(tmp_path / "logs")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    produced: list[str] = []

    def change() -> None:
        logs.change(committed_offsets(segments))
        for _ in range(BATCH_RECORDS):
            produced.append(f"{LIVE}-{len(produced)}")
            producer.produce(LIVE, produced[-1], partition=len(produced) % 2)
        producer.flush(TIMEOUT_S)

    arguments = (str(logs.root), broker.bootstrap, ",".join(map(str, connector_jars)))
    change()
    for life in range(RESTARTS):
        goals = {query: total(query) + RECORDS_PER_LIFE for query in (segments, live)}

        def is_far_enough(goals: dict[Path, int] = goals) -> bool:
            unread = (len(logs.written) - total(segments), len(produced) - total(live))
            if max(unread) < AHEAD:
                change()
            return all(total(query) >= goal for query, goal in goals.items())

        with Driver(folder, *arguments) as driver:
            driver.wait_until(is_far_enough)
        logs.add(*(("followed", life + 1) if life % 2 == 0 else (f"followed-{life}", 0)))
        for _ in range(8):  # while nobody looks
            change()

    ends = Counter((topic, number) for topic, number, _ in logs.written)
    with Driver(folder, *arguments) as driver:
        driver.wait_until(lambda: committed_offsets(segments) == ends)
        driver.wait_until(lambda: total(live) == len(produced))

    rows = spark.read.parquet(str(segments / "rows")).collect()
    found = {(row.topic, row.partition, row.offset): row.value.decode() for row in rows}
    assert len(found) == len(rows), "doubled"
    assert found.items() <= logs.written.items()
    assert not {place for place in logs.written.keys() - found.keys() if survives(place[2])}
    assert len(found) < len(logs.written), "no record was compacted before it was read"
    first_bases = [min(path.glob("*.log")).stem for path in logs.root.iterdir()]
    assert any(map(int, first_bases)), "nothing was deleted"
    values = [row.value.decode() for row in spark.read.parquet(str(live / "rows")).collect()]
    assert sorted(values) == sorted(produced)

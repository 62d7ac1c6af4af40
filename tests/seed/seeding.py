"""A cluster without a server that topics and records are put into, and what is in it then."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio

from broker_lite import seed
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.log.read import read_log
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records
from broker_lite.seed.fields import Headers
from broker_lite.settings import Given, Settings

NOW_MS = 1_700_000_000_000


class Stored(NamedTuple):
    """A record as it is in a log."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int = NOW_MS
    headers: Headers = ()


class Seeding:
    """The cluster of one data directory; keywords are settings, in snake case."""

    def __init__(self, data_dir: Path, **texts: str) -> None:
        given = {name.replace("_", "."): Given(text, "--set") for name, text in texts.items()}
        self.clock = Clock.standing_still(NOW_MS)
        self.cluster = Cluster.open(Settings(given), data_dir, self.clock)
        self._is_open = True

    def apply(self, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Do what the settings ask for."""
        return anyio.run(seed.apply, self.cluster, self.clock, is_stopping)

    def close(self) -> None:
        """End it, so that the directory can be opened anew."""
        if self._is_open:
            self._is_open = False
            self.cluster.close(sync=False)

    def topics(self) -> dict[str, int]:
        """All topics and how many partitions they have."""
        return {topic.name: topic.partition_count for topic in self.cluster.topics.values()}

    def batches(self, topic: str, partition: int = 0) -> list[RecordBatch]:
        """All batches of a partition."""
        log = self.cluster.log(topic, partition)
        found: list[RecordBatch] = []
        offset = 0
        while offset < log.log_end_offset:
            part = read_log(log, offset, max_bytes=1).slice
            assert part is not None
            data = memoryview(bytearray(part.size_bytes))
            with open(part.fd, "rb", closefd=False) as file:
                file.seek(part.position)
                file.readinto(data)
            found.append(RecordBatch(data, 0, len(data)))
            offset = found[-1].next_offset
        return found

    def records(self, topic: str, partition: int = 0) -> list[Stored]:
        """All records of a partition."""
        return [
            Stored(one.key, one.value, one.timestamp, tuple(one.headers))
            for batch in self.batches(topic, partition)
            for one in iterate_records(batch)
        ]

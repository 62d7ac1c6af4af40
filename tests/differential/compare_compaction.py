"""The same logs compacted by a real Kafka and by broker-lite: which batches are left of them.

    python -m tests.differential.compare_compaction --seed 1 --logs 200

Kafka is given the logs while it does not clean them. Its directories are copied, and both clean
them, each its own; so both have the same bytes before. Then more is appended to Kafka's, and all of
it goes on a second time, when tombstones and markers of the first time may go.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.eligibility import find_cleanable
from broker_lite.log.cleaner.offset_map import MapLimits
from broker_lite.log.cleaner.pace import Pace
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.checkpoints import format_offsets
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.log.removal import SegmentRemoval
from tests.differential.compaction_kafka import (
    DEDUPE_BYTES,
    LOAD_FACTOR,
    SETTINGS,
    CleaningKafka,
)
from tests.differential.compaction_legacy import make_legacy_plan, write_legacy_log
from tests.differential.compaction_logs import Plan, make_plan
from tests.differential.compaction_outcomes import REASONS, Difference, compare
from tests.support.reference_kafka import ReferenceKafka

LIMITS = MapLimits(DEDUPE_BYTES, LOAD_FACTOR)
ROUNDS_MAX = 50


class Result(NamedTuple):
    """What a run found."""

    logs: int
    batches: int
    listed: Counter[str]
    unlisted: list[Difference]

    def summary(self) -> str:
        lines = [f"{self.logs} logs cleaned twice, {self.batches} batches left"]
        lines += [f"  {count:6} {name}: {REASONS[name]}" for name, count in self.listed.items()]
        lines += [f"  unlisted: {one}" for one in self.unlisted[:50]]
        return "\n".join(lines)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def log_config(plan: Plan) -> LogConfig:
    configs = plan.configs
    return LogConfig(
        segment_bytes=int(configs["internal.segment.bytes"]),
        segment_index_bytes=int(configs["segment.index.bytes"]),
        index_interval_bytes=int(configs["index.interval.bytes"]),
        delete_retention_ms=int(configs["delete.retention.ms"]),
        cleanup_delete=False,
        cleanup_compact=True,
        min_cleanable_dirty_ratio=0.0,
    )


def clean(directory: Path, plan: Plan, checkpoint: int | None) -> tuple[Log, int | None]:
    """Clean a copy of a directory until nothing is left to do; give the next first dirty offset."""
    key, cache = (plan.topic, 0), FileCache()
    active = max(int(path.stem) for path in directory.glob("*.log"))
    request = LoadRequest(*key, str(directory), log_config(plan), active, None, False)
    log = load_log(request, cache, now_ms=now_ms())
    partition = Partition(log.config)
    partition.log = log
    if checkpoint is not None:
        text = format_offsets({key: checkpoint})
        (directory.parent / "cleaner-offset-checkpoint").write_text(text)
    cleaner = Cleaner(
        directory.parent,
        {key: partition},
        SegmentRemoval(cache, now_ms),
        load=lambda *_: log,
        now_ms=now_ms,
    )
    for _ in range(ROUNDS_MAX):
        found = find_cleanable(log, cleaner.checkpoint.get(key), now_ms())
        if not found.is_due:
            break
        cleaning = cleaner.begin(found, LIMITS, Pace(float("inf"), lambda: 0))
        cleaning.gather()
        while (cleaned := cleaning.rewrite_next()) is not None:
            cleaner.swap(cleaning, cleaned)
        cleaner.done(cleaning)
    return log, cleaner.checkpoint.get(key)


class Comparison:
    """What was found so far.

    Args:
        kafka: in its only life, or the one in which it has the logs.
        plans: of its topics.
        folder: for the copies.
    """

    def __init__(self, kafka: CleaningKafka, plans: list[Plan], folder: Path) -> None:
        self._kafka = kafka
        self._plans = plans
        self._folder = folder
        self.batches = 0
        self.listed = Counter[str]()
        self.found: list[Difference] = []

    def clean_both(self, phase: str) -> None:
        """Clean copies of all logs, have Kafka clean its own, and compare."""
        topics = [plan.topic for plan in self._plans]
        checkpoint = self._kafka.checkpoint()
        expected, begun_ms = {}, now_ms()
        for plan in self._plans:
            copy = self._copy(phase, plan)
            shutil.copytree(self._kafka.directory(plan.topic), copy)
            _, offset = clean(copy, plan, checkpoint.get((plan.topic, 0)))
            if offset is not None:
                expected[plan.topic] = offset
        self._kafka.configure(topics, cleanup_policy="compact", min_cleanable_dirty_ratio="0.0")
        self.found += [
            Difference(topic, phase, -1, f"checkpoint {offset} is {expected[topic]} here")
            for topic, offset in self._kafka.wait_until_cleaned(expected).items()
        ]
        window = range(begun_ms, now_ms() + 1)
        self._kafka.configure(topics, min_cleanable_dirty_ratio="1.0")
        for plan in self._plans:
            theirs, ours = self._kafka.directory(plan.topic), self._copy(phase, plan)
            count, names, found = compare(theirs, ours, plan, phase, window)
            self.batches += count
            self.listed.update(names)
            self.found += found

    def _copy(self, phase: str, plan: Plan) -> Path:
        return self._folder / phase / plan.topic / f"{plan.topic}-0"


def run(*, seed: int, logs: int, folder: Path, old_logs: int = 0) -> Result:
    """Compare as many logs, and as many of magic 0 and 1, which take a life of Kafka more."""
    plans = [make_plan(seed, number, now_ms()) for number in range(logs)]
    old = [make_legacy_plan(seed, number) for number in range(old_logs)]
    reference = ReferenceKafka(folder / "kafka", settings=SETTINGS, is_short_lived=True)
    if old:
        put_old_logs(reference, old, seed)
    with reference:
        kafka = CleaningKafka(reference)
        kafka.create(plans)
        comparison = Comparison(kafka, [*plans, *old], folder)
        kafka.send({plan.topic: plan.first for plan in plans})
        comparison.clean_both("first")
        kafka.send({plan.topic: plan.second for plan in plans})
        comparison.clean_both("second")
        kafka.close()
    return Result(logs + old_logs, comparison.batches, comparison.listed, comparison.found)


def put_old_logs(reference: ReferenceKafka, plans: list[Plan], seed: int) -> None:
    """Have a Kafka make topics, and put logs into their directories when it is down."""
    with reference:
        kafka = CleaningKafka(reference)
        kafka.create(plans)
        kafka.close()
    for number, plan in enumerate(plans):
        directory = kafka.directory(plan.topic)
        for path in directory.glob("0*"):
            path.unlink()
        write_legacy_log(directory, seed, number, now_ms())
    (reference.log_dir / ".kafka_cleanshutdown").unlink()


def main() -> int:
    """Run, and say what differs; the exit code tells whether it is more than is listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--old-logs", type=int, default=20, help="of magic 0 and 1")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(seed=given.seed, logs=given.logs, old_logs=given.old_logs, folder=Path(folder))
    print(found.summary())
    return 1 if found.unlisted else 0


if __name__ == "__main__":
    sys.exit(main())

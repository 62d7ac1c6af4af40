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

from broker_lite.log.checkpoints import format_offsets
from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.eligibility import find_cleanable
from broker_lite.log.cleaner.offset_map import MapLimits
from broker_lite.log.cleaner.pace import Pace
from broker_lite.log.config import LogConfig
from broker_lite.log.files import FileCache
from broker_lite.log.loading import LoadRequest, load_log
from broker_lite.log.log import Log
from broker_lite.log.partitions import Partition
from broker_lite.log.removal import SegmentRemoval
from tests.differential.compaction_kafka import (
    DEDUPE_BYTES,
    LOAD_FACTOR,
    SETTINGS,
    CleaningKafka,
)
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


def run(*, seed: int, logs: int, folder: Path) -> Result:
    """Compare as many logs, in one life of a Kafka."""
    plans = [make_plan(seed, number, now_ms()) for number in range(logs)]
    topics = [plan.topic for plan in plans]
    found: list[Difference] = []
    batches, listed = 0, Counter[str]()
    with ReferenceKafka(folder / "kafka", settings=SETTINGS) as reference:
        kafka = CleaningKafka(reference)
        kafka.create(plans)
        for name, steps in (
            ("first", [p.first for p in plans]),
            ("second", [p.second for p in plans]),
        ):
            kafka.send(dict(zip(topics, steps, strict=True)))
            checkpoint = kafka.checkpoint()
            expected, begun_ms = {}, now_ms()
            for plan in plans:
                copy = folder / name / plan.topic / f"{plan.topic}-0"
                shutil.copytree(kafka.directory(plan.topic), copy)
                _, offset = clean(copy, plan, checkpoint.get((plan.topic, 0)))
                if offset is not None:
                    expected[plan.topic] = offset
            kafka.configure(topics, cleanup_policy="compact", min_cleanable_dirty_ratio="0.0")
            others = kafka.wait_until_cleaned(expected)
            found += [
                Difference(topic, name, -1, f"checkpoint {offset} is {expected[topic]} here")
                for topic, offset in others.items()
            ]
            window = range(begun_ms, now_ms() + 1)
            kafka.configure(topics, min_cleanable_dirty_ratio="1.0")
            for plan in plans:
                ours = folder / name / plan.topic / f"{plan.topic}-0"
                count, names, others_ = compare(
                    kafka.directory(plan.topic), ours, plan, name, window
                )
                batches += count
                listed.update(names)
                found += others_
        kafka.close()
    return Result(logs, batches, listed, found)


def main() -> int:
    """Run, and say what differs; the exit code tells whether it is more than is listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(seed=given.seed, logs=given.logs, folder=Path(folder))
    print(found.summary())
    return 1 if found.unlisted else 0


if __name__ == "__main__":
    sys.exit(main())

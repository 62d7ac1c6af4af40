"""Send the same seeded produce requests to broker-lite and to a real Kafka, and compare.

    python -m tests.differential.compare_produce --seed 1 --requests 20000

Compared are codes, offsets, times, record errors and texts of every answer, and at the end every
batch that was stored. What differs and is not listed in produce_differences.toml is printed, and
makes the exit code 1.

Rule: V-01 to V-59, V-70 to V-72, V-90, V-91, V-93 (probed against Apache Kafka).
"""

import itertools
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.differential.case import PARTITION_COUNTS, TOPICS, Case
from tests.differential.conditions import CONDITIONS
from tests.differential.outcomes import Broker, Outcome, PartitionOutcome, StoredBatch
from tests.differential.produce_cases import CaseGenerator
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.reference_kafka import ReferenceKafka

DIFFERENCES = Path(__file__).with_name("produce_differences.toml")
TIMEOUT_S = 2.0
SHOWN_BATCHES_MAX = 4
SHOWN_LETTERS_MAX = 400
RECODED = (
    "gzip",
    "snappy",
    "lz4",
    "zstd",
    "uncompressed",
    "zstd-append-time",
    "small-uncompressed",
)


class Listed(NamedTuple):
    """A difference that is known.

    Attributes:
        kind: a prefix of the case's kind.
        kafka: the codes of the answers, those that are equal left out, or closed or silent.
        ours: the same.
        reason: why it is so.
        when: the name of a condition on the case, see conditions.py.
    """

    kind: str
    kafka: str
    ours: str
    reason: str
    when: str


@dataclass(slots=True)
class Comparison:
    """What a run found."""

    requests: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    unlisted: list[str] = field(default_factory=list)
    batches: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> list[str]:
        """What makes a run fail: differences that are not listed."""
        return self.unlisted

    def summary(self) -> str:
        """The figures of the run, a line each."""
        lines = [
            f"{self.requests} requests, {self.batches} stored batches, {self.seconds:.1f} s",
            "answers of Kafka: " + ", ".join(f"{k}: {n}" for k, n in sorted(self.codes.items())),
            *(f"listed: {count} x {reason}" for reason, count in self.listed.items()),
            f"unlisted differences: {len(self.unlisted)}",
        ]
        return "\n".join(lines)


def listed_differences() -> list[Listed]:
    """Read the file of known differences."""
    rows = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
    return [Listed(**row) for row in rows]


def compare(kafka: Broker, ours: Broker, cases: Iterator[Case]) -> Comparison:
    """Run the cases against both brokers, which have the topics of TOPICS, new and empty."""
    found = Comparison()
    known = listed_differences()
    started = time.monotonic()
    for case in cases:
        theirs, mine = kafka.produce(case), ours.produce(case)
        found.requests += 1
        found.codes.update(_words(theirs).split(" "))
        if theirs == mine:
            continue
        reason = next((row.reason for row in known if is_listed(row, case, theirs, mine)), None)
        if reason is None:
            found.unlisted.append(
                f"{case.kind} v{case.version} ({case.note})\n{_both(theirs, mine)}"
            )
        else:
            found.listed[reason] += 1
    for topic in TOPICS:
        for index in range(PARTITION_COUNTS.get(topic, 1)):
            stored = kafka.stored(topic, index), ours.stored(topic, index)
            _compare_stored(found, f"{topic}-{index}", *stored)
    found.seconds = time.monotonic() - started
    return found


def is_listed(row: Listed, case: Case, theirs: Outcome, mine: Outcome) -> bool:
    """Whether a row is about this case and the answers that differ in it."""
    if not isinstance(theirs, str) and not isinstance(mine, str):
        same = {key for key in theirs.keys() & mine.keys() if theirs[key] == mine[key]}
        theirs = {key: theirs[key] for key in theirs.keys() - same}
        mine = {key: mine[key] for key in mine.keys() - same}
    return (
        case.kind.startswith(row.kind)
        and row.kafka == _words(theirs)
        and row.ours == _words(mine)
        and CONDITIONS[row.when](case)
    )


def _words(outcome: Outcome) -> str:
    if isinstance(outcome, str):
        return outcome.replace(" ", "-")
    return " ".join(str(code) for code in sorted({p.error_code for p in outcome.values()})) or "-"


def _both(theirs: Outcome, mine: Outcome) -> str:
    if isinstance(theirs, str) or isinstance(mine, str):
        return f"  kafka {theirs}\n  ours  {mine}"
    lines = []
    for partition in sorted(theirs.keys() | mine.keys()):
        one, other = theirs.get(partition), mine.get(partition)
        if one != other:
            lines.append(f"  {partition}\n    kafka {_short(one)}\n    ours  {_short(other)}")
    return "\n".join(lines)


def _short(outcome: PartitionOutcome | None) -> str:
    return "nothing" if outcome is None else str(tuple(outcome))[:SHOWN_LETTERS_MAX]


def _compare_stored(
    found: Comparison, partition: str, theirs: list[StoredBatch], mine: list[StoredBatch]
) -> None:
    topic = partition.rpartition("-")[0]
    if len(theirs) != len(mine):
        found.unlisted.append(f"{partition}: {len(theirs)} batches in Kafka, {len(mine)} in ours")
    different = 0
    for index, (one, other) in enumerate(zip(theirs, mine, strict=False)):
        found.batches += 1
        same_payload = one.payload == other.payload or topic in RECODED
        if one.header == other.header and one.records == other.records and same_payload:
            continue
        different += 1
        if different <= SHOWN_BATCHES_MAX:
            found.unlisted.append(f"{partition}, batch {index}\n{_excerpts(one, other)}")
    if different > SHOWN_BATCHES_MAX:
        found.unlisted.append(f"{partition}: {different} batches differ")


def _excerpts(one: StoredBatch, other: StoredBatch) -> str:
    """The headers, and the records from shortly before their first difference on."""
    pairs = zip(one.records, other.records, strict=False)
    common = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
    start = max(0, common - 20)
    lines = [f"  records differ at {common}, of {len(one.records)} and {len(other.records)} bytes"]
    for name, batch in (("kafka", one), ("ours ", other)):
        lines.append(f"  {name} {batch.header} {batch.records[start : start + 80].hex()}")
    return "\n".join(lines)


def run(seed: int, requests: int, folder: Path) -> Comparison:
    """Start both brokers in a folder and compare them on the cases of a seed."""
    with (
        ReferenceKafka(folder / "kafka") as real,
        BrokerProcess(folder / "ours") as lite,
    ):
        kafka = Broker("kafka", "127.0.0.1", real.port, timeout_s=TIMEOUT_S)
        ours = Broker("ours", "127.0.0.1", lite.port, timeout_s=TIMEOUT_S)
        for broker in (kafka, ours):
            broker.create_topics(TOPICS)
        cases = itertools.islice(CaseGenerator(seed, int(time.time() * 1000)), requests)
        try:
            return compare(kafka, ours, iter(cases))
        finally:
            kafka.close()
            ours.close()


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="requests", default=20_000)


if __name__ == "__main__":
    sys.exit(main())

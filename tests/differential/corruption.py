"""Damage the files of a small partition in every way, and compare what starts with them.

    python -m tests.differential.corruption --seed 1 --cases 2000

Each byte is flipped and each file cut at each length, and each time the partition is loaded after a
clean stop, after a kill, and after a kill with a recovery point in its middle. Our loader gets all
of these: it never fails, serves no batch that was not written, and no wrong index is believed.
Kafka's own loader gets `cases` of them: offsets, files and what can be read have to be the same, or
the difference is listed in corruption_differences.toml with its reason.

Rule: S-12, S-15 to S-18, S-40 to S-47, S-60.
"""

import logging
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from tests.differential.corruption_checks import Truth, wrong_with
from tests.differential.corruption_conditions import CONDITIONS
from tests.differential.damaged_log import Damage, Sample, every_damage, make_sample, write_files
from tests.differential.loaded_log import (
    SAMPLE_SETTINGS,
    KafkaLoader,
    Loaded,
    Start,
    kafka_loader,
    load_ours,
)
from tests.support.command import seeded_main

DIFFERENCES: Final = Path(__file__).with_name("corruption_differences.toml")
AT_A_TIME: Final = 100


class Listed(NamedTuple):
    """A difference that is known: under which condition, of what, and why."""

    when: str
    what: Sequence[str]
    reason: str


def read_listed() -> list[Listed]:
    """Read the table."""
    with DIFFERENCES.open("rb") as file:
        return [Listed(**entry) for entry in tomllib.load(file)["difference"]]


class Case(NamedTuple):
    """A damage, and how the partition is started with it."""

    damage: Damage
    start: Start

    def text(self) -> str:
        """Say what it is."""
        how = "clean" if self.start.is_clean else f"recovered from {self.start.recovery_point}"
        return f"{self.damage.text()}, {how}"


@dataclass(slots=True)
class Findings:
    """What a run saw; without faults it has passed."""

    seed: int
    faults: list[str] = field(default_factory=list)
    alone: int = 0
    compared: int = 0
    equal: int = 0
    listed: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures of the run."""
        lines = [
            f"seed {self.seed}: {self.alone} damaged partitions loaded by broker-lite,"
            f" {self.compared} of them by Kafka, too: {self.equal} the same,"
            f" {len(self.faults)} faults"
        ]
        lines += [f"{count:6} where {when}" for when, count in self.listed.most_common()]
        return "\n".join(lines)


def cases_of(sample: Sample, source: random.Random) -> list[Case]:
    """All damages with all starts, in a random order."""
    middle = sample.bases[len(sample.bases) // 2] + 1
    starts = (Start(True, sample.end_offset), Start(False, 0), Start(False, middle))
    cases = [
        Case(damage, start) for damage in every_damage(sample.files, source) for start in starts
    ]
    source.shuffle(cases)
    return cases


def run(seed: int, count: int, folder: Path, *, alone: int | None = None) -> Findings:
    """Load all damaged partitions here, and `count` of them by Kafka's code.

    Args:
        seed: of the sample, and of the order.
        count: of the cases that are compared.
        folder: for the files; one in memory is faster.
        alone: how many are loaded here, None for all.
    """
    findings = Findings(seed)
    source = random.Random(seed)
    sample = make_sample(folder / "sample-0", seed)
    truth = Truth.of(sample, folder / "sample-0")
    cases = cases_of(sample, source)
    for case in cases[:alone]:
        _check(sample, truth, case, folder / "sample-0", findings)
    if count:
        with kafka_loader(*SAMPLE_SETTINGS) as kafka:
            for chunk in _chunks(cases[:count]):
                _compare(sample, chunk, folder, kafka, findings)
    return findings


def _chunks(cases: Sequence[Case]) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while chunk := list(islice(remaining, AT_A_TIME)):
        yield chunk


def _check(sample: Sample, truth: Truth, case: Case, directory: Path, findings: Findings) -> None:
    write_files(directory, case.damage.apply(sample.files))
    findings.alone += 1
    faults = wrong_with(sample, truth, case.damage, case.start, directory)
    findings.faults += [f"{case.text()}: {fault}" for fault in faults]


def _compare(
    sample: Sample, cases: Sequence[Case], folder: Path, kafka: KafkaLoader, findings: Findings
) -> None:
    directories = {case: folder / f"sample-{number}" for number, case in enumerate(cases)}
    for case, directory in directories.items():
        write_files(directory, case.damage.apply(sample.files))
    theirs = kafka.load({directory: case.start for case, directory in directories.items()})
    for case, directory in directories.items():
        write_files(directory, case.damage.apply(sample.files))
        ours, _ = load_ours(directory, case.start, int(time.time() * 1000))
        judge(sample, case, ours, theirs[directory], findings)


def judge(sample: Sample, case: Case, ours: Loaded, theirs: Loaded, findings: Findings) -> None:
    """Count a case as the same, as listed, or as a fault."""
    findings.compared += 1
    different = ours.differences(theirs)
    if case.start.is_clean:  # nobody made the indexes anew
        different = [name for name in different if not name.endswith("index")]
    if not different:
        findings.equal += 1
        return
    for listed in read_listed():
        if CONDITIONS[listed.when](sample, case.damage, case.start) and all(
            _is_covered(name, listed.what) for name in different
        ):
            findings.listed[listed.when] += 1
            return
    findings.faults.append(
        f"{case.text()}: differs in {', '.join(different)}\n"
        f"  ours  {_show(ours)}\n  Kafka {_show(theirs)}"
    )


def _is_covered(name: str, what: Sequence[str]) -> bool:
    kind = Path(name).suffix.removeprefix(".") or name
    return "all" in what or kind in what


def _show(loaded: Loaded) -> str:
    return loaded.failure or f"{loaded.offsets} {loaded.content} {loaded.lookups}"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(seeded_main(run, __doc__, count="cases", default=2000))

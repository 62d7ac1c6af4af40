"""A disk that fails at any named place loses nothing that was acknowledged.

    python -m tests.crash.faulty --seed 1 --runs 300

Each run plays the scene with one fault: a call at a named place fails with ENOSPC or EIO, once or
from then on, or writes only a part. Then a start with a disk that works finds every acknowledged
record at its offset, no record that nobody sent, and committed offsets that were acknowledged.
"""

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.calls import watch
from tests.crash.faults import Fault, FaultObserver
from tests.crash.points import listed
from tests.crash.scene import Scene
from tests.support.command import seeded_main

_PASSING_MAX = 4


@dataclass(slots=True)
class Findings:
    """What the runs saw."""

    runs: int = 0
    met: int = 0
    refused: int = 0
    acknowledged: int = 0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures."""
        return (
            f"{self.runs} runs, {self.met} met their fault, {self.refused} steps were refused, "
            f"{self.acknowledged} acknowledged records, {len(self.faults)} faults"
        )


def run(seed: int, count: int, folder: Path) -> Findings:
    """Play the scene as often as that, each time with another fault."""
    draw = random.Random(seed)
    findings = Findings()
    for number in range(count):
        fault = _drawn(draw)
        play(fault, folder / str(number), findings)
    return findings


def _drawn(draw: random.Random) -> Fault:
    name = draw.choice(listed())
    actions = ["ENOSPC", "EIO"]
    if ".write." in name:
        actions.append("short")
    return Fault(
        name,
        draw.randint(1, _PASSING_MAX),
        is_lasting=draw.random() < 0.2,
        action=draw.choice(actions),
        part="",
    )


def play(fault: Fault, data_dir: Path, findings: Findings) -> None:
    """Play the scene with a fault, and look what is there afterwards."""
    observer, scene = FaultObserver(fault), Scene(data_dir)
    with watch(data_dir, [observer]):
        scene.play()
    findings.runs += 1
    findings.met += observer.passed >= fault.first
    findings.refused += len(scene.refused)
    findings.acknowledged += sum(len(values) for values in scene.acknowledged.values())
    findings.faults += [f"{fault}: {each}" for each in scene.faults()]


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="runs", default=100))

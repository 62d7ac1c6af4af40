"""The command line of what runs from a seed: tests that go on for longer than a suite may."""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

FAULTS_SHOWN_MAX = 40


class Findings(Protocol):
    """What a run saw; without faults it has passed."""

    @property
    def faults(self) -> Sequence[str]:
        """What was wrong, a text each."""

    def summary(self) -> str:
        """The figures of the run."""


def seeded_main(
    run: Callable[[int, int, Path], Findings], description: str | None, *, count: str, default: int
) -> int:
    """Run from the command line; print the faults and the figures.

    The folder of a run that has failed is kept, with the logs of its brokers.

    Args:
        run: from a seed, how often or how much, and an empty folder.
        description: of the program; its first line is shown.
        count: the name of the option that says how often or how much.
        default: of that option.

    Returns:
        The exit code: 1 with faults.
    """
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(f"--{count}", type=int, default=default)
    options = vars(parser.parse_args())
    folder = Path(tempfile.mkdtemp(prefix=f"{count}-"))
    is_kept = True
    try:
        found = run(options["seed"], options[count], folder)
        is_kept = bool(found.faults)
    finally:
        if is_kept:
            print(f"logs and data are kept in {folder}")
        else:
            shutil.rmtree(folder)
    for fault in found.faults[:FAULTS_SHOWN_MAX]:
        print(fault)
    print(found.summary())
    return 1 if found.faults else 0

"""What a change costs: the broker of this checkout and that of another one, in turns.

    make build                                  # in both checkouts
    python -m tests.bench.versions ../other [--scale 1.0] [--rounds 7] [--cases produce]

The cases are those of the cost bench. Both brokers run at the same time and take turns, round by
round, so that a machine that becomes slower does so for both. The figures are the best rounds; CPU
is the broker process's user and system time. The data is in memory (/dev/shm) unless --folder says
otherwise. `this / other` above 1 means that this checkout is dearer.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.bench.cost import CASES, Case, Round, Target, best, run_case
from tests.support.broker_process import BrokerProcess
from tests.tidy.project_files import ROOT

_MEMORY: Final = Path("/dev/shm")


@contextmanager
def _brokers(folder: Path, other: Path) -> Iterator[list[Target]]:
    with _broker(ROOT, folder / "this") as ours, _broker(other, folder / "other") as theirs:
        yield [
            Target("this", ours.port, ours.pid, ours.data_dir),
            Target("other", theirs.port, theirs.pid, theirs.data_dir),
        ]


def _broker(checkout: Path, data_dir: Path) -> BrokerProcess:
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        sys.exit(f"{checkout} has no .venv: run `make build` there")
    # -P: or the package in the current folder would be taken
    return BrokerProcess(data_dir, program=(str(python), "-P", "-m", "broker_lite"))


def _row(case: Case, this: list[Round], other: list[Round]) -> str:
    unit = "s/GB" if case.per_gb else "us/req"
    ours, theirs = (best(rounds, per_gb=case.per_gb)[0] for rounds in (this, other))
    return (
        f"{case.name:16} | this {ours:8.4g} {unit:6} | other {theirs:8.4g} {unit:6} | "
        f"this / other {ours / theirs:.3f}"
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="another checkout, built")
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--folder", type=Path, default=_MEMORY, help="where the data is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as name:
        folder = Path(name)
        with _brokers(folder, options.other.resolve()) as brokers:
            for case in CASES:
                if options.cases in case.name:
                    found = run_case(case, brokers, options.scale, options.rounds, folder)
                    print(_row(case, *found[:2]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

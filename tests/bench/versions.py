"""What a change costs: the broker of this checkout and that of another one, in turns.

    make build                                  # in both checkouts
    python -m tests.bench.versions ../other [--scale 1.0] [--rounds 4] [--cases produce]

The cases are those of the cost bench. Both brokers run at the same time and take turns, round by
round, so that a machine that becomes slower does so for both. Each case runs twice, with new
brokers: what is stored second is up to a quarter cheaper to send, by where its memory lies, so each
of them is once the second. The figures are the best rounds; CPU is the broker process's user and
system time. The data is in memory (/dev/shm) unless --folder says otherwise. `this / other` above 1
means that this checkout is dearer.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.bench.cost import CASES, Case, Round, Target, best, run_case
from tests.support.broker_process import BrokerProcess
from tests.tidy.project_files import ROOT

_MEMORY: Final = Path("/dev/shm")


def broker_of(checkout: Path, data_dir: Path) -> BrokerProcess:
    """A broker of a checkout, as it is built there."""
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        sys.exit(f"{checkout} has no .venv: run `make build` there")
    # -P: or the package in the current folder would be taken
    return BrokerProcess(data_dir, program=(str(python), "-P", "-m", "broker_lite"))


def _rounds(
    case: Case, checkouts: Sequence[Path], scale: float, rounds: int, folder: Path
) -> dict[Path, list[Round]]:
    """Run a case with each checkout once before the other; return the rounds of each."""
    found: dict[Path, list[Round]] = {checkout: [] for checkout in checkouts}
    for turn, ordered in enumerate((checkouts, checkouts[::-1])):
        with ExitStack() as brokers:
            targets = []
            for number, checkout in enumerate(ordered):
                broker = brokers.enter_context(broker_of(checkout, folder / f"{turn}-{number}"))
                targets.append(Target(checkout.name, broker.port, broker.pid, broker.data_dir))
            ran = run_case(case, targets, scale, rounds, folder)
            for checkout, its_rounds in zip(
                ordered, ran, strict=False
            ):  # the bare loop is left out
                found[checkout] += its_rounds
        for number in range(len(ordered)):
            shutil.rmtree(folder / f"{turn}-{number}")
    return found


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
    parser.add_argument("--rounds", type=int, default=4, help="in each of the two orders")
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--folder", type=Path, default=_MEMORY, help="where the data is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as name:
        checkouts = ROOT, options.other.resolve()
        for case in CASES:
            if options.cases in case.name:
                found = _rounds(case, checkouts, options.scale, options.rounds, Path(name))
                print(_row(case, *(found[checkout] for checkout in checkouts)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`broker-lite bench compare`: the figures of two runs beside each other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from broker_lite.commands.bench.files import check_writable, write
from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.comparison import Figure, Outcome, compared
from broker_lite.load.page.page import page
from broker_lite.load.page.readout import Readout, readout

BELOW: Final = "exit code 1 if B has less than this share of A's MB/s"
REPORT: Final = "where a report of both runs is written"
_SLOWER: Final = 1
_NONE: Final = "-"
_NAME_WIDTH: Final = 18
_WIDTH: Final = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("first", type=Path, metavar="A.json", help="of a run; the base")
    parser.add_argument("second", type=Path, metavar="B.json", help="of the run to judge")
    parser.add_argument(
        "--fail-below",
        type=positive_ratio,
        metavar="RATIO",
        help=BELOW,
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help=REPORT)


def run(options: argparse.Namespace) -> int:
    """Print all figures; the exit code says whether the second run is too slow."""
    if options.html is not None:
        check_writable("--html", options.html)
    outcomes = (Outcome(options.first), Outcome(options.second))
    comparison = compared(*outcomes)
    if options.html is not None:
        write(
            "--html", options.html, page(_readouts(outcomes), list(map(_cells, comparison.figures)))
        )
    print(_row("", options.first.name, options.second.name, "B / A"))
    for figure in comparison.figures:
        print(_row(*_cells(figure)))
    ratio = comparison.throughput.ratio
    if options.fail_below is None:
        return 0
    if ratio is None:
        raise ClientError(f"{options.first}: has no throughput with which to compare")
    if ratio < options.fail_below:
        print(
            f"broker-lite: {options.second}: {ratio:.3f} of the throughput of {options.first},"
            f" which is below {options.fail_below:g}",
            file=sys.stderr,
        )
        return _SLOWER
    return 0


def _readouts(outcomes: Sequence[Outcome]) -> Sequence[Readout]:
    """Return what the report shows of each run.

    Raises:
        SettingsError: a file is not the result of a run.
    """
    found = []
    for letter, outcome in zip("AB", outcomes, strict=True):
        try:
            found.append(readout(outcome.result, f"{letter}: {outcome.path.name}"))
        except SettingsError as error:
            raise SettingsError(f"{outcome.path}: {error}") from error
    return found


def _cells(figure: Figure) -> tuple[str, str, str, str]:
    first, second = (
        _NONE if value is None else f"{value:,.2f}" for value in (figure.first, figure.second)
    )
    ratio = _NONE if figure.ratio is None else f"{figure.ratio:.2f}"
    return figure.name, first, second, ratio


def _row(name: str, *cells: str) -> str:
    return (f"{name:<{_NAME_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)).rstrip()


def positive_ratio(text: str) -> float:
    """Return the number of a flag, which is above 0."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 < found <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not a ratio above 0")
    return found

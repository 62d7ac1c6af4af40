"""`broker-lite bench turns`: the same load at two brokers, in turns, and a comparison at the end.

A machine becomes faster and slower. In turns, both brokers are measured in the same times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from broker_lite.commands.bench import compare
from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.comparison import Outcome, throughput_of

_KINDS: Final = ("produce", "fetch", "e2e")
_OURS: Final = ("--bootstrap", "--bootstrap-server", "--json", "--html", "--control")
_LETTERS: Final = "AB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("first", metavar="A", help="HOST:PORT of the first broker")
    parser.add_argument("second", metavar="B", help="HOST:PORT of the broker to judge")
    parser.add_argument(
        "load",
        nargs=argparse.REMAINDER,
        metavar="KIND FLAGS",
        help="produce, fetch or e2e with its flags; those of the turns come before A",
    )
    parser.add_argument("--rounds", type=_count, default=3, help="at each broker [3]")
    parser.add_argument(
        "--folder", type=Path, default=Path(), help="of A-1.json, B-1.json ... [this one]"
    )
    for flag, what in (("--broker-pid", "process ids"), ("--control", "URLs of the control APIs")):
        parser.add_argument(
            flag, nargs=2, metavar=("A", "B"), help=f"{what} of both, for their CPU time"
        )
    parser.add_argument(
        "--fail-below", type=compare.positive_ratio, metavar="RATIO", help=compare.BELOW
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help=compare.REPORT)


def run(options: argparse.Namespace) -> int:
    """Run the load in turns; compare each broker's round of the median throughput."""
    load = options.load
    _check(load)
    if not options.folder.is_dir():
        raise SettingsError(f"--folder {options.folder}: there is no such folder")
    paths: tuple[list[Path], list[Path]] = ([], [])
    for number in range(1, options.rounds + 1):
        for side, address in enumerate((options.first, options.second)):
            path = options.folder / f"{_LETTERS[side]}-{number}.json"
            print(f"round {number} of {options.rounds}, broker {address}", flush=True)
            _run(load, address, path, _own_flags(options, side))
            paths[side].append(path)
    first, second = map(_median, paths)
    return compare.run(
        argparse.Namespace(
            first=first, second=second, fail_below=options.fail_below, html=options.html
        )
    )


def _check(load: Sequence[str]) -> None:
    if not load or load[0] not in _KINDS:
        raise SettingsError(f"give a load behind the brokers: {', '.join(_KINDS)}, with its flags")
    for word in load:
        if word.partition("=")[0] in _OURS:
            raise SettingsError(f"{word}: give it before the brokers, if at all")


def _own_flags(options: argparse.Namespace, side: int) -> list[str]:
    """Return the flags that differ from broker to broker."""
    flags = []
    for name in ("broker_pid", "control"):
        values = getattr(options, name)
        if values is not None:
            flags += [f"--{name.replace('_', '-')}", values[side]]
    return flags


def _run(load: Sequence[str], address: str, path: Path, flags: Sequence[str]) -> None:
    """Run one load in a process of its own, which prints its figures.

    Raises:
        ClientError: it failed, or was interrupted.
    """
    kind, *rest = load
    program = (sys.executable, "-m", "broker_lite", "bench", kind)
    done = subprocess.run(  # noqa: S603 - this program, with flags of who runs it
        [*program, "--bootstrap", address, "--json", str(path), *flags, *rest], check=False
    )
    if done.returncode:
        raise ClientError(f"the load at {address} ended with exit code {done.returncode}")


def _median(paths: Sequence[Path]) -> Path:
    """Return the run of the median throughput; of two in the middle, the slower one."""
    ordered = sorted(paths, key=lambda path: throughput_of(Outcome(path)))
    return ordered[(len(ordered) - 1) // 2]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1000):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 1000")
    return int(text)

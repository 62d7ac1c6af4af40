"""Runs the secured program of a client, and collects what it tells."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.conformance.clients import Builds
from tests.conformance.security.secured import CLIENTS
from tests.support.toolchain import require

TIMEOUT_S: Final = 240
Told = dict[str, dict[str, str]]
"""What came of each step, by case and step: `ok`, or how the client calls the error."""


def run_cases(client: str, builds: Builds, lines: Iterable[str], folder: Path) -> tuple[Told, str]:
    """Run a client's program with these cases.

    Returns:
        What it told, and what it wrote to standard error.
    """
    require(*CLIENTS[client].needs)
    with (folder / "errors").open("w+") as errors:
        done = subprocess.run(
            builds.secured(client),
            input="\n".join([*lines, ""]),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            timeout=TIMEOUT_S,
        )
        errors.seek(0)
        complaints = errors.read()[-6000:]
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{complaints}"
    told: Told = {}
    for line in done.stdout.splitlines():
        _, kind, *words = line.split()
        if kind == "told":
            case, step, word = words
            told.setdefault(case, {})[step] = word
    return told, complaints

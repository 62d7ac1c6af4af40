"""The command line as a person uses it: in this process, or as a process of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from broker_lite import cli

ROOT = Path(__file__).parent.parent.parent
TIMEOUT_S = 60


class Done(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


class CommandLine:
    """Runs commands in this process: at once, and seen by coverage."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *beginning: str) -> None:
        self._capsys = capsys
        self.beginning = beginning

    def of(self, *beginning: str) -> "CommandLine":
        """The same for command lines that all begin so."""
        return CommandLine(self._capsys, *self.beginning, *beginning)

    def __call__(self, *arguments: str, typed: str = "") -> Done:
        """Run one command; `typed` is its standard input."""
        self._capsys.readouterr()
        with typing(typed):
            code = cli.main([*self.beginning, *arguments])
        out, err = self._capsys.readouterr()
        return Done(code, out, err)

    def ok(self, *arguments: str, typed: str = "") -> str:
        """Run a command that works without a word on standard error; what it printed."""
        code, out, err = self(*arguments, typed=typed)
        assert (code, err) == (0, ""), f"exit code {code}: {err}"
        return out

    def fails(self, *arguments: str) -> str:
        """Run a command that fails with one line; the line, with its exit code in front."""
        done = self(*arguments)
        assert done.code > 0
        assert done.out == ""
        assert done.err.count("\n") == 1
        assert done.err.startswith("broker-lite: ")
        return f"{done.code}: {done.err.removeprefix('broker-lite: ').rstrip()}"


@contextmanager
def typing(text: str) -> Iterator[None]:
    """Let standard input be a text."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        yield
    finally:
        sys.stdin = before


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Runs commands in this process."""
    return CommandLine(capsys)


def process_of(arguments: Sequence[str]) -> list[str]:
    """The command line of a broker-lite process."""
    return [sys.executable, "-m", "broker_lite", *arguments]


def environment() -> dict[str, str]:
    """The environment of a process: no settings in it, and warnings are errors."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    return {**kept, "PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT)}


def run_process(*arguments: str, stdin: str = "") -> Done:
    """Run a command as a process of its own."""
    done = subprocess.run(
        process_of(arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(),
    )
    return Done(done.returncode, done.stdout, done.stderr)

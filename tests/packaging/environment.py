"""Virtual environments as users have them, made by the Python that runs the tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

TIMEOUT_S: Final = 280
_NOT_A_USERS: Final = {
    "BROKER_LITE_COMPILERS",
    "BROKER_LITE_NATIVE",
    "CC",
    "PYTHONHOME",
    "PYTHONPATH",
}


class ProgramFailed(Exception):
    """A program ended badly; the text is the end of what it printed."""


def run(*command: str | Path, folder: Path, environ: dict[str, str]) -> str:
    """Run a program to its end and return what it wrote to standard output.

    Raises:
        ProgramFailed: its exit code was not 0.
    """
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    if done.returncode != 0:
        raise ProgramFailed(f"{command[0]}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


class Environment:
    """A virtual environment that has nothing but what is installed into it, not even pip.

    Attributes:
        programs: the folder of its programs.
        environ: what its programs get: the variables of the tests, less those that tell of builds.
    """

    def __init__(self, folder: Path, *, has_compiler: bool) -> None:
        self.programs = folder / "bin"
        self.environ = {k: v for k, v in os.environ.items() if k not in _NOT_A_USERS}
        self._folder = folder
        run(
            *(sys.executable, "-m", "venv", "--without-pip", folder),
            folder=folder.parent,
            environ=self.environ,
        )
        if not has_compiler:
            self.environ["PATH"] = str(self.programs)

    def pip(self, *words: str | Path, **variables: str) -> str:
        """Run the pip of the tests' own environment on this one, with more variables."""
        options = ("--python", self.programs / "python", "--quiet", "--disable-pip-version-check")
        return run(
            *(sys.executable, "-m", "pip", *options, *words),
            folder=self._folder,
            environ={**self.environ, **variables},
        )

    def run(self, program: str, *arguments: str | Path, folder: Path | None = None) -> str:
        """Run one of its programs, away from the checkout, and return its output."""
        return run(
            self.programs / program,
            *arguments,
            folder=folder or self._folder,
            environ=self.environ,
        )

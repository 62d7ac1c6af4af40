"""The commands and the tests that a page of the docs prints, taken from it as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.command_line import environment
from tests.tidy.project_files import ROOT

TIMEOUT_S = 120
PRINTED_ADDRESS: Final = "localhost:9092"

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEST: Final = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


class PrintedPage:
    """A page whose blocks of Python are one file of tests."""

    def __init__(self, path: str) -> None:
        """Read the page at a path inside the project."""
        self._blocks = _BLOCK.findall((ROOT / path).read_text("utf-8"))

    def blocks(self, language: str) -> list[str]:
        """Return the blocks of one language, from top to bottom."""
        return [body for name, body in self._blocks if name == language]

    def languages(self) -> set[str]:
        """Return the languages that the page has blocks of."""
        return {name for name, _ in self._blocks}

    def printed_names(self) -> list[str]:
        """Return the names of the printed tests."""
        return [name for body in self.blocks("python") for name in _TEST.findall(body)]

    def write_tests(self, folder: Path) -> Path:
        """Write all printed tests into one file, as the page says that they are."""
        path = folder / "test_printed.py"
        path.write_text("\n\n".join(self.blocks("python")), "utf-8")
        return path


def run_tests(folder: Path) -> str:
    """Run the tests that are written in a folder, as a user would; return what pytest prints.

    Raises:
        AssertionError: a test failed.
    """
    options = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment(), "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "")},
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

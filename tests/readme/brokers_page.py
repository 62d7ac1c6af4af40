"""The commands and the tests that docs/use/brokers.md prints, taken from it as they stand."""

import re
from pathlib import Path
from typing import Final

from tests.tidy.project_files import ROOT

PRINTED_ADDRESS: Final = "localhost:9092"

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEST: Final = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
_PAGE: Final = ROOT / "docs/use/brokers.md"


def blocks(language: str) -> list[str]:
    """Return the blocks of one language, from top to bottom."""
    return [body for name, body in _BLOCK.findall(_PAGE.read_text("utf-8")) if name == language]


def languages() -> set[str]:
    """Return the languages that the page has blocks of."""
    return {name for name, _ in _BLOCK.findall(_PAGE.read_text("utf-8"))}


def printed_names() -> list[str]:
    """Return the names of the printed tests."""
    return [name for body in blocks("python") for name in _TEST.findall(body)]


def write_tests(folder: Path) -> Path:
    """Write all printed tests into one file, as the page says that they are."""
    path = folder / "test_printed.py"
    path.write_text("\n\n".join(blocks("python")), "utf-8")
    return path

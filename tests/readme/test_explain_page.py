"""The page about explanations: its commands print what it shows, and its program runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import ROOT, environment, process_of

PAGE = ROOT / "docs/use/explain.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = "broker-lite explain"


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCK.findall(PAGE.read_text("utf-8")) if name == language]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """A folder with the file of the page."""
    (hex_text,) = blocks("text")
    (tmp_path / "batch.hex").write_text(hex_text)
    return tmp_path


def printed(line: str, folder: Path) -> str:
    """What a command of the page prints; `echo TEXT |` is its standard input."""
    echoed, _, command = line.rpartition(" | ")
    assert command.startswith(PROGRAM)
    return subprocess.run(
        process_of(command.split()[1:]),
        input=echoed.removeprefix("echo ").strip('"'),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(),
    ).stdout


@pytest.mark.parametrize("block", blocks("console"))
def test_the_commands_print_what_is_shown(block: str, folder: Path) -> None:
    line, _, shown = block.partition("\n")
    assert printed(line.removeprefix("$ "), folder) == shown


def test_the_program_runs(folder: Path) -> None:
    (program,) = blocks("python")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=folder, env=environment())


def test_every_block_is_run() -> None:
    found = {name for name, _ in BLOCK.findall(PAGE.read_text("utf-8"))}
    assert found == {"text", "console", "python"}
    assert len(blocks("console")) == 3

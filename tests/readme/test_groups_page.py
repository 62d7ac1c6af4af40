"""The page about share groups and streams groups: its tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme.printed_page import PrintedPage
from tests.support.command_line import environment

TIMEOUT_S = 120
PAGE = PrintedPage("docs/use/groups.md")


@pytest.mark.client
def test_the_tests_pass(tmp_path: Path) -> None:
    PAGE.write_tests(tmp_path)
    options = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment(), "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "")},
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_is_run() -> None:
    assert PAGE.languages() == {"python", "text"}
    assert len(PAGE.printed_names()) == 2

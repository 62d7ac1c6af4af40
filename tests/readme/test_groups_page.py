"""The page about share groups and streams groups: its tests pass."""

from pathlib import Path

import pytest

from tests.readme.printed_page import PrintedPage, run_tests

PAGE = PrintedPage("docs/use/groups.md")


@pytest.mark.client
def test_the_tests_pass(tmp_path: Path) -> None:
    PAGE.write_tests(tmp_path)
    assert f"{len(PAGE.printed_names())} passed" in run_tests(tmp_path)


def test_every_block_is_run() -> None:
    assert PAGE.languages() == {"python", "text"}
    assert len(PAGE.printed_names()) == 2

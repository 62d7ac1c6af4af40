"""Runs of pytest inside the tests, with one test module that a test writes."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., pytest.RunResult]

PROJECT = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


@pytest.fixture
def prepare(pytester: pytest.Pytester) -> Callable[[str, str], None]:
    """Make a project of one test module."""

    def _prepare(source: str, ini: str) -> None:
        pytester.makeini(PROJECT + ini)
        pytester.makepyfile(source)

    return _prepare


@pytest.fixture
def run(pytester: pytest.Pytester, prepare: Callable[[str, str], None]) -> Run:
    """Run pytest in this process, with warnings as errors."""

    def _run(source: str, *, ini: str = "") -> pytest.RunResult:
        prepare(source, ini)
        return pytester.runpytest_inprocess("-W", "error")

    return _run


@pytest.fixture
def run_apart(pytester: pytest.Pytester, prepare: Callable[[str, str], None]) -> Run:
    """Run pytest in a process of its own, with warnings as errors."""

    def _run(source: str, *arguments: str) -> pytest.RunResult:
        prepare(source, "")
        return pytester.runpytest_subprocess("-W", "error", *arguments)

    return _run

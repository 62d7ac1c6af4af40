"""Coverage of processes that tests start, where the run that starts them is measured."""

import os
from collections.abc import Iterator
from unittest import mock

import coverage
import pytest

from tests.support.as_written import ROOT


@pytest.fixture(autouse=True)
def measured_children() -> Iterator[None]:
    """Let the Python processes that a test starts be measured, if its own is.

    Some modules run in processes of their own only. Each writes a file of data beside that of the
    run, which takes it in at its end. A process that is killed leaves none.
    """
    if coverage.Coverage.current() is None:
        yield
        return
    added = {
        "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
        "COVERAGE_FILE": f"{ROOT / '.coverage'}.child",
    }
    with mock.patch.dict(os.environ, added):
        yield

"""A short share of python -m tests.fuzz.control_api."""

from pathlib import Path

import pytest

from tests.fuzz.control_api import attack

pytestmark = pytest.mark.slow
SEED = 21
EXAMPLES = 2


def test_every_answer_is_as_the_document_says(tmp_path: Path) -> None:
    assert attack(SEED, EXAMPLES, tmp_path).faults == []

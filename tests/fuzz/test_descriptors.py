"""A short share of tests.fuzz.descriptors, which lets 5,000 clients come and go."""

from pathlib import Path

import pytest

from tests.fuzz.descriptors import run


@pytest.mark.slow
def test_clients_never_take_the_descriptors_of_log_files(tmp_path: Path) -> None:
    found = run(seed=20270115, attacks=400, folder=tmp_path)
    assert found.faults == [], found.summary()

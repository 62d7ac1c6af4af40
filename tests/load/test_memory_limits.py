"""A short share of tests.load.memory_limits: the loads that killed brokers in small containers."""

from pathlib import Path

import pytest

from tests.load.memory_limits import run_one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size_mib", "name"),
    [
        (128, "10 producers of 9 MB"),
        (128, "20 requests of 100 MB, 26 MB arrive"),
        (64, "8 bombs of 300 MB and more"),
        (256, "48 batches rewritten at level 22 of zstd"),
        (64, "100 groups, 150 KB metadata each"),
    ],
)
def test_a_container_holds(size_mib: int, name: str, tmp_path: Path) -> None:
    lives, row = run_one(size_mib, name, tmp_path / "load")
    assert lives, row

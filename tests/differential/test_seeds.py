"""Many seeds are compared at a time, and told in their order."""

import pytest

from tests.differential.seeds import compare_seeds


def test_what_differs_is_told_by_seed(capsys: pytest.CaptureFixture[str]) -> None:
    different = compare_seeds(lambda seed: [f"seed {seed}"] if seed % 2 else [], range(6), jobs=3)
    assert different == {seed: [f"seed {seed}"] for seed in (1, 3, 5)}
    assert capsys.readouterr().err == "seed 1\n\nseed 3\n\nseed 5\n\n"

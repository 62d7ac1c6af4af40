"""R-02, R-04: the first bytes of a batch."""

import pytest

from broker_lite.pipeline.read.framing import framing_fault


@pytest.mark.parametrize(
    ("length", "magic", "rule"),
    [
        pytest.param(49, 2, None, id="R-04 magic 2"),
        pytest.param(48, 2, "R-04", id="R-04 too short"),
        pytest.param(22, 1, None, id="R-04 magic 1"),
        pytest.param(21, 1, "R-04", id="R-04 too short for magic 1"),
        pytest.param(14, 0, None, id="R-04 magic 0"),
        pytest.param(-1, 2, "R-04", id="R-04 below 0"),
        pytest.param((128 << 20) + 1, 2, "R-04", id="R-04 too long"),
        pytest.param(100, 3, "R-02", id="R-02"),
    ],
)
def test_lengths_and_magics(length: int, magic: int, rule: str | None) -> None:
    found = framing_fault(length, magic)
    assert (found and found[0]) == rule

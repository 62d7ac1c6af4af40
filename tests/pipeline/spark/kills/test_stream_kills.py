"""A short share of tests.pipeline.spark.kills.stream_kills, which kills more drivers."""

from pathlib import Path

import pytest

from tests.pipeline.spark.kills.stream_kills import run
from tests.support.toolchain import require

pytestmark = pytest.mark.slow

KILLS = 1


def test_every_record_is_in_the_sink_once_and_in_order(tmp_path: Path) -> None:
    require("java")
    found = run(seed=20261128, kills=KILLS, folder=tmp_path)
    assert len(found.moments) == KILLS
    assert not found.faults
    assert found.written

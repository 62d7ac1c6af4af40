"""A short share of tests.crash.kills, which lets the broker crash hundreds of times."""

from pathlib import Path

import pytest

from tests.crash.kills import run

KILLS = 4


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [False, True], ids=["killed", "power-loss"])
def test_s_32_s_44_real_clients_are_kept_their_promises(tmp_path: Path, loses_power: bool) -> None:
    found = run(seed=20261121, kills=KILLS, folder=tmp_path / "runs", loses_power=loses_power)
    assert found.faults == [], found.summary()
    assert found.records > 0
    assert found.transactions > 0


@pytest.mark.slow
def test_without_a_flush_a_power_loss_is_noticed(tmp_path: Path) -> None:
    found = run(seed=1, kills=KILLS * 5, folder=tmp_path / "runs", loses_power=True, settings=())
    assert found.faults, found.summary()

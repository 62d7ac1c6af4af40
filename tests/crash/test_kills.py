"""A short share of tests.crash.kills, which lets the broker crash hundreds of times."""

from pathlib import Path

import pytest

from tests.crash.kills import run
from tests.crash.real_disk import NotPossible
from tests.support.toolchain import lacking

KILLS = 4


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [False, True], ids=["killed", "power-loss"])
def test_s_32_s_44_real_clients_are_kept_their_promises(tmp_path: Path, loses_power: bool) -> None:
    found = run(seed=20261121, kills=KILLS, folder=tmp_path / "runs", loses_power=loses_power)
    assert found.faults == [], found.summary()
    assert found.records > 0
    assert found.transactions > 0


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [False, True], ids=["killed", "power-loss"])
def test_s_32_s_44_a_real_file_system_keeps_them_too(tmp_path: Path, loses_power: bool) -> None:
    folder = tmp_path / "runs"
    try:
        found = run(1, KILLS, folder, loses_power=loses_power, file_system="ext4")
    except NotPossible as error:
        lacking(f"an ext4 on a loop device ({error})")
    assert found.faults == [], found.summary()
    assert found.keyed > 0


@pytest.mark.slow
@pytest.mark.parametrize("file_system", [None, "ext4"], ids=["model", "ext4"])
def test_without_a_flush_a_power_loss_is_noticed(tmp_path: Path, file_system: str | None) -> None:
    folder, kills = tmp_path / "runs", KILLS * 5
    try:
        found = run(1, kills, folder, loses_power=True, file_system=file_system, settings=())
    except NotPossible as error:
        lacking(f"an ext4 on a loop device ({error})")
    assert found.faults, found.summary()

"""A short share of tests.crash.kills, which lets the broker crash hundreds of times."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.kills import CANNOT, run
from tests.crash.real_disk import NotPossible
from tests.support.toolchain import lacking
from tests.tidy.project_files import ROOT

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
def test_without_a_flush_a_power_loss_is_noticed(file_system: str | None) -> None:
    """In a process of its own: a broker that forgets what it said can make librdkafka abort."""
    words = ["--seed=1", f"--kills={KILLS * 5}", "--power-loss", "--no-flush"]
    words += [] if file_system is None else ["--file-system", file_system]
    command = [sys.executable, "-m", "tests.crash.kills", *words]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    if ended.returncode == CANNOT:
        lacking(f"an ext4 on a loop device ({ended.stderr})")
    told = f"{ended.stdout}{ended.stderr}"
    if ended.returncode == -signal.SIGABRT:
        assert "rdkafka" in told  # by an assertion of its own
    else:
        assert ended.returncode == 1, told
        assert re.search(r", [1-9]\d* faults$", ended.stdout.strip()), told

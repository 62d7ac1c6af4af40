"""Runs from a seed: the folder of a run that has failed is kept, any other is deleted."""

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.command import seeded_main


class Found(NamedTuple):
    """What a run saw."""

    faults: list[str]

    def summary(self) -> str:
        """The figures."""
        return f"{len(self.faults)} faults"


@pytest.mark.parametrize(("seed", "code"), [(1, 0), (2, 1)])
def test_the_folder_of_a_failed_run_is_kept(
    seed: int,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders: list[Path] = []

    def run(seed: int, count: int, folder: Path) -> Found:
        assert count == 3
        folders.append(folder)
        (folder / "broker.out").write_text("what happened")
        if seed == 3:
            raise RuntimeError("not ready")
        return Found(["lost"] if seed == 2 else [])

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["run", "--seed", str(seed), "--kills", "3"])
    assert seeded_main(run, "Kills.", count="kills", default=9) == code
    assert folders[0].exists() == bool(code)
    printed = capsys.readouterr().out
    assert (f"kept in {folders[0]}" in printed) == bool(code)
    assert f"{code} faults" in printed
    monkeypatch.setattr(sys, "argv", ["run", "--seed", "3", "--kills", "3"])
    with pytest.raises(RuntimeError, match="not ready"):
        seeded_main(run, "Kills.", count="kills", default=9)
    assert (folders[1] / "broker.out").exists()

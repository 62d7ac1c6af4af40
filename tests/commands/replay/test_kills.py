"""A short share of tests/commands/replay/kills.py."""

from pathlib import Path

import pytest

from tests.commands.replay.kills import run

pytestmark = [pytest.mark.client, pytest.mark.slow]

KILLS = 2


def test_every_record_once_and_in_order(tmp_path: Path) -> None:
    told: list[str] = []
    found, expected = run(tmp_path, 20261128, KILLS, told.append)
    assert len(told) == KILLS
    assert found == expected

"""A short share of tests.fuzz.exactly_once, which kills 50 times."""

from pathlib import Path

import pytest

from tests.conformance.clients import TRANSACTIONAL
from tests.fuzz.exactly_once import run

KILLS = 4


@pytest.mark.client
@pytest.mark.slow
def test_every_record_comes_out_once(tmp_path: Path) -> None:
    client = next(client for client in TRANSACTIONAL if client.name == "confluent")
    found = run(seed=20261121, kills=KILLS, folder=tmp_path, client=client, tell=print)
    assert found.faults == [], found.summary()
    assert found.kills == KILLS

"""Configs: a real Kafka's answers, kept in a file, against ours.

`vectors/configs.json` was written by `python -m tests.differential.compare_configs --write` from a
Kafka 4.3.1; the test marked kafka compares some of them again.

Rule: P-120 to P-129, P-131, G-91 (probed against Apache Kafka).
"""

import json
from pathlib import Path

import pytest

from tests.differential.compare_configs import (
    GOLDEN,
    Outcomes,
    config_of,
    differences,
    kafka_outcomes,
    listed,
    our_outcomes,
)
from tests.support.toolchain import require

EVERY = 8
"""The command runs all cases, which takes 100 s."""


@pytest.fixture(scope="module")
def golden() -> Outcomes:
    kept: Outcomes = json.loads(GOLDEN.read_text("utf-8"))
    return kept


@pytest.fixture(scope="module")
def ours(golden: Outcomes, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return our_outcomes(tmp_path_factory.mktemp("configs"), golden)


@pytest.mark.slow
def test_our_answers_are_kafkas(golden: Outcomes, ours: Outcomes) -> None:
    assert differences(golden, ours) == []
    assert sum("described" in row for row in golden.values()) > 380
    assert sum(row.get("code") == 0 for row in golden.values()) > 400


@pytest.mark.slow
def test_what_is_listed_differs(golden: Outcomes, ours: Outcomes) -> None:
    differing = {
        config_of(title)
        for title, row in golden.items()
        if json.loads(json.dumps(ours.get(title))) != row
    }
    assert set(listed()) - differing == set()


@pytest.mark.kafka
@pytest.mark.slow
def test_kafkas_answers_are_those_kept(tmp_path: Path, golden: Outcomes) -> None:
    require("java", "mvn")
    found = kafka_outcomes(tmp_path / "kafka", every=EVERY)
    assert len(found) > len(golden) / EVERY
    assert found.items() <= golden.items()

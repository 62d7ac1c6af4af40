"""`broker.script()`: its end waits, and tells what is missing; records repeat a run."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed, ScriptFailed
from broker_lite.testing.scripts import keeping_records
from tests.testbench.scripts.test_run import ASK, errors

SOON = timedelta(milliseconds=50)
CHANCE = {"id": "a", "count": -1, "probability": 0.5, **ASK}
SCRIPT: dict[str, Any] = {"name": "half", "seed": 3, "topics": ["t"], "rules": [CHANCE]}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


def test_a_file_and_its_record(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(SCRIPT))  # JSON is YAML
    with broker.script(path) as script:
        first = errors(broker, 12)
        script.wait()
        script.save(tmp_path / "s.brokerlite")
        assert script.seed == 3
    assert script.state()["outcome"] == {"ok": True, "is_final": True}
    assert broker.control("GET", "/v1/faults") == []
    with broker.script(str(tmp_path / "s.brokerlite")) as again:
        assert errors(broker, 12) == first
        assert (
            again.record()["decisions"]
            == json.loads((tmp_path / "s.brokerlite").read_text())["decisions"]
        )


def test_what_is_missing_fails_the_test(broker: Broker) -> None:
    expected = {"requests": [{"keys": ["Produce"]}], "others_ok": ["ListOffsets"]}
    with pytest.raises(ScriptFailed) as caught:  # noqa: SIM117
        with broker.script({**SCRIPT, "expect": expected}, timeout=SOON):
            errors(broker, 3)
    said = str(caught.value).splitlines()
    assert said[0] == "script half, seed 3:"
    assert said[1] == "  expected 1. Produce, got nothing more"
    assert said[2] == "- 1. Produce"
    assert broker.control("GET", "/v1/scripts") == []
    with (
        pytest.raises(AssertionError, match="rule a acted on no request"),
        broker.script(SCRIPT, timeout=SOON),
    ):
        pass


def test_another_error_wins(broker: Broker) -> None:
    with pytest.raises(KeyError), broker.script(SCRIPT):
        raise KeyError
    assert broker.control("GET", "/v1/scripts") == []


def test_what_is_no_script(broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(BrokerFailed, match=r"none.json: cannot be read"):
        broker.script(tmp_path / "none.json")
    with pytest.raises(BrokerFailed, match=r"rules\[0\]: the rule has no action"):
        broker.script({"rules": [{}]})


def test_records_are_kept_when_they_are_wanted(broker: Broker) -> None:
    with keeping_records() as records, broker.script(SCRIPT) as script:
        errors(broker, 12)
        script.wait()
        script.end()
        script.end()
    assert len(records) == 1
    with broker.script(SCRIPT):
        errors(broker, 12)
    assert len(records) == 1

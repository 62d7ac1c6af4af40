"""`bench` against a broker that loses answers, refuses and throttles: what is written and told."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine

SHORT = ("--duration", "1", "--warmup", "0", "--rate", "20000/s", "--connections", "2")


@pytest.fixture
def run(command: CommandLine, broker: Broker, topic: str, tmp_path: Path) -> Any:
    """A run of a kind; its result."""

    def run(kind: str, *flags: str) -> Any:
        path = tmp_path / "out.json"
        where = ("--bootstrap", broker.bootstrap, "--topic", topic, "--json", str(path))
        command.ok("bench", kind, *where, *SHORT, *flags)
        return json.loads(path.read_text())

    return run


def test_a_lost_answer_writes_nothing_twice(run: Any, broker: Broker) -> None:
    with broker.fault("Produce", drop="after", count=5, skip=3):
        result = run("produce")
    assert result["errors"]["connection lost"] == 5
    assert result["retries"]["connection lost"] >= 5
    assert result["delivered_records"] == result["accepted_records"] > 0


def test_without_sequences_it_does(run: Any, broker: Broker) -> None:
    with broker.fault("Produce", drop="after", count=5, skip=3):
        result = run("produce", "--no-idempotence")
    assert result["errors"]["connection lost"] == 5
    assert result["delivered_records"] > result["accepted_records"]


@pytest.mark.parametrize(
    "error",
    ["NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "UNKNOWN_PRODUCER_ID", "MESSAGE_TOO_LARGE"],
)
def test_the_sequences_go_on_after_an_error(error: str, run: Any, broker: Broker) -> None:
    with broker.fault("Produce", error=error, count=5, skip=3):
        result = run("produce")
    assert result["errors"][error] == 5
    assert set(result["errors"]) <= {error, "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert result["delivered_records"] == result["accepted_records"] > 0
    assert result["refused"] == (5 if error == "MESSAGE_TOO_LARGE" else 0)


def test_end_to_end_after_lost_answers(run: Any, broker: Broker) -> None:
    with (
        broker.fault("Produce", drop="after", count=3, skip=3),
        broker.fault("Fetch", drop="before", count=3, skip=3),
    ):
        result = run("e2e")
    assert result["errors"]["connection lost"] == 6
    assert result["written_records"] == result["accepted_records"] > 0
    assert (result["unseen"], result["repeated"]) == (0, 0)


def test_a_broker_that_throttles_is_heard(run: Any, broker: Broker) -> None:
    with broker.fault("Produce", throttle_ms=200, count=4):
        result = run("produce")
    assert (result["throttles"], result["throttled_ms"]) == (4, 800)
    assert result["measured"]["latency_ms"]["max"] > 100
    assert result["delivered_records"] == result["accepted_records"]

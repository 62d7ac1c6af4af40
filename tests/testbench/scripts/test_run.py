"""Scripts at a real broker: steps, outcomes, and runs that are repeated.

Also tests: broker_lite.testbench.scripts.runs, broker_lite.testbench.scripts.outcome,
broker_lite.testbench.control.routes.scripts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

ROOT = Path(__file__).parents[3]
ERROR = "NOT_LEADER_OR_FOLLOWER"
ASK = {"keys": ["ListOffsets"], "topic": "t", "error": ERROR}
CREATE = {"method": "POST", "path": "/v1/topics", "body": {"name": "u"}}
WAIT = {"timeout_ms": 20_000}


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(topics=["t"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Iterator[Broker]:
    yield running
    for script in running.control("GET", "/v1/scripts"):  # type: ignore[attr-defined]
        running.control("DELETE", f"/v1/scripts/{script['id']}")
    running.control("DELETE", "/v1/faults")
    running.control("PUT", "/v1/requests/recording", {"recording": "off"})
    for topic in {"u", "v"} & {each["name"] for each in topics(running)}:
        running.control("DELETE", f"/v1/topics/{topic}")


def topics(broker: Broker) -> Any:
    return broker.control("GET", "/v1/topics")


def start(broker: Broker, **script: Any) -> str:
    told: Any = broker.control("POST", "/v1/scripts", script)
    return str(told["id"])


def get(broker: Broker, script: str, end: str = "") -> Any:
    return broker.control("GET", f"/v1/scripts/{script}{end}")


def wait(broker: Broker, script: str, timeout_ms: int = 20_000) -> Any:
    return broker.control("POST", f"/v1/scripts/{script}/wait", {"timeout_ms": timeout_ms})


def errors(broker: Broker, count: int) -> list[int]:
    """Ask so often for the end of t-0; return the error codes."""
    kind = messages.ListOffsetsRequest
    partitions = [kind.ListOffsetsPartition(partition_index=0, timestamp=-1)]
    asked = kind(replica_id=-1, topics=[kind.ListOffsetsTopic(name="t", partitions=partitions)])
    with RawClient(broker.host, broker.port) as client:
        answers = [client.request(kind, asked, 7) for _ in range(count)]
    return [answer.topics[0].partitions[0].error_code for answer in answers]


def test_rules_steps_and_expectation(broker: Broker) -> None:
    script = start(
        broker,
        name="all of it",
        topics=["v:2"],
        rules=[{"id": "a", **ASK}, {**ASK, "error": "LEADER_NOT_AVAILABLE", "after": "a"}],
        steps=[
            {"do": {"method": "GET", "path": "/v1/ready"}},
            {"when": {"rule": "rule2"}, "do": CREATE},
        ],
        expect={"requests": [{"keys": ["ListOffsets"], "topic": "t"}] * 3, "others_ok": []},
    )
    begun = get(broker, script)
    assert begun["name"] == "all of it"
    assert not begun["outcome"]["ok"]
    assert "v" in {each["name"] for each in topics(broker)}
    assert errors(broker, 3) == [6, 5, 0]
    assert wait(broker, script) == {"ok": True, "is_final": True}
    assert "u" in {each["name"] for each in topics(broker)}
    state: Any = broker.control("DELETE", f"/v1/scripts/{script}")
    assert [step["state"] for step in state["steps"]] == ["done", "done"]
    assert (state["steps_done"], state["expectation"]["matched"]) == (2, 3)
    assert [rule["hits"] for rule in state["rules"]] == [1, 1]
    assert broker.control("GET", "/v1/faults") == []
    recording: Any = broker.control("GET", "/v1/requests/recording")
    assert recording["recording"] == {}  # as it was before the script
    with pytest.raises(BrokerFailed, match=f"there is no script '{script}'"):
        get(broker, script)


@pytest.mark.parametrize("recording", [{"recording": "off"}, {"recording": "headers", "keys": [1]}])
def test_all_requests_are_recorded_until_the_last_script_ends(
    broker: Broker, recording: dict[str, Any]
) -> None:
    broker.control("PUT", "/v1/requests/recording", recording)
    first = start(broker, name="A")
    expected = [{"keys": ["ListOffsets"]}] * 2
    second = start(broker, expect={"requests": expected})
    errors(broker, 1)
    broker.control("DELETE", f"/v1/scripts/{first}")
    errors(broker, 1)
    assert wait(broker, second)["ok"]
    broker.control("DELETE", f"/v1/scripts/{second}")
    told: Any = broker.control("GET", "/v1/requests/recording")
    assert told["recording"] == {key: value for key, value in recording.items() if value != "off"}


@pytest.mark.parametrize(
    ("when", "before", "after"),
    [
        ({"rule": "a", "hits": 2}, 1, 1),
        ({"match": {"keys": ["ListOffsets"]}, "count": 3}, 2, 1),
        ({"match": {"keys": ["ListOffsets"]}, "count": 2, "arrivals": True}, 1, 1),
    ],
)
def test_when_a_step_is_due(broker: Broker, when: Any, before: int, after: int) -> None:
    rules = [{"id": "a", "count": 2, **ASK}]
    script = start(broker, rules=rules, steps=[{"when": when, "do": CREATE}])
    errors(broker, before)
    assert get(broker, script)["steps"][0]["state"] == "waiting"
    errors(broker, after)
    assert wait(broker, script)["ok"]


def test_steps_by_time(broker: Broker) -> None:
    rule = {"id": "a", "count": -1, "for_ms": 30, **ASK}
    steps = [{"when": {"after_ms": 20}, "do": CREATE}, {"when": {"rule": "a"}, "do": DELETE}]
    script = start(broker, rules=[rule], steps=steps, expect={"unused_ok": ["a"]})
    assert wait(broker, script)["ok"]
    first, last = get(broker, script)["steps"]
    assert 20 <= first["at_ms"] <= last["at_ms"]
    assert last["at_ms"] >= 30


DELETE = {"method": "DELETE", "path": "/v1/topics/u"}


def test_what_is_missing_is_told(broker: Broker) -> None:
    script = start(
        broker,
        rules=[{"id": "a", **ASK, "topic": "s"}, {"id": "b", "count": 3, **ASK}],
        steps=[{"when": {"rule": "b"}, "do": CREATE}, {"do": DELETE}],
        expect={"requests": [{"keys": ["ListOffsets"]}] * 3},
    )
    errors(broker, 2)
    with pytest.raises(BrokerFailed) as caught:
        wait(broker, script, 1)
    told = str(caught.value)
    assert "step 1 (POST /v1/topics) is still waiting" in told
    assert "rule a acted on no request; nearest: ListOffsets" in told
    assert "topic 't' is not 's'" in told
    assert "rule b acted on 2 of 3 requests" in told
    assert "expected 3. ListOffsets" in told
    assert get(broker, script)["outcome"]["unused"] == ["a"]


def test_a_wrong_request_ends_the_wait(broker: Broker) -> None:
    rule = {"id": "a", "count": 1, **ASK}
    expected = [{"keys": ["ListOffsets"]}, {"keys": ["Produce"]}]
    script = start(broker, rules=[rule], expect={"requests": expected})
    errors(broker, 2)
    outcome = wait(broker, script)
    assert (outcome["ok"], outcome["is_final"]) == (False, True)
    assert "expected 2. Produce" in outcome["problems"][0]
    assert outcome["first_difference"]["got"]


def test_a_failed_step_ends_the_script(broker: Broker) -> None:
    again = {"method": "POST", "path": "/v1/topics", "body": {"name": "t"}}
    script = start(broker, steps=[{"do": again}, {"do": CREATE}])
    outcome = wait(broker, script)
    assert (outcome["ok"], outcome["is_final"]) == (False, True)
    [problem] = outcome["problems"]
    assert problem.startswith("step 1 (POST /v1/topics) failed: 409 ")
    assert [step["state"] for step in get(broker, script)["steps"]] == ["failed", "pending"]


@pytest.mark.parametrize("rule", [{"count": 1}, {"count": -1, "for_ms": 60_000}])
def test_a_rule_that_is_removed_starts_no_step(broker: Broker, rule: Any) -> None:
    rules = [{"id": "a", **ASK, **rule}]
    script = start(broker, rules=rules, steps=[{"when": {"rule": "a"}, "do": CREATE}])
    broker.control("DELETE", "/v1/faults/a")
    outcome = wait(broker, script)
    assert outcome["is_final"]
    assert "u" not in {each["name"] for each in topics(broker)}
    assert "rule a acted on no request and was removed" in "; ".join(outcome["problems"])


def test_all_rules_may_go_unused(broker: Broker) -> None:
    script = start(broker, rules=[ASK], expect={"unused_ok": True})
    assert wait(broker, script)["ok"]


def test_the_same_seed_decides_the_same(broker: Broker) -> None:
    rules = [{"id": "a", "count": -1, "probability": 0.4, **ASK}]
    decided = []
    for seed in (42, 42, 43):
        script = start(broker, seed=seed, rules=rules)
        decided.append(errors(broker, 40))
        broker.control("DELETE", f"/v1/scripts/{script}")
    assert decided[0] == decided[1] != decided[2]
    assert {*decided[0]} == {0, 6}


def test_a_replay_repeats_the_decisions(broker: Broker) -> None:
    rules = [
        {"id": "a", "count": -1, "probability": 0.4, **ASK},
        {"id": "never", "keys": ["Produce"], "hold": True},
    ]
    script = start(broker, rules=rules, expect={"unused_ok": True})
    first = errors(broker, 30)
    record = get(broker, script, "/log")
    broker.control("DELETE", f"/v1/scripts/{script}")
    hits = [position for position, code in enumerate(first, 1) if code]
    assert [each["match"] for each in record["decisions"]] == hits
    assert [each["request"] for each in record["decisions"]] == hits
    assert len(record["requests"]) == 30
    assert f"-> {ERROR}" in record["requests"][hits[0] - 1]
    record["script"]["rules"][0]["probability"] = 0.001  # a replay does not look at it
    again = start(broker, replay=json.loads(json.dumps(record)))
    assert get(broker, again)["is_replay"]
    assert errors(broker, 30) == first
    assert errors(broker, 30) == [0] * 30
    assert get(broker, again, "/log")["decisions"] == record["decisions"]
    broker.produce("t", "x")  # rule never had not acted


def test_what_cannot_run_changes_nothing(broker: Broker) -> None:
    for script, text in (
        ({"brokers": 2}, "needs 2 brokers, and there are 1"),
        ({"rules": [ASK], "topics": ["a/b"]}, "topics"),
        ({"rules": [ASK], "stepz": []}, "unknown field `stepz`"),
        ({"replay": {"script": {"rules": [{}]}}}, "replay.script.rules"),
        ({"rules": [{"id": "a", **ASK}], "topics": ["v:0"]}, "topics"),
    ):
        with pytest.raises(BrokerFailed) as caught:
            start(broker, **script)
        assert text in str(caught.value)
    assert broker.control("GET", "/v1/faults") == []
    assert broker.control("GET", "/v1/scripts") == []
    start(broker, rules=[{"id": "a", **ASK}])
    with pytest.raises(BrokerFailed, match="there is a rule 'a' already"):
        start(broker, rules=[{"id": "a", **ASK}])


def test_a_reset_ends_scripts(broker: Broker) -> None:
    start(broker, rules=[ASK])
    broker.control("POST", "/v1/reset", {"keep": ["faults"]})
    assert len(broker.control("GET", "/v1/scripts")) == 1  # type: ignore[arg-type]
    broker.control("POST", "/v1/reset")
    assert broker.control("GET", "/v1/scripts") == []


def test_no_fault_no_script(broker: Broker) -> None:
    start(broker, rules=[ASK])
    broker.control("DELETE", "/v1/faults")
    assert broker.control("GET", "/v1/scripts") == []


def test_there_is_a_bound(broker: Broker) -> None:
    for _ in range(100):
        start(broker)
    with pytest.raises(BrokerFailed, match="there may be 100 scripts"):
        start(broker)


def test_a_producer_survives_a_lost_acknowledgement_and_a_new_leader(tmp_path: Path) -> None:
    """The example of the docs: a batch is written and denied, then the leader moves."""
    page = (ROOT / "docs/use/scripts.md").read_text()
    path = tmp_path / "lost.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    with Broker(brokers=3) as broker:
        with broker.script(path) as script:
            config = {"bootstrap.servers": broker.bootstrap, "enable.idempotence": True}
            producer = Producer(config)
            for number in range(5):
                producer.produce("orders", b"%d" % number)
                assert producer.flush(20) == 0
        values = [record.value for record in broker.records("orders")]
        assert values == [b"0", b"1", b"2", b"3", b"4"]
        assert script.state()["steps_done"] == 2

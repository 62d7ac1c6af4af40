"""What is wrong in a script is told with its place; ids and seeds are the same for each run.

Also tests: broker_lite.testbench.scripts.form.
"""

from typing import Any

import msgspec
import pytest

from broker_lite.testbench.control.control import Control
from broker_lite.testbench.control.table import RESOURCES
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.engine import Decision
from broker_lite.testbench.scripts.form import Record, Script
from broker_lite.testbench.scripts.prepare import Prepared, prepare

LOST = {"id": "lost", "keys": ["Produce"], "error": "REQUEST_TIMED_OUT", "count": 2}
READY = {"method": "GET", "path": "/v1/ready"}


def prepared(**members: Any) -> Prepared:
    bench: Any = None
    script = msgspec.convert(members, Script)
    return prepare(script, Control(bench, RESOURCES).check, 7)


def step(when: Any, **do: Any) -> dict[str, Any]:
    return {"rules": [LOST], "steps": [{"when": when, "do": {**READY, **do}}]}


@pytest.mark.parametrize(
    ("members", "at", "text"),
    [
        ({"rules": [{}]}, "rules[0]", "the rule has no action"),
        ({"rules": [LOST, LOST]}, "rules[1].id", "there is a rule 'lost' already"),
        ({"rules": [{**LOST, "keys": ["Prodce"]}]}, "rules[0].keys[0]", "did you mean 'Produce'"),
        ({"rules": [{**LOST, "after": "x"}]}, "rules[0].after", "there is no rule 'x'"),
        ({"topics": ["a", "b:x"]}, "topics[1]", "x is no number of partitions"),
        ({"brokers": 0}, "brokers", "1 or more"),
        (step({}), "steps[0].when", "rule, match or after_ms; this has none"),
        (step({"rule": "lost", "after_ms": 1}), "steps[0].when", "not rule and after_ms"),
        (step({"rule": "lots"}), "steps[0].when.rule", "did you mean 'lost'?"),
        (step({"rule": "lost", "hits": 3}), "steps[0].when.hits", "acts on 2 at most"),
        (step({"rule": "lost", "hits": 0}), "steps[0].when.hits", "1 or more"),
        (step({"after_ms": 1, "hits": 1}), "steps[0].when.hits", "belongs to rule"),
        (step({"after_ms": 1, "count": 2}), "steps[0].when.count", "belongs to match"),
        (step({"after_ms": 1, "arrivals": True}), "steps[0].when.arrivals", "belongs to match"),
        (step({"after_ms": -1}), "steps[0].when.after_ms", "between 0 and a day"),
        (step({"after_ms": 1e300}), "steps[0].when.after_ms", "between 0 and a day"),
        (step({"match": {}, "count": 0}), "steps[0].when.count", "between 1 and"),
        (step({"match": {"keys": ["X"]}}), "steps[0].when.match.keys[0]", "there is no API 'X'"),
        (step(None, path="/v1/nothing"), "steps[0].do.path", "there is no /v1/nothing"),
        (step(None, method="PUT"), "steps[0].do.path", "has GET, and no PUT"),
        (step(None, path="/v1/ready?x=1"), "steps[0].do.path", "unknown field `x`"),
        (
            step(None, method="POST", path="/v1/clock", body={"advance": 1}),
            "steps[0].do.body",
            "unknown field `advance`",
        ),
        (step(None, method="POST", path="/v1/scripts/"), "steps[0].do.path", "cannot start"),
        ({"expect": {"requests": [{"keys": ["X"]}]}}, "expect.requests[0].keys[0]", "no API 'X'"),
        ({"expect": {"others_ok": ["X"]}}, "expect.others_ok[0]", "no API 'X'"),
        ({"expect": {"unused_ok": ["x"]}}, "expect.unused_ok[0]", "no rule 'x' in this script"),
        ({"steps": [{"do": READY}] * 1001}, "steps", "there may be 1000"),
        (
            {"rules": [{**LOST, "count": -1}], "steps": [{"when": {"rule": "lost"}, "do": READY}]},
            "steps[0].when.rule",
            "never spent: give hits",
        ),
    ],
)
def test_what_is_wrong_has_a_place(members: dict[str, Any], at: str, text: str) -> None:
    with pytest.raises(ControlError) as caught:
        prepared(**members)
    assert caught.value.at == at
    assert text in caught.value.text


def test_rules_get_ids_and_seeds() -> None:
    chance = {"keys": ["Fetch"], "error": "NOT_LEADER_OR_FOLLOWER", "probability": 0.5}
    slow = {"keys": ["Fetch"], "delay_ms": {"median": 1, "sigma": 1}}
    rules = [chance, slow, {**chance, "id": "rule1"}, {**chance, "seed": 5}, LOST]
    first = prepared(rules=rules, seed=1).script
    assert [rule.id for rule in first.rules] == ["rule1_", "rule2", "rule1", "rule4", "lost"]
    assert first.rules == prepared(rules=rules, seed=1).script.rules
    seeds = [rule.seed for rule in first.rules]
    assert seeds[3:] == [5, None]
    assert len({*seeds}) == 5
    assert seeds[:3] != [rule.seed for rule in prepared(rules=rules, seed=2).script.rules][:3]


def test_a_script_without_a_seed_gets_one() -> None:
    assert prepared().script.seed == 7
    assert prepared(seed=0).script.seed == 0


def test_a_record_has_decisions() -> None:
    bench: Any = None
    check = Control(bench, RESOURCES).check
    acted = {"rule": "lost", "match": 3, "request": 5}
    record = {"script": {"rules": [LOST], "seed": 1}, "decisions": [acted]}
    made = prepare(msgspec.convert(record, Record), check, 7)
    assert made.decisions == [Decision("lost", 3, 5)]
    wrong = {**record, "decisions": [{**acted, "rule": "x"}]}
    with pytest.raises(ControlError) as caught:
        prepare(msgspec.convert(wrong, Record), check, 7)
    assert caught.value.at == "decisions[0].rule"
    wrong = {**record, "script": {"rules": [{}]}}
    with pytest.raises(ControlError) as caught:
        prepare(msgspec.convert(wrong, Record), check, 7)
    assert caught.value.at == "script.rules[0]"


def test_a_script_has_a_bound_of_records() -> None:
    with pytest.raises(ControlError, match="there may be 10000") as caught:
        prepare(Script(records=[{"topic": "t"}] * 10_001), lambda *_: None, 1)
    assert caught.value.at == "records"


def test_a_script_has_a_bound_of_groups() -> None:
    offsets = {f"g{number}": {"t": {0: 1}} for number in range(1001)}
    with pytest.raises(ControlError, match="there may be 1000") as caught:
        prepare(Script(offsets=offsets), lambda *_: None, 1)
    assert caught.value.at == "offsets"

"""Which rule acts on a request, and when the seams are empty again."""

import asyncio
from typing import Any

import msgspec
import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.engine import RULES_MAX, Decision, Faults
from broker_lite.testbench.faults.rules import Rule
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker

END_TXN = 26


def beat(bench: FaultyBroker, group: str = "g") -> int:
    code: int = bench.call("Heartbeat", 4, group_id=group).error_code
    return code


def codes(bench: FaultyBroker, count: int) -> list[int]:
    return [beat(bench) for _ in range(count)]


def failing(error: str, **fields: Any) -> dict[str, Any]:
    return {"keys": ["Heartbeat"], "error": error, **fields}


def test_the_first_rule_that_matches_answers(bench: FaultyBroker) -> None:
    first, second = bench.rules(
        failing("NOT_COORDINATOR", group="g", count=2), failing("COORDINATOR_NOT_AVAILABLE")
    )
    assert codes(bench, 3) == [16, 16, 15]
    assert [each.hits for each in (first, second)] == [2, 1]
    assert not bench.seams.hooks
    assert beat(bench) not in (15, 16)


def test_a_rule_that_observes_lets_others_act(bench: FaultyBroker) -> None:
    observed, failed = bench.rules(
        {"keys": ["Heartbeat"], "observe": True, "count": -1}, failing("NOT_COORDINATOR")
    )
    assert beat(bench) == 16
    assert (observed.hits, failed.hits) == (1, 1)


def test_a_rule_after_another_one(bench: FaultyBroker) -> None:
    bench.rules(
        failing("NOT_COORDINATOR", id="lost", count=2),
        failing("COORDINATOR_NOT_AVAILABLE", after="lost"),
    )
    assert codes(bench, 3) == [16, 16, 15]
    bench.rules(
        failing("NOT_COORDINATOR", id="gone", count=-1),
        failing("COORDINATOR_NOT_AVAILABLE", after="gone"),
    )
    assert beat(bench) == 16
    bench.faults.remove("gone")
    assert beat(bench) == 15


def test_the_time_of_a_rule_after_another_one_begins_with_it(bench: FaultyBroker) -> None:
    bench.rules(
        failing("NOT_COORDINATOR", id="first"),
        failing("COORDINATOR_NOT_AVAILABLE", after="first", for_ms=100, count=-1),
    )
    bench.now_ms = 1000
    assert codes(bench, 2) == [16, 15]
    bench.now_ms = 1099
    assert beat(bench) == 15
    bench.now_ms = 1100
    assert beat(bench) not in (15, 16)
    assert not bench.seams.hooks


def test_ids(bench: FaultyBroker) -> None:
    ids = [each.id for each in bench.rules({"hold": True}, {"hold": True, "id": "f3"})]
    ids += [each.id for each in bench.rules({"hold": True}, {"hold": True})]
    assert ids == ["f1", "f3", "f2", "f4"]
    assert [each.id for each in bench.faults.list()] == ids
    bench.faults.remove("f4")
    assert bench.rule(hold=True).id == "f5"


@pytest.mark.parametrize(
    ("rules", "status", "text"),
    [
        ([{"hold": True}, {"error": "X"}], 400, "rules[1].error"),
        ([{"hold": True, "id": "a"}, {"hold": True, "id": "a"}], 409, "rules[1].id"),
        ([{"hold": True, "id": ""}], 400, "rules[0].id"),
        ([{"hold": True, "after": "b"}], 400, "rules[0].after: there is no rule 'b'"),
        ([{"hold": True, "keys": ["Xyz"]}], 400, "rules[0].keys[0]"),
        ([{"hold": True}] * (RULES_MAX + 1), 400, "rules: there may be 1000 rules"),
    ],
)
def test_all_rules_are_added_or_none(
    rules: list[dict[str, Any]],
    status: int,
    text: str,
    bench: FaultyBroker,
) -> None:
    with pytest.raises(ControlError) as caught:
        bench.rules(*rules)
    told = f"{caught.value.at}: {caught.value.text}"
    assert (caught.value.status, text in told) == (status, True)
    assert bench.faults.list() == []


def test_a_rule_that_is_not_there(bench: FaultyBroker) -> None:
    for call in (bench.faults.get, bench.faults.remove):
        with pytest.raises(ControlError) as caught:
            call("f9")
        assert caught.value.status == 404


def test_only_apis_with_rules_have_hooks(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["EndTxn"], hold=True)
    assert set(bench.seams.hooks) == {END_TXN}
    bench.rule(keys=["Heartbeat"], drop="after")
    bench.faults.remove(fault.id)
    assert set(bench.seams.hooks) == {12}
    bench.rule(observe=True)
    assert {0, 1, 3, 18} < set(bench.seams.hooks)
    bench.faults.clear()
    assert not bench.seams.hooks


def test_answers_are_kept_back_unless_a_produce_may_wait(bench: FaultyBroker) -> None:
    bench.rule(keys=["EndTxn"], hold=True)
    bench.rule(keys=["Produce"], drop="after")
    assert not bench.seams.hooks.may_wait
    fault = bench.rule(keys=["Produce"], hold=True)
    assert bench.seams.hooks.may_wait
    bench.faults.remove(fault.id)
    assert not bench.seams.hooks.may_wait


def test_a_rule_that_could_not_be_applied_is_not_spent(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["Metadata"], throttle_ms=5)
    assert bench.call("Metadata", 1, topics=None).brokers
    assert set(bench.seams.hooks) == {3}
    assert fault.state().reasons == ["Metadata: version 1 of the answer has no throttle time"]
    assert bench.call("Metadata", 3, topics=None).throttle_time_ms == 5
    assert not bench.seams.hooks


def test_an_error_in_a_rule_hurts_nobody(
    bench: FaultyBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fault = bench.rule(keys=["Metadata"], throttle_ms=5)

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(fault, "claims", broken)
        assert bench.call("Metadata", 3, topics=None).throttle_time_ms == 0
        assert "f1 cannot look at Metadata" in caplog.text
    monkeypatch.setattr("broker_lite.testbench.faults.answers.Answer.throttle", broken)
    assert bench.call("Metadata", 3, topics=None).throttle_time_ms == 0
    assert "a bug" in fault.state().reasons[0]
    assert (fault.hits, fault.state().not_applied) == (0, 1)


def test_an_error_of_the_handler_stays_one(bench: FaultyBroker) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a bug of the handler")

    api = bench.context.apis[12]
    bench.context.apis = {12: api._replace(handle=broken)}
    fault = bench.rule(keys=["Heartbeat"], throttle_ms=5)
    kind = messages.HeartbeatRequest
    with pytest.raises(RuntimeError, match="of the handler"):
        asyncio.run(bench.send_body(kind, 4, kind(group_id="g")))
    assert (fault.hits, fault.state().left, fault.state().not_applied) == (0, 1, 0)


def test_a_run_is_repeated_by_its_decisions(bench: FaultyBroker) -> None:
    rule = failing("NOT_COORDINATOR", id="r", probability=0.4, count=-1)
    bench.rules(rule)
    first = codes(bench, 30)
    decisions = list(bench.faults.decisions)
    assert decisions[0] == Decision("r", first.index(16) + 1, first.index(16) + 1)
    bench.faults.clear()
    bench.faults.replay(decisions)
    bench.rules(rule)
    assert codes(bench, 30) == first
    bench.faults.clear()
    bench.faults.replay([])


@pytest.mark.asyncio
async def test_a_rule_begins_when_the_time_of_the_one_before_is_over() -> None:
    """Also if no request comes by meanwhile, and nobody looks."""
    faults = Faults()
    rule = {"keys": ["Metadata"], "error": "UNKNOWN_SERVER_ERROR", "count": -1, "for_ms": 20}
    made = [{"id": "a", **rule}, {"id": "b", "after": "a", **rule, "keys": ["Heartbeat"]}]
    first, second = faults.add([msgspec.convert(fields, Rule) for fields in made])
    assert [*faults.wanted_keys()] == [3]
    await asyncio.sleep(0.03)
    assert (first.is_over, second.is_armed, [*faults.wanted_keys()]) == (True, True, [12])
    await asyncio.sleep(0.03)
    assert (second.is_over, [*faults.wanted_keys()]) == (True, [])

"""The form of a rule: errors name the place, and defaults are Kafka's ways."""

from typing import Any

import msgspec
import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.rules import Lognormal, Rule, check_rule


def rule(**fields: Any) -> Rule:
    return msgspec.convert(fields, Rule)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "rules[0]: the rule has no action"),
        ({"error": "NOT_LEADER"}, "rules[0].error: there is no error 'NOT_LEADER'"),
        (
            {"error": "NOT_LEADER_OR_FOLOWER"},
            "rules[0].error: there is no error 'NOT_LEADER_OR_FOLOWER'; did you mean "
            "'NOT_LEADER_OR_FOLLOWER'?",
        ),
        ({"error": "NONE"}, "rules[0].error"),
        ({"error": "NOT_CONTROLLER", "hold": True}, "one action"),
        ({"hold": True, "top_level": True}, "rules[0].top_level: it belongs to an error"),
        ({"hold": True, "applied": True}, "rules[0].applied"),
        ({"hold": True, "reset": True}, "rules[0].reset: it belongs to drop"),
        ({"hold": True, "skip": -1}, "rules[0].skip"),
        ({"hold": True, "count": -2}, "rules[0].count"),
        ({"hold": True, "every": 0}, "rules[0].every"),
        ({"hold": True, "probability": 1.5}, "rules[0].probability"),
        ({"hold": True, "for_ms": 0}, "rules[0].for_ms"),
        ({"cut_at": -1}, "rules[0].cut_at"),
        ({"split": []}, "rules[0].split"),
        ({"split": [1, 0]}, "rules[0].split"),
        ({"poison": "bad-crcs"}, "there is no poison 'bad-crcs'; did you mean 'bad-crc'?"),
        ({"rewrite": {f"topics[{n}].name": "" for n in range(101)}}, "rewrite: it names 1 to 100"),
        ({"observe": True, "delay_ms": 1}, "delay_ms: it does not go with observe: it only counts"),
        ({"observe": True, "throttle_ms": 1}, "rules[0].throttle_ms: it does not go with observe"),
        ({"silence": True, "delay_ms": 1}, "delay_ms: it does not go with silence: there is no"),
        ({"silence": True, "throttle_ms": 1}, "rules[0].throttle_ms: it does not go with silence"),
        ({"drop": "after", "throttle_ms": 1}, "throttle_ms: it does not go with drop: there is no"),
        ({"error": "x" * 900_000}, f"there is no error '{'x' * 100}...'"),
        ({"rewrite": {}}, "rules[0].rewrite: it names 1 to 100 fields"),
        ({"rewrite": {"correlation_id": "a"}}, "correlation_id is a number of 32 bits"),
        ({"rewrite": {"brokers[0].prt": 1}}, "rules[0].rewrite['brokers[0].prt']"),
        ({"rewrite": {"brokers[0].port": "x"}, "keys": ["Metadata"]}, "port is a number"),
        ({"rewrite": {"error_code": 1}, "keys": ["Nothing"]}, "rules[0].keys[0]"),
        ({"delay_ms": -1}, "rules[0].delay_ms"),
        ({"delay_ms": {"median": -1, "sigma": 1}}, "rules[0].delay_ms.median"),
        ({"delay_ms": {"median": 1, "sigma": 11}}, "rules[0].delay_ms.sigma"),
        ({"throttle_ms": -1}, "rules[0].throttle_ms"),
        ({"accept": "hang", "keys": ["Fetch"]}, "rules[0].keys: a client that connects"),
        ({"accept": "hang", "delay_ms": 1}, "rules[0].delay_ms: it delays answers"),
        ({"hold": True, "errno": "EIO"}, "rules[0].errno: it belongs to disk"),
        ({"hold": True, "room_bytes": 1}, "rules[0].room_bytes: it belongs to disk"),
        ({"disk": "write", "observe": True}, "this one has observe and disk"),
        ({"disk": "write", "keys": ["Produce"]}, "rules[0].keys: a call of the disk"),
        ({"disk": "fsync", "room_bytes": 1}, "rules[0].room_bytes: it belongs to a write"),
        ({"disk": "write", "room_bytes": 0}, "rules[0].room_bytes: it is 1 or more"),
        ({"disk": "write", "delay_ms": 1}, "rules[0].delay_ms: a slow write"),
        ({"disk": "fsync", "throttle_ms": 1}, "rules[0].throttle_ms: a call of the disk"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ControlError) as caught:
        check_rule(rule(**fields), "rules[0]")
    assert text in f"{caught.value.at}: {caught.value.text}"
    assert caught.value.status == 400
    assert caught.value.at.startswith("rules[0]")


@pytest.mark.parametrize(
    "fields",
    [
        {"keys": ["produce", 1], "topic": "t", "error": "NOT_LEADER_OR_FOLLOWER", "count": -1},
        {"keys": ["Metadata"], "rewrite": {"brokers[0].port": 1, "correlation_id": 7}},
        {"delay_ms": 5, "error": "NOT_CONTROLLER"},
        {"delay_ms": {"median": 80, "sigma": 0.4, "seed": 1}},
        {"throttle_ms": 5},
        {"accept": "refuse", "nodes": [1], "client_address": "127.*"},
        {"disk": "write", "nodes": [1], "topic": "t", "partitions": [0], "room_bytes": 1},
        {"disk": "fsync", "errno": "ENOSPC", "delay_ms": {"median": 80, "sigma": 0.4}},
    ],
)
def test_right_rules(fields: dict[str, Any]) -> None:
    check_rule(rule(**fields), "rules[0]")


@pytest.mark.parametrize(
    "error",
    ["NOT_LEADER_OR_FOLLOWER", "not_leader_for_partition", "6", 6, "Not_Leader_Or_Follower"],
)
def test_errors_by_name_and_by_code(error: str | int) -> None:
    assert rule(error=error).error_code == 6


@pytest.mark.parametrize("error", ["NONE", 0, "0", 4711, "x", ""])
def test_what_is_no_error(error: str | int) -> None:
    with pytest.raises(ControlError, match="there is no error"):
        check_rule(rule(error=error), "rules[0]")


def test_a_field_that_is_unknown() -> None:
    with pytest.raises(msgspec.ValidationError, match="eror"):
        rule(eror="X")


def test_what_follows_from_a_rule() -> None:
    assert rule(error="REQUEST_TIMED_OUT").is_applied
    assert not rule(error="REQUEST_TIMED_OUT", applied=False).is_applied
    assert not rule(error="NOT_CONTROLLER").is_applied
    assert [rule(**each).may_wait for each in ({"hold": True}, {"silence": True})] == [True, True]
    assert not rule(drop="before").may_wait
    assert rule(delay_ms=1).action == "delay"
    assert rule(delay_ms={"median": 1, "sigma": 0}).delay_ms == Lognormal(median=1, sigma=0)
    assert rule(hold=True).error_code is None

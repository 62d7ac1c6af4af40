"""Rules and selectors as texts."""

import types
import typing

import pytest

from broker_lite.commands.shared.rule_text import (
    FLAGS,
    LISTS,
    MEMBERS,
    NUMBERS,
    parsed_json,
    parsed_rule,
)
from broker_lite.errors import SettingsError
from broker_lite.testbench.faults.rules import Rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "keys=produce,topic=orders,error=NOT_LEADER_OR_FOLLOWER,count=3",
            {"keys": ["produce"], "topic": "orders", "error": "NOT_LEADER_OR_FOLLOWER", "count": 3},
        ),
        ("keys=Produce, Fetch , 3,hold", {"keys": ["Produce", "Fetch", 3], "hold": True}),
        ("hold,topic=7", {"hold": True, "topic": "7"}),
        ("versions=9,11,applied=false", {"versions": [9, 11], "applied": False}),
        ("delay_ms=1.5,group=a=b", {"delay_ms": 1.5, "group": "a=b"}),
        (
            "where.acks=1,where.topics[].name=t,rewrite.correlation_id=7",
            {"where": {"acks": 1, "topics[].name": "t"}, "rewrite": {"correlation_id": 7}},
        ),
        ("delay_ms.median=80,delay_ms.sigma=0.4", {"delay_ms": {"median": 80, "sigma": 0.4}}),
        ("topic=a.b,client_id=", {"topic": "a.b", "client_id": ""}),
        ("unknown=true", {"unknown": "true"}),
        ('{"keys": ["Fetch"]}', {"keys": ["Fetch"]}),
        (' [{"hold": true}]', [{"hold": True}]),
        ("keys={},nodes=[1]", {"keys": ["{}"], "nodes": ["[1]"]}),
    ],
)
def test_a_rule(text: str, value: object) -> None:
    assert parsed_rule(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' in '': write NAME=VALUE, or a flag"),
        ("topic=a,b", "'b' in 'topic=a,b': write NAME=VALUE, or a flag"),
        ("=x", "'=x' in '=x'"),
        ("keys=a,hold,b", "'b' in"),
        ("topic=a,topic=b", "topic is given twice"),
        ("delay_ms=1,delay_ms.median=2", "delay_ms is given in two ways"),
        ("{", "not JSON: "),
    ],
)
def test_what_is_no_rule(text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as error:
        parsed_rule(text)
    assert problem in str(error.value)


def test_what_is_no_json() -> None:
    assert parsed_json("null") is None
    with pytest.raises(SettingsError, match="not JSON: Expecting value"):
        parsed_json("x")


def test_the_kinds_of_fields_are_those_of_a_rule() -> None:
    kinds: dict[type, set[str]] = {}
    for name, hint in typing.get_type_hints(Rule).items():
        options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        for option in options:
            kinds.setdefault(typing.get_origin(option) or option, set()).add(name)
    assert kinds[bool] == FLAGS
    assert (kinds[int] | kinds[float]) - kinds[str] == NUMBERS
    assert kinds[list] | kinds[tuple] == LISTS
    assert kinds[dict] | {"delay_ms"} == MEMBERS

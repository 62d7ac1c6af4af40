"""Conditions on JSON values: JMESPath, and what is looked for in bytes before."""

import json
import pickle

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.errors import SettingsError
from broker_lite.pipeline.matching.json_condition import JsonCondition

NAMES = st.sampled_from(["a", "b", "id", "naïve"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "x", "b"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)
EXPRESSIONS = [
    "a",
    "a.b",
    "a[0].b",
    "a[*].b",
    "a[?id].b",
    "a[?id == 'x'] | [0]",
    "a[]",
    "*.b",
    "@.a",
    "a[1:]",
    "a == 'x'",
    "a == `[]`",
    "a[*].b == `[]`",
    "a == `null`",
    "a == `0`",
    "a == `false`",
    "`1` == a.b",
    "a.b == id",
    "a && b",
    "a == 'x' && b",
    "a || b",
    "!a",
    "a != 'x'",
    "a.not_null(@, 'x')",
    "a | !@",
    "{b: a}.b",
    "[a, b]",
    "length(a) > `1`",
    "contains(a, 'x')",
    '"naïve"',
]
FALSE = (None, False, "", [], {})


def truth(expression: str, value: object) -> bool:
    try:
        result = jmespath.search(expression, value)
    except jmespath.exceptions.JMESPathError:
        return False
    return not any(result is each or (each != 0 and result == each) for each in FALSE)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@given(value=VALUES, is_ascii=st.booleans())
def test_the_search_in_bytes_loses_nothing(expression: str, value: object, is_ascii: bool) -> None:
    data = json.dumps(value, ensure_ascii=is_ascii).encode()
    condition = JsonCondition(expression)
    expected = truth(expression, value)
    assert condition.holds(data) == expected
    assert condition.allows(b"before" + data + b"behind") or not expected


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        ("customer.id == 'c42'", {b"customer", b"id", b"c42"}),
        ("items[*].sku", {b"items", b"sku"}),
        ("items[?price > `10`].sku", {b"items", b"sku"}),
        ("total == `5` && paid", {b"total", b"paid"}),
        ("a == 'with \"quotes\"'", {b"a"}),
        ("a || b", set()),
        ("!a", set()),
    ],
)
def test_what_is_looked_for(expression: str, needed: set[bytes]) -> None:
    assert set(JsonCondition(expression).needed) == needed


def test_names_may_be_written_with_escapes() -> None:
    assert JsonCondition("id == 'x'").holds(rb'{"\u0069d": "\u0078"}')


@pytest.mark.parametrize("value", [None, b"", b"{", b'{"id": 1', b"\xff", b"id", b"[" * 100_000])
def test_what_is_no_json_is_not_found(value: bytes | None) -> None:
    assert not JsonCondition("id").holds(value)
    assert not JsonCondition("!id").holds(value)


@pytest.mark.parametrize("expression", ["", "a.", "a ==", "[?", "(" * 100_000, "unknown(a)"])
def test_what_is_no_expression(expression: str) -> None:
    if expression == "unknown(a)":  # functions are looked up when they are called
        assert not JsonCondition(expression).holds(b"1")
        return
    with pytest.raises(SettingsError, match=r"^--json .*no JMESPath expression: ."):
        JsonCondition(expression)


def test_it_goes_to_other_processes() -> None:
    condition = JsonCondition("id == 'x'")
    copy = pickle.loads(pickle.dumps(condition))
    assert copy == condition
    assert hash(copy) == hash(condition)
    assert copy.holds(b'{"id": "x"}')


@pytest.mark.parametrize(
    ("expression", "value", "holds"),
    [
        ("total > `100`", b'{"total": "n/a"}', False),
        ("total > `100` || vip", b'{"total": "n/a", "vip": true}', True),
        ("contains(a, `1`)", b'{"a": "text"}', False),
        ("a[::0]", b'{"a": [1]}', False),
        ("ceil(a)", b'{"a": 1e400}', False),
    ],
)
def test_values_of_other_types_are_no_error(expression: str, value: bytes, holds: bool) -> None:
    assert JsonCondition(expression).holds(value) == holds

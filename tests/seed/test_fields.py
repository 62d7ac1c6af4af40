import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.seed.fields import FieldError, Headers, SeedRecord, make_record, to_bytes

JSON_VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner | st.none() | st.text(), max_size=3)
        | st.dictionaries(st.text(max_size=4), inner | st.none() | st.text(), max_size=3)
    ),
    max_leaves=5,
).filter(lambda value: not (isinstance(value, dict) and value.keys() == {"base64"}))


def test_only_the_topic_is_needed() -> None:
    assert make_record({"topic": "t"}, 7) == SeedRecord(7, "t", None, None, None, (), None)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, None),
        ("", b""),
        ("é", "é".encode()),
        ({"base64": "AP8="}, b"\x00\xff"),
        ({"base64": ""}, b""),
        ({"base64": "AA==", "b": 1}, b'{"base64":"AA==","b":1}'),
        ({"a": [1, 2.5, None, True, "é"]}, '{"a":[1,2.5,null,true,"é"]}'.encode()),
        ([], b"[]"),
        ({}, b"{}"),
        (0, b"0"),
        (False, b"false"),
        (2**70, str(2**70).encode()),
    ],
    ids=repr,
)
def test_keys_and_values(value: object, data: bytes | None) -> None:
    record = make_record({"topic": "t", "key": value, "value": value}, 1)
    assert (record.key, record.value) == (data, data)


@given(JSON_VALUES)
def test_other_json_values_are_their_text(value: object) -> None:
    data = to_bytes("value", value)
    assert data is not None
    assert json.loads(data) == value


@given(st.binary(max_size=50))
def test_bytes_come_through(data: bytes) -> None:
    assert to_bytes("key", {"base64": base64.b64encode(data).decode()}) == data


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (None, ()),
        ({}, ()),
        ({"a": "1", "b": None}, ((b"a", b"1"), (b"b", None))),
        ([["a", "1"], ["a", {"base64": "AA=="}]], ((b"a", b"1"), (b"a", b"\x00"))),
        ([["é", 5]], (("é".encode(), b"5"),)),
    ],
)
def test_headers(headers: object, expected: Headers) -> None:
    assert make_record({"topic": "t", "headers": headers}, 1).headers == expected


@pytest.mark.parametrize(
    ("timestamp", "expected_ms"),
    [
        (None, None),
        (0, 0),
        (1700000000123, 1700000000123),
        (2**63 - 1, 2**63 - 1),
        ("2023-11-14T22:13:20.123Z", 1700000000123),
        ("2023-11-14T22:13:20.123999", 1700000000123),
        ("2023-11-14T23:13:20+01:00", 1700000000000),
        ("2023-11-14 22:13:20", 1700000000000),
        ("2023-11-14", 1699920000000),
        ("1970-01-01", 0),
    ],
)
def test_timestamps(timestamp: object, expected_ms: int | None) -> None:
    assert make_record({"topic": "t", "timestamp": timestamp}, 1).timestamp_ms == expected_ms


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "topic: has to be a text"),
        ({"topic": 5}, "topic: has to be a text"),
        ({"topic": None}, "topic: has to be a text"),
        ({"values": "v"}, "values: no such field; there are topic, partition, key, value, headers"),
        ({"partition": -1}, "partition: -1 is no partition, 0 to 2147483647"),
        ({"partition": 2**31}, "partition: 2147483648 is no partition"),
        ({"partition": "0"}, "partition: 0 is no partition"),
        ({"partition": True}, "partition: True is no partition"),
        ({"partition": 1.0}, "partition: 1.0 is no partition"),
        ({"key": {"base64": "A"}}, "key: no base64: "),
        ({"key": {"base64": "é"}}, "key: no base64: "),
        ({"value": {"base64": 5}}, "value: base64 has to be a text"),
        ({"value": "\ud800"}, "value: 'utf-8' codec can't encode"),
        ({"value": ["\ud800"]}, "value: 'utf-8' codec can't encode"),
        ({"value": float("inf")}, "value: Out of range float values are not JSON compliant"),
        ({"headers": "a"}, "headers: neither an object nor a list of pairs"),
        ({"headers": ["ab"]}, "headers: a pair is [NAME, VALUE], the name a text"),
        ({"headers": [["a"]]}, "headers: a pair is [NAME, VALUE]"),
        ({"headers": [[1, "a"]]}, "headers: a pair is [NAME, VALUE]"),
        ({"headers": {"\ud800": "a"}}, "headers: 'utf-8' codec can't encode"),
        ({"timestamp": -1}, "timestamp: -1 is neither milliseconds from 0 on nor ISO 8601"),
        ({"timestamp": 2**63}, "timestamp: 9223372036854775808 is neither"),
        ({"timestamp": 1.5}, "timestamp: 1.5 is neither"),
        ({"timestamp": True}, "timestamp: True is neither"),
        ({"timestamp": "soon"}, "timestamp: soon is no time as ISO 8601 has it"),
        ({"timestamp": "1969-12-31"}, "timestamp: -86400000 is neither"),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_what_a_field_may_not_be(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(FieldError) as caught:
        make_record(fields if "topic" in fields or not fields else {"topic": "t", **fields}, 1)
    assert str(caught.value).startswith(reason)


def test_a_value_may_not_be_nested_without_end() -> None:
    value: object = None
    for _ in range(100_000):
        value = [value]
    with pytest.raises(FieldError, match="value: maximum recursion depth exceeded"):
        to_bytes("value", value)

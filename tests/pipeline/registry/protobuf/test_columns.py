from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from broker_lite.pipeline.registry.errors import UnusableSchema
from broker_lite.pipeline.registry.protobuf import columns
from broker_lite.pipeline.registry.protobuf.columns import Shape
from broker_lite.pipeline.registry.protobuf.compiler import compiled
from tests.pipeline.registry.protobuf_messages import PROTO3, message_class, stored

IMPORTS = "".join(
    f'import "google/protobuf/{name}.proto";' for name in ("timestamp", "duration", "wrappers")
)
GOOGLE = "google.protobuf."


def shape_of(text: str, name: str = "M") -> tuple[Shape, Any]:
    schema = stored(text)
    return Shape(compiled(schema).pool.FindMessageTypeByName(name)), message_class(schema, name)


@pytest.mark.parametrize(
    ("kind", "expected", "value", "column"),
    [
        ("double", pa.float64(), 1.5, 1.5),
        ("float", pa.float32(), 1.5, 1.5),
        ("int32", pa.int32(), -5, -5),
        ("sint32", pa.int32(), -5, -5),
        ("sfixed32", pa.int32(), -5, -5),
        ("int64", pa.int64(), -(1 << 63), -(1 << 63)),
        ("sint64", pa.int64(), -5, -5),
        ("sfixed64", pa.int64(), -5, -5),
        ("uint32", pa.int64(), (1 << 32) - 1, (1 << 32) - 1),
        ("fixed32", pa.int64(), 5, 5),
        ("uint64", pa.decimal128(20, 0), (1 << 64) - 1, Decimal((1 << 64) - 1)),
        ("fixed64", pa.decimal128(20, 0), 5, Decimal(5)),
        ("bool", pa.bool_(), True, True),
        ("string", pa.string(), "a", "a"),
        ("bytes", pa.binary(), b"a", b"a"),
        ("E", pa.string(), 1, "ONE"),
        ("E", pa.string(), 7, "7"),
        ("Inner", pa.struct([("n", pa.int32())]), {"n": 1}, {"n": 1}),
        (
            GOOGLE + "Timestamp",
            pa.timestamp("us", tz="UTC"),
            {"seconds": 1, "nanos": 1999},
            1000001,
        ),
        (GOOGLE + "Duration", pa.duration("us"), {"seconds": -1, "nanos": -1999}, -1000001),
        (GOOGLE + "Int64Value", pa.int64(), {"value": 0}, 0),
        (GOOGLE + "UInt64Value", pa.decimal128(20, 0), {"value": 5}, Decimal(5)),
        (GOOGLE + "StringValue", pa.string(), {"value": "a"}, "a"),
    ],
)
def test_each_type_alone_repeated_and_in_a_map(
    kind: str, expected: pa.DataType, value: Any, column: Any
) -> None:
    fields = f"{kind} one = 1; repeated {kind} many = 2; map<string, {kind}> named = 3;"
    rest = " message Inner { int32 n = 1; } enum E { ZERO = 0; ONE = 1; }"
    shape, message = shape_of(PROTO3 + IMPORTS + "message M { " + fields + rest + "}")
    assert shape.type == pa.struct(
        [
            ("one", expected),
            ("many", pa.list_(pa.field("element", expected))),
            ("named", pa.map_(pa.string(), expected)),
        ]
    )
    made = message(one=value, many=[value, value])
    if isinstance(value, dict):
        for name, each in value.items():
            setattr(made.named["k"], name, each)
    else:
        made.named["k"] = value
    found = shape.convert(made)
    assert found == {"one": column, "many": [column, column], "named": [("k", column)]}
    assert pa.array([found, None], shape.type).null_count == 1


def test_what_is_not_set() -> None:
    shape, message = shape_of(
        PROTO3
        + IMPORTS
        + "message M { int32 plain = 1; optional int32 tracked = 2; oneof one { int32 a = 3;"
        " string b = 4; } M2 inner = 5; repeated int32 many = 6; google.protobuf.BoolValue w = 7; }"
        " message M2 {}"
    )
    unset = {"tracked": None, "a": None, "b": None, "inner": None, "many": [], "w": None}
    assert shape.convert(message()) == {"plain": 0, **unset}
    assert shape.convert(message(a=0, tracked=0)) == {"plain": 0, **unset, "tracked": 0, "a": 0}
    assert not shape.has_required


def test_proto2() -> None:
    shape, message = shape_of(
        'syntax = "proto2"; message M { required int32 id = 1; optional string unset = 2;'
        " optional int32 count = 3 [default = 7]; optional group G = 4 { optional int32 x = 1; } }"
    )
    assert shape.has_required
    expected = {"id": 1, "unset": None, "count": 7, "g": None}
    assert shape.convert(message(id=1)) == expected
    assert shape.convert(message(id=1, g={"x": 2})) == {**expected, "g": {"x": 2}}


def test_enums_with_two_names_of_a_number() -> None:
    shape, message = shape_of(
        PROTO3 + "message M { E e = 1; } enum E { option allow_alias = true; A = 0; B = 0; }"
    )
    assert shape.convert(message()) == {"e": "A"}


@pytest.mark.parametrize(
    "text",
    [
        "message M { M next = 1; }",
        "message M { Other other = 1; } message Other { repeated M all = 1; }",
        "message M { map<string, M> all = 1; }",
    ],
)
def test_a_message_that_contains_itself(text: str) -> None:
    with pytest.raises(UnusableSchema, match="the message M contains itself"):
        shape_of(PROTO3 + text)


def test_messages_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROTO3 + "message M { Inner a = 1; Inner b = 2; } message Inner { int32 x = 1; }"
    assert shape_of(text)
    monkeypatch.setattr(columns, "FIELDS_MAX", 3)
    with pytest.raises(UnusableSchema, match="more than 3 fields"):
        shape_of(text)
    monkeypatch.setattr(columns, "NESTING_MAX", 1)
    with pytest.raises(UnusableSchema, match="nested more than 1 deep"):
        shape_of(text)

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from broker_lite.pipeline.registry.avro.columns import (
    arrow_type,
    converter,
    has_ambiguous_unions,
)
from broker_lite.pipeline.registry.avro.schema import tree_of
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from tests.pipeline.registry.avro_messages import field, record

ENUM = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("null", pa.null()),
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ("string", pa.string()),
        (ENUM, pa.string()),
        (FIXED, pa.binary()),
        (logical("int", "date"), pa.date32()),
        (logical("int", "time-millis"), pa.int32()),
        (logical("long", "time-micros"), pa.int64()),
        (logical("long", "timestamp-millis"), pa.timestamp("us", tz="UTC")),
        (logical("long", "timestamp-micros"), pa.timestamp("us", tz="UTC")),
        (logical("long", "local-timestamp-millis"), pa.timestamp("us")),
        (logical("long", "local-timestamp-micros"), pa.timestamp("us")),
        (logical("string", "uuid"), pa.string()),
        (PRICE, pa.decimal128(4, 2)),
        ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.int32())),
        (["null"], pa.null()),
        (["null", "int"], pa.int32()),
        (["int", "null", "long"], pa.int64()),
        (["double", "float"], pa.float64()),
        (["int", "string"], pa.struct([("member0", pa.int32()), ("member1", pa.string())])),
        (record(), pa.struct([])),
    ],
)
def test_types(schema: Any, expected: pa.DataType) -> None:
    assert arrow_type(tree_of(schema)) == expected


def test_milliseconds_become_microseconds() -> None:
    millis = logical("long", "timestamp-millis")
    assert changed(millis, -5) == -5000
    assert changed(["null", logical("long", "local-timestamp-millis")], 5) == 5000
    nothing = {"type": "map", "values": "null"}
    schema = record(field("at", millis), field("all", {"type": "array", "items": nothing}))
    value = changed(schema, {"at": 5, "all": [{}, {"a": None}]})
    array = pa.array([value] * 3, arrow_type(tree_of(schema)))
    array.validate(full=True)
    assert array[2].as_py()["all"] == [[], [("a", None)]]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [({**PRICE, "precision": 39}, "precision 39; Spark holds 38 digits"), ([], "has no branch")],
)
def test_what_no_column_holds(schema: Any, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected):
        arrow_type(tree_of(schema))


@pytest.mark.parametrize("schema", ["int", ["null", "string"], record(field("a", "int")), ["null"]])
def test_what_needs_no_change(schema: Any) -> None:
    assert converter(tree_of(schema), is_named=False) is None
    assert not has_ambiguous_unions(tree_of(schema))


def changed(schema: Any, value: Any, *, is_named: bool = False) -> Any:
    change = converter(tree_of(schema), is_named=is_named)
    assert change is not None
    return change(value)


def test_decimals_are_exact() -> None:
    assert changed(PRICE, b"\x27\x0f") == Decimal("99.99")
    assert changed(PRICE, b"\xd8\xf1") == Decimal("-99.99")
    assert changed(PRICE, b"") == Decimal("0.00")
    with pytest.raises(BadMessage, match="has a decimal of more than 4 digits"):
        changed(PRICE, b"\x27\x10")


def test_inside_of_others() -> None:
    schema = record(
        field("one", ["null", PRICE]),
        field("many", {"type": "array", "items": PRICE}),
        field("named", {"type": "map", "values": PRICE}),
        field("plain", "int"),
    )
    value = {"one": None, "many": [b"\1"], "named": {"a": b"\2"}, "plain": 3}
    many, named = [Decimal("0.01")], {"a": Decimal("0.02")}
    assert changed(schema, value) == {"one": None, "many": many, "named": named, "plain": 3}


def test_uuids() -> None:
    fixed = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    assert changed(fixed, bytes(range(16))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, {"member0": True}),
        (5, {"member1": 5}),
        (1 << 40, {"member2": 1 << 40}),
        (1.5, {"member3": 1.5}),
        ("X", {"member4": "X"}),
        (b"ab", {"member5": b"ab"}),
        ([1], {"member6": [1]}),
        ({"a": 1}, {"member7": {"a": 1}}),
        (("E", "X"), {"member8": "X"}),
        (("F", b"ab"), {"member9": b"ab"}),
        (("R", {"a": 1}), {"member10": {"a": 1}}),
    ],
)
def test_each_branch_of_a_union(value: Any, expected: Any) -> None:
    numbers = ["boolean", "int", "long", "double", "string", "bytes"]
    containers = [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}]
    schema = ["null", *numbers, *containers, ENUM, FIXED, record(field("a", "int"))]
    assert has_ambiguous_unions(tree_of(schema))
    assert changed(schema, value, is_named=True) == expected
    assert pa.array([expected], arrow_type(tree_of(schema))).null_count == (value is None)


def test_values_with_a_name() -> None:
    """What fastavro gives where a union of a schema needs it."""
    assert changed(["null", ENUM], ("E", "X"), is_named=True) == "X"
    nested = record(field("a", ["null", FIXED]), field("b", ENUM))
    value = {"a": ("F", b"ab"), "b": "X"}
    assert changed(nested, value, is_named=True) == {"a": b"ab", "b": "X"}
    with pytest.raises(BadMessage, match="no branch for a value of type float"):
        changed(["int", ENUM], 1.5, is_named=True)

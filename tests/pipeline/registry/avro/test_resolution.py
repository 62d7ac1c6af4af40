from decimal import Decimal
from typing import Any

import pytest

from broker_lite.pipeline.registry.avro.resolution import check_items, resolver
from broker_lite.pipeline.registry.avro.schema import tree_of
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from tests.pipeline.registry.avro_messages import field, record

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
ENUM = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.mark.parametrize(
    "items",
    ["null", record(), record(field("n", "null")), {"type": "fixed", "name": "F", "size": 0}],
)
def test_items_of_no_bytes(items: Any) -> None:
    tree = tree_of(record(field("a", ["null", {"type": "array", "items": items}]), name="Outer"))
    with pytest.raises(UnusableSchema, match="items take no bytes"):
        check_items(tree)


def test_items_of_some_bytes() -> None:
    check_items(tree_of({"type": "array", "items": ["null"]}))
    check_items(tree_of({"type": "array", "items": record(field("a", "int"), field("n", "null"))}))


def resolved(writer: Any, reader: Any, value: Any) -> Any:
    return resolver(tree_of(writer), tree_of(reader))(value)


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        (MILLIS, MILLIS, 5, 5000),
        ("long", MILLIS, 5, 5000),
        (MILLIS, "long", 5, 5),
        ("int", MILLIS, 5, 5000),
        (PRICE, {**PRICE, "precision": 9}, b"\x01\x00", Decimal("2.56")),
        ("string", PRICE, "\x01", Decimal("0.01")),
        ("long", "double", 5, 5.0),
        ("bytes", "string", b"a", "a"),
        (["null", MILLIS], MILLIS, 5, 5000),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [5], [5.0]),
        (
            {"type": "map", "values": "int"},
            {"type": "map", "values": "float"},
            {"a": 5},
            {"a": 5.0},
        ),
        (FIXED, {**FIXED, "name": "other.F"}, b"ab", b"ab"),
        (FIXED, {**FIXED, "name": "G", "aliases": ["F"]}, b"ab", b"ab"),
        (ENUM, {**ENUM, "symbols": ["Y"], "default": "Y"}, "X", "Y"),
        (record(field("a", MILLIS)), record(field("b", MICROS, default=7)), {"a": 1}, {"b": 7}),
    ],
)
def test_what_goes_together(writer: Any, reader: Any, value: Any, expected: Any) -> None:
    found = resolved(writer, reader, value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        # The very type goes before one that the value could be promoted to.
        ("string", ["bytes", "string"], "a", {"member1": "a"}),
        ("bytes", ["string", "bytes"], b"a", {"member1": b"a"}),
        ("long", ["double", "string", "long"], 5, {"member2": 5}),
        ("int", ["string", "double", "long"], 5, {"member1": 5.0}),
        ("int", ["null", "long"], 5, 5),
        ("int", ["int", "long"], 5, 5),
        ("null", ["int", "null"], None, None),
        (ENUM, ["string", ENUM], "X", {"member1": "X"}),
        (["null", "int"], ["null", "string", "int"], 5, {"member1": 5}),
        (["null", "int"], ["null", "string", "int"], None, None),
        (["int", ENUM], ["null", ENUM, "long"], ("E", "X"), {"member0": "X"}),
        (["int", ENUM], ENUM, ("E", "X"), "X"),
        (["int", FIXED, ENUM], [ENUM, FIXED], ("F", b"ab"), {"member1": b"ab"}),
    ],
)
def test_unions(writer: Any, reader: Any, value: Any, expected: Any) -> None:
    assert resolved(writer, reader, value) == expected


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        (MILLIS, MICROS, "the value was written as timestamp-millis, and .* timestamp-micros$"),
        (PRICE, {**PRICE, "scale": 3}, r"decimal\(4, 2\), and .* decimal\(4, 3\)"),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MICROS}, "millis"),
        ("long", "int", "was written as long, and the result's schema has int"),
        ("int", "null", "was written as int, and the result's schema has null"),
        ("int", ["null", "string"], "written as int, of which the result's union has none"),
        ("null", ["int", "string"], "written as null, of which"),
        (["int"], "string", "written as int"),
        (FIXED, {**FIXED, "size": 3}, "written as fixed F, and"),
        (ENUM, {**ENUM, "name": "D"}, "written as enum E, and the result's schema has enum D"),
        (record(field("a", "int")), record(field("b", "int")), "the field b was not written"),
        (record(), record(name="S"), "record R, and the result's schema has record S"),
        (
            record(field("a", MILLIS)),
            record(field("b", MICROS, aliases=["a"])),
            "the field b was written as timestamp-millis",
        ),
        (record(), record(field("a", "bytes", default=5)), "the default 5 is none of its type"),
    ],
)
def test_what_does_not(writer: Any, reader: Any, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected):
        resolver(tree_of(writer), tree_of(reader))


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        (["null", "string"], "string", None, "does not fit the result's schema: the value was"),
        (["int", ENUM], "int", ("E", "X"), "does not fit the result's schema: the value was"),
        (["int", "string"], ["int", "string", "null"], 1.5, "no branch for a value of type float"),
        (ENUM, {**ENUM, "symbols": ["X"]}, "Y", "E lacks 'Y'"),
        (PRICE, {**PRICE, "precision": 2}, b"\x7f", "more than 2 digits"),
    ],
)
def test_single_values_that_do_not(writer: Any, reader: Any, value: Any, expected: str) -> None:
    with pytest.raises(BadMessage, match=expected):
        resolved(writer, reader, value)


def test_defaults() -> None:
    inner = record(field("b", "bytes"), field("c", "int", default=3), name="Inner")
    schema = record(
        field("bytes", "bytes", default="\u00ff"),
        field("optional", ["null", "bytes"], default=None),
        field("first", ["bytes", "null"], default="\u0001"),
        field("array", {"type": "array", "items": "bytes"}, default=["a"]),
        field("map", {"type": "map", "values": "bytes"}, default={"k": "a"}),
        field("record", inner, default={"b": "a"}),
        field("text", "string", default="text"),
        field("number", "double", default=1),
        field("price", PRICE, default="\u0001"),
        field("enum", ENUM, default="X"),
        field("union", ["string", "int"], default="x"),
        field("named", ["E", "null"], default="X"),
    )
    assert resolved(record(), schema, {}) == {
        "bytes": b"\xff",
        "optional": None,
        "first": b"\1",
        "array": [b"a"],
        "map": {"k": b"a"},
        "record": {"b": b"a", "c": 3},
        "text": "text",
        "number": 1.0,
        "price": Decimal("0.01"),
        "enum": "X",
        "union": {"member0": "x"},
        "named": "X",
    }

from typing import Any

import fastavro
import pytest

from broker_lite.pipeline.registry.avro.resolution import (
    check_items,
    check_logical_types,
    with_bytes_as_defaults,
)
from broker_lite.pipeline.registry.avro.schema import tree_of
from broker_lite.pipeline.registry.errors import UnusableSchema
from tests.pipeline.registry.avro_messages import field, record

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
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


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (MILLIS, MILLIS),
        ("long", MILLIS),
        (MILLIS, "long"),
        (PRICE, {**PRICE, "precision": 9}),
        (["null", MILLIS], MILLIS),
        (record(field("a", MILLIS)), record(field("b", MICROS))),
        (
            [record(field("a", MILLIS)), record(field("a", MICROS), name="S")],
            [record(field("a", MILLIS)), record(field("a", MICROS), name="S")],
        ),
    ],
)
def test_meanings_that_go_together(writer: Any, reader: Any) -> None:
    check_logical_types(tree_of(writer), tree_of(reader))


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        (MILLIS, MICROS, "the value was written as timestamp-millis, and .* timestamp-micros$"),
        (PRICE, {**PRICE, "scale": 3}, r"decimal\(4, 2\), and .* decimal\(4, 3\)"),
        (["null", MILLIS], MICROS, "timestamp-millis"),
        (record(field("a", MILLIS)), record(field("b", MICROS, aliases=["a"])), "the field b was"),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MICROS}, "millis"),
        ({"type": "map", "values": MILLIS}, {"type": "map", "values": MICROS}, "millis"),
    ],
)
def test_meanings_that_do_not(writer: Any, reader: Any, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected):
        check_logical_types(tree_of(writer), tree_of(reader))


def test_defaults_of_bytes() -> None:
    inner = record(field("b", "bytes"), name="Inner")
    schema = record(
        field("one", "bytes", default="\u00ff"),
        field("two", ["bytes", "null"], default="\u0001"),
        field("three", {"type": "array", "items": "bytes"}, default=["a"]),
        field("four", {"type": "map", "values": "bytes"}, default={"k": "a"}),
        field("five", inner, default={"b": "a"}),
        field("six", "string", default="text"),
        field(
            "seven", {"type": "map", "values": record(field("c", "bytes", default="c"), name="S")}
        ),
        field("eight", ["null", "Inner"], default=None),
    )
    tree = tree_of(schema)
    parsed = fastavro.parse_schema(schema)
    with_bytes_as_defaults(parsed, tree)
    with_bytes_as_defaults(parsed, tree)  # changes nothing more
    assert [each.get("default") for each in parsed["fields"]] == [
        b"\xff",
        b"\1",
        [b"a"],
        {"k": b"a"},
        {"b": b"a"},
        "text",
        None,
        None,
    ]
    assert parsed["fields"][6]["type"]["values"]["fields"][0]["default"] == b"c"

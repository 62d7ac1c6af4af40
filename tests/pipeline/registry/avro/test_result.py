"""Also tests: broker_lite.pipeline.registry.result."""

from typing import Any

import pytest

from broker_lite.pipeline.registry.avro.result import AvroResult
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from broker_lite.pipeline.registry.settings import Format, StoredSchema
from tests.pipeline.registry.avro_messages import encoded, field, framed, record, stored

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}


def read(writer: Any, reader: Any, value: Any) -> Any:
    made = AvroResult(stored(reader)).reader_of(stored(writer))
    return made(encoded(writer, value))


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("int", "int", 5, 5),
        ("int", "long", 5, 5),
        ("int", "double", 5, 5.0),
        ("string", "bytes", "a", b"a"),
        ("bytes", "string", b"a", "a"),
        ("int", ["null", "long"], 5, 5),
        (["null", "int"], ["null", "long", "string"], 5, {"member0": 5}),
        (ENUM, {**ENUM, "symbols": ["X"], "default": "X"}, "Y", "X"),
        (ENUM, ["null", ENUM, "int"], "Y", {"member0": "Y"}),
        (["null", ENUM], ENUM, "Y", "Y"),
    ],
)
def test_evolution(writer: Any, reader: Any, value: Any, expected: Any) -> None:
    assert read(writer, reader, value) == expected


def test_evolution_of_records() -> None:
    writer = record(field("gone", "string"), field("old", "int"), field("kept", "int"))
    reader = record(
        field("new", "long", aliases=["old"]),
        field("kept", ["null", "int"]),
        field("added", ["null", "string"], default=None),
        field("bytes", "bytes", default="\u00ff"),
    )
    value = {"gone": "x", "old": 1, "kept": 2}
    expected = {"new": 1, "kept": 2, "added": None, "bytes": b"\xff"}
    assert read(writer, reader, value) == expected


@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        (ENUM, {**ENUM, "symbols": ["X"]}, "Y"),
        (["int", "string"], "long", "a"),
        ("bytes", "string", b"\xff"),
        ("bytes", DECIMAL, b"\x7f"),
    ],
)
def test_values_that_do_not_resolve(writer: Any, reader: Any, value: Any) -> None:
    with pytest.raises(BadMessage, match=r"does not fit|no UTF-8|digits"):
        read(writer, reader, value)


def test_what_the_result_leaves_out_has_to_be_there_too() -> None:
    """By two schemas, fastavro would skip the last field without looking whether it is whole."""
    writer, reader = record(field("a", "int"), field("b", "string")), record(field("a", "int"))
    made = AvroResult(stored(reader)).reader_of(stored(writer))
    message = encoded(writer, {"a": 1, "b": "long enough"})
    assert made(message) == {"a": 1}
    with pytest.raises(BadMessage, match="ends within its value"):
        made(message[:-1])


def test_references() -> None:
    inner = record(field("n", "int"), name="a.Inner")
    outer = record(field("x", "a.Inner"), name="a.R")
    schema = stored(outer, inner)
    message = encoded(record(field("x", inner), name="a.R"), {"x": {"n": 5}})
    assert AvroResult(schema).reader_of(schema)(message) == {"x": {"n": 5}}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"", "ends within its value"),
        (b"\x02", "ends within its value"),
        (b"\x01", "ends within its value"),
        (b"\x02\xff", "has a text that is no UTF-8"),
        (b"\x02aa", "has 1 bytes behind its value"),
    ],
)
def test_damage(payload: bytes, expected: str) -> None:
    schema = stored("string")
    with pytest.raises(BadMessage, match=expected):
        AvroResult(schema).reader_of(schema)(framed(1, payload))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (stored({"type": "enum", "name": "E"}), "no Avro schema"),
        (stored({"type": "enum", "name": "E", "symbols": ["not a name"]}), "no Avro schema"),
        (stored(record(field("next", ["null", "R"]))), "contains itself"),
        (StoredSchema(Format.AVRO, "{"), "no JSON"),
    ],
)
def test_schemas_of_no_use(schema: StoredSchema, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected):
        AvroResult(schema)


def test_writers_of_no_use() -> None:
    result = AvroResult(stored("int"))
    with pytest.raises(UnusableSchema, match="it is no Avro schema"):
        result.reader_of(StoredSchema(Format.RAW, "{}"))
    with pytest.raises(UnusableSchema, match="items take no bytes"):
        result.reader_of(stored({"type": "array", "items": "null"}))
    with pytest.raises(UnusableSchema, match="the value was written as long"):
        result.reader_of(stored("long"))

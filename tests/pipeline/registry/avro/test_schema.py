from typing import Any

import pytest

from broker_lite.pipeline.registry.avro.schema import (
    Node,
    load_json,
    tree_of,
    used_names,
    without_logical_types,
)
from broker_lite.pipeline.registry.errors import UnusableSchema
from tests.pipeline.registry.avro_messages import field, record

DAY = {"type": "int", "logicalType": "date"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


def test_names_are_resolved_in_their_namespaces() -> None:
    inner = record(field("day", DAY), name="Inner", namespace="b")
    outer = record(
        field("one", inner),
        field("two", ["null", "b.Inner"], aliases=["zwei"]),
        field("self", {"type": "enum", "name": "E", "symbols": ["X"]}),
        field("again", {"type": "array", "items": "E"}),
        name="a.Outer",
    )
    day = Node("int", "int", "date")
    b_inner = Node("record", "b.Inner", None, (day,), ("day",), ((),), defaults=((),))
    enum = Node("enum", "a.E", symbols=("X",))
    assert tree_of(outer) == Node(
        "record",
        "a.Outer",
        None,
        (
            b_inner,
            Node("union", "union", children=(Node("null", "null"), b_inner)),
            enum,
            Node("array", "array", children=(enum,)),
        ),
        ("one", "two", "self", "again"),
        ((), ("zwei",), (), ()),
        defaults=((), (), (), ()),
    )


def test_what_evolution_needs() -> None:
    enum = {"type": "enum", "name": "a.E", "symbols": ["X"], "default": "X", "aliases": ["Old"]}
    assert tree_of(enum) == Node("enum", "a.E", other_names=("a.Old",), symbols=("X",), symbol="X")
    made = tree_of(record(field("n", "int", default=None), aliases=["b.Old"]))
    assert (made.defaults, made.other_names) == (((None,),), ("b.Old",))
    assert tree_of({"type": "fixed", "name": "F", "size": 1, "aliases": ["G"]}).other_names == (
        "G",
    )


def test_references_define_names() -> None:
    inner = record(field("n", "int"), name="a.Inner")
    schema = record(field("x", {"type": "map", "values": "Inner"}), name="a.R")
    assert tree_of(schema, [inner]).children[0].children[0].name == "a.Inner"
    with pytest.raises(UnusableSchema, match=r"the type a\.Inner is not defined"):
        tree_of(schema)
    assert tree_of(["null", "a.Inner"], [[inner, {"type": "fixed", "name": "F", "size": 1}]])


@pytest.mark.parametrize(
    ("schema", "logical"),
    [
        (DAY, "date"),
        (PRICE, "decimal"),
        ({"type": "string", "logicalType": "uuid"}, "uuid"),
        ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "uuid"),
        ({"type": "fixed", "name": "U", "size": 15, "logicalType": "uuid"}, None),
        ({"type": "string", "logicalType": "date"}, None),
        ({"type": "long", "logicalType": "timestamp-picos"}, None),
        ({**PRICE, "scale": 7}, None),
        ({**PRICE, "precision": 0, "scale": 0}, None),
        ({**PRICE, "precision": "6"}, None),
    ],
)
def test_logical_types_where_they_apply(schema: Any, logical: str | None) -> None:
    assert tree_of(schema).logical == logical


def test_the_digits_of_decimals() -> None:
    fixed = {**PRICE, "type": "fixed", "name": "P", "size": 5}
    for schema in (PRICE, fixed):
        node = tree_of(schema)
        assert (node.precision, node.scale) == (6, 2)
    assert tree_of(fixed).size == 5


@pytest.mark.parametrize(
    "schema",
    [
        record(field("next", ["null", "R"])),
        record(field("tree", {"type": "array", "items": {"type": "map", "values": "R"}})),
        record(field("a", record(field("b", ["null", "R"]), name="B"))),
    ],
)
def test_a_type_that_contains_itself(schema: Any) -> None:
    with pytest.raises(UnusableSchema, match="type R contains itself"):
        tree_of(schema)


def test_a_schema_that_grows_by_its_names() -> None:
    bomb: Any = record(field("x", "int"), name="R0")
    for level in range(1, 10):
        first = field("f0", bomb)
        rest = [field(f"f{number}", f"R{level - 1}") for number in range(1, 10)]
        bomb = record(first, *rest, name=f"R{level}")
    with pytest.raises(UnusableSchema, match="more than 10,000 types"):
        tree_of(bomb)


@pytest.mark.parametrize(
    "schema",
    [
        5,
        None,
        {},
        {"type": "record", "name": "R"},
        {"type": "array"},
        {"type": "record", "name": "R", "fields": [5]},
        {"type": "record", "name": "R", "fields": 5},
        "nonsense",
    ],
)
def test_no_schema(schema: Any) -> None:
    with pytest.raises(UnusableSchema):
        tree_of(schema)


def test_a_schema_that_is_nested_too_deeply() -> None:
    deep: Any = "int"
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    with pytest.raises(UnusableSchema, match="more than 100 deep"):
        tree_of(deep)


def test_fastavro_gets_no_logical_types() -> None:
    schema = record(field("a", ["null", DAY]), field("b", {"type": "map", "values": PRICE}))
    assert without_logical_types(schema) == record(
        field("a", ["null", {"type": "int"}]),
        field("b", {"type": "map", "values": {"type": "bytes", "precision": 6, "scale": 2}}),
    )
    assert schema["fields"][0]["type"] == ["null", DAY]


def test_texts() -> None:
    assert load_json(" long ", "it") == "long"
    assert load_json('"long"', "it") == "long"
    with pytest.raises(UnusableSchema, match=r"^it is no JSON: "):
        load_json("{", "it")


def test_names_that_are_defined_elsewhere() -> None:
    schema = record(
        field("a", "Own"),
        field("b", ["null", "other.Type"]),
        field("c", {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["X"]}}),
        field("d", {"type": "map", "values": "E"}),
        field("e", "R"),
        field("f", "long"),
        name="space.R",
    )
    assert used_names(schema) == ["space.Own", "other.Type"]

"""Avro types as Arrow types, the same that Spark's own from_avro() gives.

Enums and uuids become strings, fixed and durations bytes, times the plain number. A union of null
and one type is that type; int with long is long, float with double is double. Any other union is a
struct with one field for each branch, member0, member1 and so on, of which at most one is set.

Arrow takes plain numbers for dates and timestamps. Milliseconds become microseconds here, one by
one: a cast of a whole column by Arrow gave arrays of wrong lengths where a map of nulls was inside.
"""

import uuid
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final

import pyarrow as pa

from broker_lite.pipeline.registry.avro.schema import Node
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema

DECIMAL_DIGITS_MAX: Final = 38

Value = Any
"""What fastavro gives for a value, or what Arrow takes for one."""

Convert = Callable[[Value], Value]

_EXACT: Final = Context(prec=1000)

_PLAIN: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL: Final = {
    "date": pa.date32(),
    "time-millis": pa.int32(),
    "time-micros": pa.int64(),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}
_MILLIS_LIMIT: Final = ((1 << 63) - 1) // 1000
_MILLIS: Final = ("timestamp-millis", "local-timestamp-millis")
NAMED_KINDS: Final = frozenset(("record", "enum", "fixed"))
_PYTHON: Final = {
    "boolean": bool,
    "long": int,
    "float": float,
    "double": float,
    "bytes": bytes,
    "string": str,
    "array": list,
    "map": dict,
    "null": type(None),
}
_WIDER: Final = ({"int", "long"}, {"float", "double"})


def arrow_type(node: Node) -> pa.DataType:
    """Return the type of a column of a schema.

    Args:
        node: the tree of the schema.

    Raises:
        UnusableSchema: a decimal has more than 38 digits, or a union has no branch.
    """
    if node.kind == "record":
        pairs = zip(node.fields, node.children, strict=True)
        return pa.struct([pa.field(name, arrow_type(child)) for name, child in pairs])
    if node.kind == "array":
        item = arrow_type(node.children[0])
        return pa.list_(pa.field("element", item))
    if node.kind == "map":
        return pa.map_(pa.string(), arrow_type(node.children[0]))
    if node.kind == "union":
        return _union_type(node)
    if node.logical is None:
        return _PLAIN[node.kind]
    return _decimal_type(node) if node.logical == "decimal" else _LOGICAL[node.logical]


def has_ambiguous_unions(node: Node) -> bool:
    """Tell whether a union needs fastavro to say which named type a value is of."""
    branches = branches_of(node) if node.kind == "union" else []
    if len(branches) > 1 and any(branch.kind in NAMED_KINDS for branch in branches):
        return True
    return any(map(has_ambiguous_unions, node.children))


def converter(node: Node, *, is_named: bool) -> Convert | None:
    """Return what changes a value of fastavro into one that Arrow takes; None if it need not be.

    The function may change the value in place.

    Args:
        node: the tree of the schema.
        is_named: whether fastavro gives the values of named types in unions with their names.

    Raises:
        BadMessage: by the function: a value is outside of what its type allows.
    """
    change = _converter(node, is_named)
    if not is_named or node.kind not in NAMED_KINDS:
        return change
    after = change or _same
    return lambda value: after(value[1] if isinstance(value, tuple) else value)


def _converter(node: Node, is_named: bool) -> Convert | None:
    if node.kind == "record":
        return _record_converter(node, is_named)
    if node.kind in ("array", "map"):
        return _container_converter(node.kind, converter(node.children[0], is_named=is_named))
    if node.kind == "union":
        return _union_converter(node, is_named)
    if node.logical in _MILLIS:
        return _micros
    if node.logical == "decimal":
        return _decimal_converter(node)
    if node.kind == "fixed" and node.logical == "uuid":
        return lambda value: str(uuid.UUID(bytes=value))
    return None


def _micros(millis: int) -> int:
    if not -_MILLIS_LIMIT <= millis <= _MILLIS_LIMIT:
        raise BadMessage(f"has a timestamp that microseconds do not hold: {millis} ms")
    return millis * 1000


def _decimal_type(node: Node) -> pa.DataType:
    if node.precision > DECIMAL_DIGITS_MAX:
        raise UnusableSchema(
            f"a decimal has the precision {node.precision}; Spark holds {DECIMAL_DIGITS_MAX} digits"
        )
    return pa.decimal128(node.precision, node.scale)


def _decimal_converter(node: Node) -> Convert:
    precision, scale = node.precision, node.scale
    limit = 10**precision

    def convert(value: bytes) -> Decimal:
        unscaled = int.from_bytes(value, signed=True)
        if not -limit < unscaled < limit:
            raise BadMessage(f"has a decimal of more than {precision} digits")
        return Decimal(unscaled).scaleb(-scale, _EXACT)

    return convert


def _record_converter(node: Node, is_named: bool) -> Convert | None:
    todo = [
        (name, convert)
        for name, child in zip(node.fields, node.children, strict=True)
        if (convert := converter(child, is_named=is_named)) is not None
    ]
    if not todo:
        return None

    def convert_fields(value: dict[str, Value]) -> Value:
        for name, convert in todo:
            value[name] = convert(value[name])
        return value

    return convert_fields


def _container_converter(kind: str, convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    if kind == "array":
        return lambda value: [convert(each) for each in value]
    return lambda value: {key: convert(each) for key, each in value.items()}


def branches_of(node: Node) -> list[Node]:
    """Return the branches of a union that are not null, with numbers of two widths as the wider."""
    branches = [child for child in node.children if child.kind != "null"]
    plain = all(branch.logical is None for branch in branches)
    if plain and len(branches) == 2 and {branch.kind for branch in branches} in _WIDER:
        return [branch for branch in branches if branch.kind in ("long", "double")]
    return branches


def _union_type(node: Node) -> pa.DataType:
    branches = branches_of(node)
    if not node.children:
        raise UnusableSchema("a union has no branch")
    if not branches:
        return pa.null()
    if len(branches) == 1:
        return arrow_type(branches[0])
    return pa.struct(
        [pa.field(f"member{index}", arrow_type(branch)) for index, branch in enumerate(branches)]
    )


def _union_converter(node: Node, is_named: bool) -> Convert | None:
    branches = branches_of(node)
    if len(branches) <= 1:
        change = converter(branches[0], is_named=is_named) if branches else None
        return None if change is None else lambda value: None if value is None else change(value)
    members = [
        (f"member{index}", branch, converter(branch, is_named=is_named) or _same)
        for index, branch in enumerate(branches)
    ]
    by_name = {branch.name: (member, change) for member, branch, change in members}
    by_value = [each for each in members if each[1].kind not in NAMED_KINDS]

    def convert(value: Value) -> Value:
        if value is None:
            return None
        if isinstance(value, tuple):
            member, change = by_name[value[0]]
            return {member: change(value)}
        for member, branch, change in by_value:
            if fits(value, branch):
                return {member: change(value)}
        raise BadMessage(f"a union has no branch for a value of type {type(value).__name__}")

    return convert


def fits(value: Value, branch: Node) -> bool:
    """Tell whether a value that has no name with it may be of a branch."""
    if branch.kind == "int":
        return type(value) is int and -(1 << 31) <= value < 1 << 31
    return type(value) is _PYTHON.get(branch.kind)


def _same(value: Value) -> Value:
    return value

"""Avro schemas as trees, with every name resolved.

fastavro parses and resolves schemas, but keeps them as dicts in which names refer to each other.
What columns need of a schema is a tree: its shape decides their types. So a schema that contains
itself is refused, and one that grows by its names beyond NODES_MAX, too.

The logical types are kept in the tree alone. fastavro gets the schema without them: it then returns
plain numbers and bytes, which Arrow turns into its own types many at a time, without the limits of
Python's datetime, and without rounding a decimal that is longer than its precision.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from broker_lite.pipeline.registry.errors import UnusableSchema

NODES_MAX: Final = 10_000
NESTING_MAX: Final = 100
UUID_BYTES: Final = 16
PRIMITIVES: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
NAMED: Final = frozenset(("record", "error", "enum", "fixed"))

Json = Any
"""What json.loads() gives; a schema that does not have the expected shape is refused."""


@dataclass(frozen=True, slots=True)
class Node:
    """One type of a schema.

    Attributes:
        kind: a primitive, or record, enum, fixed, array, map, union.
        name: full name of a record, enum or fixed, else the kind.
        logical: name of the logical type, None where there is none or it does not apply.
        children: of a record its fields, of a union its branches, of an array or map its one type.
        fields: names of a record's fields, in the order of children.
        aliases: other names of each field, in the same order.
        defaults: of each field, in the same order, as the schema's JSON has them; () for none.
        other_names: aliases of a record, enum or fixed.
        symbols: of an enum.
        symbol: that stands for unknown ones of an enum, None if there is none.
        size: of a fixed, in bytes.
        precision: of a decimal.
        scale: of a decimal.
    """

    kind: str
    name: str
    logical: str | None = None
    children: "tuple[Node, ...]" = ()
    fields: tuple[str, ...] = ()
    aliases: tuple[tuple[str, ...], ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0
    defaults: tuple[tuple[Json, ...], ...] = ()
    other_names: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    symbol: str | None = None


_LOGICAL: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset(("date", "time-millis")),
    "long": frozenset(
        (
            "time-micros",
            "timestamp-millis",
            "timestamp-micros",
            "local-timestamp-millis",
            "local-timestamp-micros",
        )
    ),
    "bytes": frozenset(("decimal",)),
    "fixed": frozenset(("decimal", "uuid")),
    "string": frozenset(("uuid",)),
}
"""Which logical type applies to which type; any other is ignored, as Avro's specification says."""


def load_json(text: str, what: str) -> Json:
    """Parse the JSON of a schema.

    Args:
        text: as the registry has it; a bare name of a primitive is allowed, as registries do.
        what: names the schema in the error.

    Raises:
        UnusableSchema: it is no JSON.
    """
    if text.strip() in PRIMITIVES:
        return text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableSchema(f"{what} is no JSON: {error}") from error


def tree_of(schema: Json, references: Iterable[Json] = ()) -> Node:
    """Return the tree of a schema.

    Args:
        schema: the JSON of an Avro schema.
        references: schemas that define the names that it uses, each before it is used.

    Raises:
        UnusableSchema: it contains itself, is too large, or is no Avro schema.
    """
    builder = _Builder()
    try:
        for reference in references:
            builder.define(reference, "")
        return builder.node(schema, "")
    except (AttributeError, KeyError, TypeError) as error:
        raise UnusableSchema(f"no Avro schema: {type(error).__name__} {error}") from error
    except RecursionError:
        raise UnusableSchema("no Avro schema: it is nested too deeply") from None


def without_logical_types(schema: Json) -> Json:
    """Return a copy of a schema's JSON in which no type has a logical type."""
    if isinstance(schema, list):
        return [without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: value for key, value in schema.items() if key != "logicalType"}
    for key in ("type", "items", "values"):
        if key in found:
            found[key] = without_logical_types(found[key])
    if isinstance(found.get("fields"), list):
        found["fields"] = [without_logical_types(each) for each in found["fields"]]
    return found


def full_name(name: str, namespace: str) -> str:
    """Return the full name of a type that is named inside of a namespace."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


def used_names(schema: Json, namespace: str = "") -> list[str]:
    """Return the full names that a schema uses before it defines them, in order, each once."""
    defined: set[str] = set()
    used: dict[str, None] = {}
    _collect_names(schema, namespace, defined, used)
    return list(used)


def _collect_names(schema: Json, namespace: str, defined: set[str], used: dict[str, None]) -> None:
    if isinstance(schema, str):
        if schema not in PRIMITIVES and full_name(schema, namespace) not in defined:
            used[full_name(schema, namespace)] = None
    elif isinstance(schema, list):
        for each in schema:
            _collect_names(each, namespace, defined, used)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in NAMED:
            name = full_name(str(schema.get("name")), schema.get("namespace", namespace))
            namespace = name.rpartition(".")[0]
            defined.add(name)
            for field in schema.get("fields", ()):
                _collect_names(field.get("type"), namespace, defined, used)
        elif kind in ("array", "map"):
            _collect_names(schema.get("items", schema.get("values")), namespace, defined, used)
        else:
            _collect_names(kind, namespace, defined, used)


class _Builder:
    """Builds trees; knows the names that were defined so far."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Json, str]] = {}
        self._open: list[str] = []
        self._nodes = 0
        self._depth = 0

    def define(self, schema: Json, namespace: str) -> None:
        """Note the names that a schema defines."""
        if isinstance(schema, list):
            for each in schema:
                self.define(each, namespace)
        elif isinstance(schema, dict):
            kind = schema["type"]
            if kind in NAMED:
                name = full_name(schema["name"], schema.get("namespace", namespace))
                namespace = name.rpartition(".")[0]
                self._named[name] = schema, namespace
                for field in schema.get("fields", ()):
                    self.define(field["type"], namespace)
            else:
                self.define(schema.get("items", schema.get("values", kind)), namespace)

    def node(self, schema: Json, namespace: str) -> Node:
        """Return the tree of a type; names are those of a namespace."""
        if self._depth == NESTING_MAX:
            raise UnusableSchema(f"its types are nested more than {NESTING_MAX} deep")
        self._depth += 1
        try:
            return self._node(schema, namespace)
        finally:
            self._depth -= 1

    def _node(self, schema: Json, namespace: str) -> Node:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise UnusableSchema(
                f"it has more than {NODES_MAX:,} types when its names are resolved"
            )
        if isinstance(schema, str):
            return (
                Node(schema, schema) if schema in PRIMITIVES else self._by_name(schema, namespace)
            )
        if isinstance(schema, list):
            children = tuple(self.node(each, namespace) for each in schema)
            return Node("union", "union", children=children)
        kind = schema["type"]
        if kind in NAMED:
            self.define(schema, namespace)
            return self._by_name(schema["name"], schema.get("namespace", namespace))
        if kind == "array":
            return Node(kind, kind, children=(self.node(schema["items"], namespace),))
        if kind == "map":
            return Node(kind, kind, children=(self.node(schema["values"], namespace),))
        if kind in PRIMITIVES:
            logical, precision, scale = _logical(kind, schema, 0)
            return Node(kind, kind, logical, precision=precision, scale=scale)
        return self.node(kind, namespace)  # {"type": {...}}, which a field has, too

    def _by_name(self, name: str, namespace: str) -> Node:
        name = full_name(name, namespace)
        if name not in self._named:
            name = name.rpartition(".")[2] if name.rpartition(".")[2] in self._named else name
        if name not in self._named:
            raise UnusableSchema(f"the type {name} is not defined")
        if name in self._open:
            raise UnusableSchema(f"the type {name} contains itself, which no column can hold")
        schema, inner = self._named[name]
        self._open.append(name)
        try:
            return self._named_node(name, schema, inner)
        finally:
            self._open.pop()

    def _named_node(self, name: str, schema: Json, namespace: str) -> Node:
        kind = "record" if schema["type"] == "error" else schema["type"]
        others = tuple(full_name(each, namespace) for each in schema.get("aliases", ()))
        if kind == "enum":
            symbols, symbol = tuple(schema["symbols"]), schema.get("default")
            return Node(kind, name, other_names=others, symbols=symbols, symbol=symbol)
        if kind == "fixed":
            size = int(schema["size"])
            logical, precision, scale = _logical(kind, schema, size)
            return Node(
                kind,
                name,
                logical,
                size=size,
                precision=precision,
                scale=scale,
                other_names=others,
            )
        fields = schema["fields"]
        return Node(
            kind,
            name,
            None,
            tuple(self.node(field["type"], namespace) for field in fields),
            tuple(field["name"] for field in fields),
            tuple(tuple(field.get("aliases", ())) for field in fields),
            defaults=tuple((field["default"],) if "default" in field else () for field in fields),
            other_names=others,
        )


def _logical(kind: str, schema: Json, size: int) -> tuple[str | None, int, int]:
    """Return logical type, precision and scale; None, 0, 0 where the type stays as it is."""
    logical = schema.get("logicalType")
    if logical not in _LOGICAL.get(kind, ()):
        return None, 0, 0
    if logical == "uuid" and kind == "fixed" and size != UUID_BYTES:
        return None, 0, 0
    if logical != "decimal":
        return logical, 0, 0
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision):
        return None, 0, 0
    return (logical, precision, scale) if precision else (None, 0, 0)

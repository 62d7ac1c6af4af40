"""Values by one schema, as another schema wants them: Avro's rules of schema resolution.

fastavro reads a message by the schema of its writer alone; here its values become those of the
result. fastavro resolves, too, but takes the first branch of a union that a value can be promoted
to: with bytes in front of string in the result, every text would become bytes. Avro's Java library
looks for a branch of the very type first, and so does this.

A number of one logical type is not read as one of another. A type with a logical type and one
without go together, as Avro's specification wants it.
"""

from collections.abc import Callable
from typing import Any, Final

from broker_lite.pipeline.registry.avro.columns import (
    NAMED_KINDS,
    Convert,
    Value,
    branches_of,
    converter,
    fits,
)
from broker_lite.pipeline.registry.avro.schema import Json, Node
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema

_PROMOTIONS: Final[dict[tuple[str, str], Callable[[Any], Any]]] = {
    ("int", "long"): int,
    ("int", "float"): float,
    ("int", "double"): float,
    ("long", "float"): float,
    ("long", "double"): float,
    ("float", "double"): float,
    ("string", "bytes"): str.encode,
    ("bytes", "string"): bytes.decode,
}


def check_items(node: Node) -> None:
    """Refuse arrays whose items take no bytes: a few bytes would announce billions of them.

    Raises:
        UnusableSchema: the schema of the writer has such an array.
    """
    if node.kind == "array" and _takes_no_bytes(node.children[0]):
        raise UnusableSchema("it has an array whose items take no bytes, which is not read")
    for child in node.children:
        check_items(child)


def resolver(writer: Node, reader: Node, place: str = "the value") -> Convert:
    """Return what makes a value of the writer's schema one that Arrow takes for the reader's.

    Args:
        writer: of the values that fastavro gives, those of named types in unions with their names.
        reader: of the column.
        place: names the field in errors.

    Raises:
        UnusableSchema: no value of the writer's can be one of the reader's.
        BadMessage: by the function: this value cannot.
    """
    if writer.kind == "union":
        return _from_union(writer, reader, place)
    if reader.kind == "union":
        return _to_union(writer, reader, place)
    if not _match(writer, reader):
        raise UnusableSchema(
            f"{place} was written as {_told(writer)}, and the result's schema has {_told(reader)}"
        )
    if reader.kind == "record":
        return _record(writer, reader)
    if reader.kind in ("array", "map"):
        return _container(writer, reader, place)
    if reader.kind == "enum":
        return _enum(writer, reader)
    promote = _PROMOTIONS.get((writer.kind, reader.kind))
    change = converter(reader, is_named=False)
    if promote is None or change is None:
        return promote or change or _same
    return lambda value: change(promote(value))


def _match(writer: Node, reader: Node) -> bool:
    """Tell whether two types that are no unions go together; of containers only themselves."""
    if writer.kind != reader.kind:
        return (writer.kind, reader.kind) in _PROMOTIONS and _meanings_match(writer, reader)
    if reader.kind in NAMED_KINDS:
        names = {reader.name, *reader.other_names}
        is_named_so = _last(writer.name) in map(_last, names)
        return is_named_so and writer.size == reader.size and _meanings_match(writer, reader)
    return _meanings_match(writer, reader)


def _meanings_match(writer: Node, reader: Node) -> bool:
    """Tell whether logical types agree; what has too many digits is an error of its message."""
    if not writer.logical or not reader.logical:
        return True
    return (writer.logical, writer.scale) == (reader.logical, reader.scale)


def _from_union(writer: Node, reader: Node, place: str) -> Convert:
    by_name: dict[str, Convert] = {}
    by_value: list[tuple[Node, Convert]] = []
    refusal: UnusableSchema | None = None
    for branch in writer.children:
        try:
            change = resolver(branch, reader, place)
        except UnusableSchema as error:
            refusal = error
            change = _refusing(str(error))
        if branch.kind in NAMED_KINDS:
            by_name[branch.name] = change
        else:
            by_value.append((branch, change))

    if refusal is not None and len(writer.children) == 1:
        raise refusal

    def convert(value: Value) -> Value:
        if isinstance(value, tuple):
            return by_name[value[0]](value[1])
        for branch, change in by_value:
            if fits(value, branch):
                return change(value)
        raise BadMessage(f"a union has no branch for a value of type {type(value).__name__}")

    return convert


def _refusing(text: str) -> Convert:
    def refuse(_: Value) -> Value:
        raise BadMessage(f"does not fit the result's schema: {text}")

    return refuse


def _to_union(writer: Node, reader: Node, place: str) -> Convert:
    if writer.kind == "null" and any(child.kind == "null" for child in reader.children):
        return _same
    branches = branches_of(reader)
    same = [branch for branch in branches if branch.kind == writer.kind]
    refusal = f"{place} was written as {_told(writer)}, of which the result's union has none"
    for branch in (*same, *branches):
        if not _match(writer, branch):
            continue
        change = resolver(writer, branch, place)
        if len(branches) == 1:
            return change
        member = f"member{branches.index(branch)}"
        return lambda value: {member: change(value)}
    raise UnusableSchema(refusal)


def _record(writer: Node, reader: Node) -> Convert:
    theirs = dict(zip(writer.fields, writer.children, strict=True))
    kept: list[tuple[str, str, Convert]] = []
    added: dict[str, Value] = {}
    for name, aliases, child, default in zip(
        reader.fields, reader.aliases, reader.children, reader.defaults, strict=True
    ):
        found = next((each for each in (name, *aliases) if each in theirs), None)
        if found is not None:
            kept.append((name, found, resolver(theirs[found], child, f"the field {name}")))
        elif default:
            added[name] = _default(default[0], child)
        else:
            raise UnusableSchema(
                f"the field {name} was not written, and the result's schema has no default for it"
            )

    def convert(value: dict[str, Value]) -> Value:
        return {**added, **{name: change(value[found]) for name, found, change in kept}}

    return convert


def _container(writer: Node, reader: Node, place: str) -> Convert:
    change = resolver(writer.children[0], reader.children[0], place)
    if reader.kind == "array":
        return lambda value: [change(each) for each in value]
    return lambda value: {key: change(each) for key, each in value.items()}


def _enum(writer: Node, reader: Node) -> Convert:
    known = {symbol: symbol for symbol in reader.symbols}
    if reader.symbol is not None:
        known |= dict.fromkeys(set(writer.symbols) - known.keys(), reader.symbol)

    def convert(value: str) -> str:
        if value not in known:
            raise BadMessage(f"does not fit the result's schema: {reader.name} lacks {value!r}")
        return known[value]

    return convert


def _default(value: Json, node: Node) -> Value:
    """Return a default of the schema as Arrow takes it; that of a union is of its first branch."""
    try:
        if node.kind == "union":
            return _to_union(node.children[0], node, "")(_written(value, node.children[0]))
        change = converter(node, is_named=True) or _same
        return change(_written(value, node))
    except (AttributeError, KeyError, TypeError, UnicodeEncodeError) as error:
        raise UnusableSchema(f"the default {value!r} is none of its type") from error


def _written(value: Json, node: Node) -> Value:
    """Return a default as fastavro would read it: texts that stand for bytes become bytes."""
    if node.kind == "union":
        first = node.children[0]
        found = _written(value, first)
        return (first.name, found) if first.kind in NAMED_KINDS else found
    if node.kind in ("bytes", "fixed"):
        return value.encode("latin-1")
    if node.kind == "array":
        return [_written(each, node.children[0]) for each in value]
    if node.kind == "map":
        return {key: _written(each, node.children[0]) for key, each in value.items()}
    if node.kind == "record":
        return {
            name: _written(value[name] if name in value else default[0], child)
            for name, child, default in zip(node.fields, node.children, node.defaults, strict=True)
            if name in value or default
        }
    return float(value) if node.kind in ("float", "double") else value


def _takes_no_bytes(node: Node) -> bool:
    if node.kind == "record":
        return all(map(_takes_no_bytes, node.children))
    return node.kind == "null" or (node.kind == "fixed" and node.size == 0)


def _told(node: Node) -> str:
    if node.logical == "decimal":
        return f"decimal({node.precision}, {node.scale})"
    if node.kind in NAMED_KINDS:
        return f"{node.kind} {node.name}"
    return node.logical or node.kind


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _same(value: Value) -> Value:
    return value

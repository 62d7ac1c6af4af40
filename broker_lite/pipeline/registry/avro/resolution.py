"""What is checked of a pair of schemas before messages are read by them.

fastavro applies Avro's rules of resolution to each message. Here is what it does not look at,
because it gets the schemas without their logical types; and what it should not be asked to read.
"""

from collections.abc import Iterator

from broker_lite.pipeline.registry.avro.schema import Json, Node
from broker_lite.pipeline.registry.errors import UnusableSchema


def check_items(node: Node) -> None:
    """Refuse arrays whose items take no bytes: a few bytes would announce billions of them.

    Raises:
        UnusableSchema: the schema of the writer has such an array.
    """
    if node.kind == "array" and _takes_no_bytes(node.children[0]):
        raise UnusableSchema("it has an array whose items take no bytes, which is not read")
    for child in node.children:
        check_items(child)


def check_logical_types(writer: Node, reader: Node, place: str = "the value") -> None:
    """Refuse a number of one meaning for one of another.

    A type with a logical type and one without go together, as Avro's specification wants it: the
    number is read as the reader's schema says.

    Args:
        writer: by which messages were written.
        reader: by which they are read.
        place: names the field in the error.

    Raises:
        UnusableSchema: both have a logical type at one place, and these differ.
    """
    for ours in _branches(reader):
        for theirs in _branches(writer):
            if _may_go_together(theirs, ours, is_choice="union" in (writer.kind, reader.kind)):
                _check_pair(theirs, ours, place)


def _may_go_together(writer: Node, reader: Node, *, is_choice: bool) -> bool:
    if writer.logical and reader.logical:
        return True
    if is_choice and reader.kind == "record":
        return writer.name.rpartition(".")[2] == reader.name.rpartition(".")[2]
    return writer.kind == reader.kind


def _check_pair(writer: Node, reader: Node, place: str) -> None:
    if writer.logical and reader.logical and _meaning(writer) != _meaning(reader):
        raise UnusableSchema(
            f"{place} was written as {_told(writer)}, and the result's schema has {_told(reader)}"
        )
    if reader.kind == "record":
        theirs = dict(zip(writer.fields, writer.children, strict=True))
        for name, aliases, child in zip(
            reader.fields, reader.aliases, reader.children, strict=True
        ):
            found = next((theirs[each] for each in (name, *aliases) if each in theirs), None)
            if found is not None:
                check_logical_types(found, child, f"the field {name}")
    elif reader.kind in ("array", "map"):
        check_logical_types(writer.children[0], reader.children[0], place)


def with_bytes_as_defaults(schema: Json, node: Node) -> None:
    """Put bytes in the place of the texts that stand for bytes in defaults, in fastavro's schema.

    Args:
        schema: as fastavro.parse_schema() returns it; changed in place.
        node: its tree.
    """
    if node.kind == "record" and isinstance(schema, dict):
        for field, child in zip(schema["fields"], node.children, strict=True):
            with_bytes_as_defaults(field["type"], child)
            if "default" in field:
                field["default"] = _default(field["default"], child)
    elif node.kind in ("array", "map") and isinstance(schema, dict):
        key = "items" if node.kind == "array" else "values"
        with_bytes_as_defaults(schema[key], node.children[0])
    elif node.kind == "union":
        for each, child in zip(schema, node.children, strict=True):
            with_bytes_as_defaults(each, child)


def _default(value: Json, node: Node) -> Json:
    """Return a default as a value; that of a union is one of its first branch."""
    if node.kind == "union":
        return _default(value, node.children[0])
    if node.kind in ("bytes", "fixed") and isinstance(value, str):
        return value.encode("latin-1")
    if node.kind == "array":
        return [_default(each, node.children[0]) for each in value]
    if node.kind == "map":
        return {key: _default(each, node.children[0]) for key, each in value.items()}
    if node.kind == "record":
        pairs = zip(node.fields, node.children, strict=True)
        return {name: _default(value[name], child) for name, child in pairs if name in value}
    return value


def _branches(node: Node) -> Iterator[Node]:
    if node.kind == "union":
        yield from node.children
    else:
        yield node


def _takes_no_bytes(node: Node) -> bool:
    if node.kind == "record":
        return all(map(_takes_no_bytes, node.children))
    return node.kind == "null" or (node.kind == "fixed" and node.size == 0)


def _meaning(node: Node) -> tuple[str | None, int]:
    # The precision may differ: what does not fit is an error of the message.
    return node.logical, node.scale


def _told(node: Node) -> str:
    if node.logical == "decimal":
        return f"decimal({node.precision}, {node.scale})"
    return f"{node.logical}"

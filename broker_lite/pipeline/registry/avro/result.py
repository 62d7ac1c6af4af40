"""Avro messages by the schema of a result.

fastavro reads a message by the schema of its writer, and resolution.py makes it one of the result.
A message has to end where its value does. What fastavro takes although Avro does not allow it is
taken here, too: a boolean of another byte than 0 and 1, negative indexes of unions and enums.
"""

import io
from functools import partial
from typing import Final

import pyarrow as pa

from broker_lite.pipeline.registry.avro.columns import (
    Convert,
    arrow_type,
    converter,
    has_ambiguous_unions,
)
from broker_lite.pipeline.registry.avro.resolution import check_items, resolver
from broker_lite.pipeline.registry.avro.schema import (
    Json,
    Node,
    load_json,
    tree_of,
    without_logical_types,
)
from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from broker_lite.pipeline.registry.extras import needed
from broker_lite.pipeline.registry.result import ReadMessage, Value
from broker_lite.pipeline.registry.settings import Format, StoredSchema
from broker_lite.pipeline.registry.wire_format import HEADER_BYTES

TEXT_MAX: Final = 300

# What fastavro raises for bytes that do not fit a schema; found by tests/fuzz/registry_messages.py.
_UNREADABLE: Final = (
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)


class AvroResult:
    """The schema of a result.

    Args:
        schema: of the result, with its references.

    Raises:
        UnusableSchema: it is no Avro schema, or no column can hold it.
        MissingExtra: fastavro is not installed.
    """

    def __init__(self, schema: StoredSchema) -> None:
        self._fastavro = needed("fastavro")
        self._tree, _ = self._parsed(schema)
        self.type: pa.DataType = arrow_type(self._tree)

    def reader_of(self, writer: StoredSchema) -> ReadMessage:
        """Return what reads messages that were written by a schema.

        Raises:
            UnusableSchema: it is no Avro schema, or none of its values can be one of the result's.
        """
        if writer.format is not Format.AVRO:
            raise UnusableSchema("it is no Avro schema")
        tree, schema = self._parsed(writer)
        check_items(tree)
        is_same = tree == self._tree
        is_named = not is_same or has_ambiguous_unions(tree)
        change = converter(tree, is_named=is_named) if is_same else resolver(tree, self._tree)
        read = partial(
            self._fastavro.schemaless_reader,
            writer_schema=schema,
            reader_schema=None,
            return_named_type=is_named,
        )
        return _message_reader(read, change)

    def _parsed(self, schema: StoredSchema) -> tuple[Node, Json]:
        """Return the tree of a schema, and what fastavro makes of it."""
        references = [load_json(text, name) for name, text in schema.references]
        parsed = load_json(schema.text, "the schema")
        tree = tree_of(parsed, references)
        named: dict[str, Json] = {}
        errors = (
            self._fastavro.schema.SchemaParseException,
            self._fastavro.schema.UnknownType,
            *_UNREADABLE,
        )
        try:
            for reference in references:
                self._fastavro.parse_schema(without_logical_types(reference), named_schemas=named)
            made = self._fastavro.parse_schema(without_logical_types(parsed), named_schemas=named)
        except errors as error:
            raise UnusableSchema(f"no Avro schema: {error}") from error
        return tree, made


def _message_reader(read: partial[Value], convert: Convert | None) -> ReadMessage:
    def read_message(message: bytes) -> Value:
        stream = io.BytesIO(message)
        stream.seek(HEADER_BYTES)
        try:
            value = read(stream)
        except _UNREADABLE as error:
            raise BadMessage(_told(error)) from error
        if stream.tell() != len(message):
            raise BadMessage(f"has {len(message) - stream.tell()} bytes behind its value")
        try:
            return value if convert is None else convert(value)
        except (UnicodeDecodeError, OverflowError) as error:
            raise BadMessage(_told(error)) from error

    return read_message


def _told(error: BaseException) -> str:
    """Return one line; a memory address, as fastavro's texts have it, says nothing."""
    if isinstance(error, EOFError):
        return "ends within its value"
    if isinstance(error, IndexError):
        return "ends within its value, or has an index of a union or enum that there is not"
    if isinstance(error, UnicodeDecodeError):
        return "has a text that is no UTF-8"
    text = " ".join(str(error).split())
    return f"does not fit its schema: {type(error).__name__} {text}"[:TEXT_MAX]

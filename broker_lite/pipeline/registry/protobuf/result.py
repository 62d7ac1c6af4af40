"""Protobuf messages by the schema of a result.

A message is read by the result's schema alone: fields go by their numbers, and those that it does
not have are left out. The schema of the writer says of which type a message is, by its indexes.
"""

from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from broker_lite.pipeline.registry.extras import needed
from broker_lite.pipeline.registry.protobuf.columns import Shape
from broker_lite.pipeline.registry.protobuf.compiler import compiled
from broker_lite.pipeline.registry.result import ReadMessage, Value
from broker_lite.pipeline.registry.settings import Format, StoredSchema
from broker_lite.pipeline.registry.wire_format import message_indexes


class ProtobufResult:
    """The schema of a result.

    Args:
        schema: of the result, with its imports.
        message: full name of the message, None for the first of the schema.

    Raises:
        UnusableSchema: it is no Protobuf schema, no column can hold it, or it lacks the message.
        MissingExtra: a library is not installed.
    """

    def __init__(self, schema: StoredSchema, message: str | None = None) -> None:
        made = compiled(schema)
        if not made.names:
            raise UnusableSchema("it has no message")
        self._name = message or made.names[0,]
        if self._name not in made.names.values():
            names = ", ".join(made.names.values())
            raise UnusableSchema(f"it has no message {self._name}, only {names}")
        descriptor = made.pool.FindMessageTypeByName(self._name)
        self._shape = Shape(descriptor)
        self._class = needed("google.protobuf.message_factory").GetMessageClass(descriptor)
        self._decode_error = needed("google.protobuf.message").DecodeError
        self.type = self._shape.type

    def reader_of(self, writer: StoredSchema) -> ReadMessage:
        """Return what reads messages that were written by a schema.

        Raises:
            UnusableSchema: it is no Protobuf schema.
        """
        if writer.format is not Format.PROTOBUF:
            raise UnusableSchema("it is no Protobuf schema")
        names, wanted = compiled(writer).names, self._name
        parse, convert = self._class.FromString, self._shape.convert
        has_required = self._shape.has_required
        errors = (self._decode_error, ValueError)

        def read_message(message: bytes) -> Value:
            indexes, position = message_indexes(message)
            name = names.get(indexes)
            if name != wanted:
                told = f"no type at the indexes {list(indexes)}" if name is None else name
                raise BadMessage(f"is of {told}, not of {wanted}")
            try:
                made = parse(message[position:])
                if has_required and not made.IsInitialized():
                    missing = ", ".join(made.FindInitializationErrors())
                    raise BadMessage(f"lacks required fields: {missing}")
                return convert(made)
            except BadMessage:
                raise
            except errors as error:
                raise BadMessage(f"is no {wanted}: {type(error).__name__}") from error

        return read_message

"""Converts messages to JSON, in the form of Kafka's generated converters.

Names begin with a lower-case letter, ids are base64url as Kafka prints them, bytes are base64, and
a tagged field appears only if it differs from its default.

Source: JsonConverterGenerator.
"""

import base64
from collections.abc import Mapping
from typing import Any

from broker_lite.log.files.checkpoints import format_uuid
from broker_lite.wire.messages import MessageType
from broker_lite.wire.schema import Field, MessageSchema
from broker_lite.wire.structs import Struct

Json = Mapping[str, Any]


def message_json(message_type: MessageType, value: Struct, version: int) -> Json:
    """Convert a decoded message; `version` is the one that it was decoded from."""
    layout = message_type.layout(version)
    assert layout is not None, "it was decoded from this version"
    return _struct(layout.schema, message_type.name, value, version)


def _struct(schema: MessageSchema, name: str, value: object, version: int) -> Json:
    found = {}
    for field in schema.structs[name]:
        if version not in field.versions:
            continue
        content = getattr(value, field.attribute)
        if version in field.tagged and content == _default(field):
            continue
        found[field.name[0].lower() + field.name[1:]] = _value(schema, field, content, version)
    return found


def _default(field: Field) -> object:
    return [] if field.default == () and field.is_array else field.default


def _value(schema: MessageSchema, field: Field, content: object, version: int) -> object:
    if isinstance(content, list):
        return [_value(schema, field, element, version) for element in content]
    if isinstance(content, Struct):
        return _struct(schema, field.element_type, content, version)
    if isinstance(content, bytes | bytearray | memoryview):
        data = bytes(content)
        return (
            format_uuid(data)
            if field.element_type == "uuid"
            else base64.b64encode(data).decode("ascii")
        )
    return content

"""Protobuf schemas and messages for tests, framed as clients frame them."""

from typing import Any

from google.protobuf.message_factory import GetMessageClass

from broker_lite.pipeline.registry.protobuf.compiler import compiled
from broker_lite.pipeline.registry.settings import Format, StoredSchema

PROTO3 = 'syntax = "proto3";\n'


def stored(text: str, *references: tuple[str, str]) -> StoredSchema:
    return StoredSchema(Format.PROTOBUF, text, references)


def message_class(schema: StoredSchema, name: str) -> Any:
    return GetMessageClass(compiled(schema).pool.FindMessageTypeByName(name))


def framed(message: Any, indexes: bytes = b"\0", schema_id: int = 1) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + indexes + bytes(message.SerializeToString())

"""Avro messages for tests, framed as clients frame them."""

import io
import json
from typing import Any

import fastavro

from broker_lite.pipeline.registry.settings import Format, StoredSchema


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + payload


def encoded(schema: Any, value: Any, schema_id: int = 1) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return framed(schema_id, stream.getvalue())


def stored(schema: Any, *references: Any) -> StoredSchema:
    named = tuple((each["name"], json.dumps(each)) for each in references)
    return StoredSchema(Format.AVRO, json.dumps(schema), named)


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}

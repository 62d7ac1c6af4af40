"""What the tests of the record room share: the golden vectors and small builders."""

import json
from pathlib import Path
from typing import Any

from broker_lite.record.batch import RecordBatch
from broker_lite.record.varint import encode_varint, encode_varlong

VECTORS = Path(__file__).parent.parent / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / name).read_text("utf-8"))["vectors"]
    return found


def check_values(section: str) -> Any:
    return json.loads((VECTORS / "check_values.json").read_text("utf-8"))[section]


BATCHES = {vector["id"]: vector for vector in vectors("batches.json")}
PRODUCE = {vector["id"]: vector for vector in vectors("produce.json")}


def batch_of(data: bytes | str) -> RecordBatch:
    """A view of one batch in a buffer of its own that can be written to."""
    raw = bytearray.fromhex(data) if isinstance(data, str) else bytearray(data)
    return RecordBatch(memoryview(raw), 0, len(raw))


def raw_record(
    *,
    attributes: bytes = b"\x00",
    timestamp_delta: bytes | int = 0,
    offset_delta: bytes | int = 0,
    key: bytes = b"\x02k",
    value: bytes = b"\x02v",
    headers: bytes = b"\x00",
    length: bytes | int | None = None,
) -> bytes:
    """One record from its raw parts; a length of None is the right one, an int is added to it."""
    body = b"".join(
        (
            attributes,
            timestamp_delta
            if isinstance(timestamp_delta, bytes)
            else encode_varlong(timestamp_delta),
            offset_delta if isinstance(offset_delta, bytes) else encode_varint(offset_delta),
            key,
            value,
            headers,
        )
    )
    if isinstance(length, bytes):
        return length + body
    return encode_varint(len(body) + (length or 0)) + body

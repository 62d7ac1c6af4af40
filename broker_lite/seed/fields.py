"""Converts the fields of a record in a seed file.

| field | allowed |
| --- | --- |
| topic | text |
| partition | a number from 0 on; null: by the key as Kafka's producer does, without one in turn |
| key, value | text, null, {"base64": "..."}, or any other JSON value: its compact JSON text |
| headers | an object or a list of pairs, null: none; a header's value is like a record's |
| timestamp | milliseconds since 1970 or ISO 8601 (UTC where it names no zone); null: now |

A missing field is null.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

FIELDS: Final = ("topic", "partition", "key", "value", "headers", "timestamp")

_KNOWN: Final = frozenset(FIELDS)
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_BASE64: Final = "base64"

Headers = tuple[tuple[bytes, bytes | None], ...]


class FieldError(ValueError):
    """A field is wrong; the text names it."""


class SeedRecord(NamedTuple):
    """A record of a seed file; the writer chooses partition and timestamp if they are None."""

    line: int
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None


def make_record(fields: Mapping[str, object], line: int) -> SeedRecord:
    """Convert the fields of one record.

    Raises:
        FieldError: a field is missing, unknown or wrong.
    """
    if not _KNOWN.issuperset(fields):
        unknown = next(name for name in fields if name not in _KNOWN)
        raise FieldError(f"{unknown}: no such field; there are {', '.join(FIELDS)}")
    get = fields.get
    topic = get("topic")
    if not isinstance(topic, str):
        raise FieldError("topic: has to be a text")
    return SeedRecord(
        line,
        topic,
        _to_partition(get("partition")),
        to_bytes("key", get("key")),
        to_bytes("value", get("value")),
        _to_headers(get("headers")),
        _to_timestamp(get("timestamp")),
    )


def to_bytes(field: str, value: object) -> bytes | None:
    """Convert a key or value to bytes.

    Raises:
        FieldError: it is not base64, not valid Unicode (a lone surrogate), or not a JSON number.
    """
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() == {_BASE64}:
        return _from_base64(field, value[_BASE64])
    try:
        if not isinstance(value, str):
            # compact: without the blanks and escapes that JSON does not need
            value = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return value.encode()
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{field}: {error}") from error


def _from_base64(field: str, text: object) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise FieldError(f"{field}: no base64: {error}") from error
    raise FieldError(f"{field}: base64 has to be a text")


def _to_partition(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _INT32_MAX:
        return value
    raise FieldError(f"partition: {value} is no partition, 0 to {_INT32_MAX}")


def _to_headers(value: object) -> Headers:
    if value is None:
        return ()
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        raise FieldError("headers: neither an object nor a list of pairs")
    return tuple(_to_header(pair) for pair in pairs)


def _to_header(pair: object) -> tuple[bytes, bytes | None]:
    if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str):
        name = to_bytes("headers", pair[0])
        assert name is not None  # a text has bytes
        return name, to_bytes("headers", pair[1])
    raise FieldError("headers: a pair is [NAME, VALUE], the name a text")


def _to_timestamp(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = _from_iso_8601(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _INT64_MAX:
        return value
    raise FieldError(f"timestamp: {value} is neither milliseconds from 0 on nor ISO 8601")


def _from_iso_8601(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise FieldError(f"timestamp: {text} is no time as ISO 8601 has it") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MS

"""Decoded messages as JSON: what a person or a test reads of a request and of its answer.

Bytes are texts where they are readable UTF-8, else 0x and hex digits. Ids are as Kafka prints them.
Beside each error code stands its name. Records are told by what their batches say of themselves.
What SASL exchanges is left out, because it may be a password; the bytes of an entry have asterisks.
"""

import base64
from typing import Final

from broker_lite.testbench.journal.batches import Json, NotKept, summaries
from broker_lite.testbench.journal.decode import Decoded
from broker_lite.testbench.journal.entry_facts import (
    EntryFacts,
    error_name,
    is_error,
    plan_of,
)
from broker_lite.testbench.journal.plans import Plan
from broker_lite.wire.schema import Field
from broker_lite.wire.secret_fields import SECRET_FIELDS
from broker_lite.wire.structs import Struct

BYTES_MAX: Final = 4096
"""So many bytes of a value are shown."""
_UUID_BYTES: Final = 16


def request_json(facts: EntryFacts) -> dict[str, Json] | None:
    """Return the request of an entry; None if it cannot be decoded at all."""
    entry = facts.entry
    return _message(facts.decoded, plan_of(entry.api_key, entry.api_version, 0))


def answer_json(facts: EntryFacts) -> dict[str, Json] | None:
    """Return the answer of an entry; None if there is none, or it cannot be decoded at all."""
    return _message(facts.answer, plan_of(facts.entry.api_key, facts.answer_version, 1))


def bytes_json(value: bytes) -> str:
    """Return bytes as a text."""
    shown = value[:BYTES_MAX]
    more = f"... ({len(value)} bytes)" if len(value) > BYTES_MAX else ""
    try:
        text = shown.decode()
    except UnicodeDecodeError:
        text = ""
    if not value or (text and text.isprintable()):
        return text + more
    return f"0x{shown.hex()}{more}"


def uuid_json(value: bytes) -> str:
    """Return an id as Kafka prints it."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _message(decoded: Decoded | None, of: Plan | None) -> dict[str, Json] | None:
    if decoded is None or of is None:
        return None
    told = _struct(decoded.struct, of, of.root)
    if decoded.missing:
        told["missing"] = decoded.missing
    return told


def _struct(struct: Struct, of: Plan, name: str) -> dict[str, Json]:
    told: dict[str, Json] = {}
    for field in of.structs[name].all:
        try:
            value = getattr(struct, field.attribute)
        except AttributeError:  # it was not kept
            continue
        told[field.attribute] = _field(value, field, of)
        if is_error(field) and isinstance(value, int):
            told[field.attribute.removesuffix("_code")] = error_name(value)
    if struct.unknown_tags:
        told["unknown_tags"] = {str(tag): bytes_json(data) for tag, data in struct.unknown_tags}
    return told


def _field(value: object, field: Field, of: Plan) -> Json:
    if isinstance(value, list):
        return [_field(element, field, of) for element in value]
    if isinstance(value, Struct):
        return _struct(value, of, field.element_type)
    if field.element_type == "records" and isinstance(value, bytes | memoryview | NotKept):
        return dict(summaries(value))
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        if field.attribute in SECRET_FIELDS:
            return f"({len(data)} bytes, not shown)"
        return uuid_json(data) if field.element_type == "uuid" else bytes_json(data)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)

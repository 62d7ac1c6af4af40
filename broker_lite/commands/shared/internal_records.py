"""Decodes the records of internal topics into the JSON of kafka-dump-log.

A decoder takes a key and a value, and returns what to print for each; None for nothing.

Source: DumpLogSegments and its parsers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from broker_lite.commands.shared.message_json import Json, message_json
from broker_lite.record.control import ControlType
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.messages import MessageType
from broker_lite.wire.schema import catalog_by_api

Decoded = Json | str | None
Decoder = Callable[[bytes | None, bytes | None], tuple[Decoded, Decoded]]

_INT16: Final = Struct(">h")
_FRAME_BYTES: Final = 3
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CONTROL: Final[Mapping[ControlType, tuple[str, str]]] = {
    ControlType.LEADER_CHANGE: ("LeaderChange:", "LeaderChangeMessage"),
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", "SnapshotHeaderRecord"),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", "SnapshotFooterRecord"),
    ControlType.KRAFT_VERSION: ("KRaftVersion", "KRaftVersionRecord"),
    ControlType.KRAFT_VOTERS: ("KRaftVoters", "VotersRecord"),
}


def decode_text(key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    """Decode keys and values as text; invalid UTF-8 is replaced."""
    return _text(key), _text(value)


def decode_metadata(key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    """Decode a record of `__cluster_metadata`."""
    return _text(key), _sure(_metadata, value)


def decode_group(key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    """Decode a record of `__consumer_offsets`."""
    return _coordinator("group-coordinator", key, value)


def decode_transaction(key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    """Decode a record of `__transaction_state`."""
    return _coordinator("transaction-coordinator", key, value)


def decode_share_state(key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    """Decode a record of `__share_group_state`."""
    return _coordinator("share-coordinator", key, value)


def decode_quorum_control(control_type: ControlType, value: bytes | None) -> tuple[str, Decoded]:
    """Return the printed name and value of a control record of a quorum's log."""
    named = _CONTROL.get(control_type)
    if named is None:
        return f"controlType: {control_type.name}({control_type})", None
    label, name = named
    return label, _sure(lambda data: _versioned(messages.message(name), data, 0), value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _sure(decode: Callable[[bytes], Json], data: bytes | None) -> Decoded:
    try:
        return decode(data or b"")
    except (DecodeError, StructError, KeyError, IndexError) as error:
        return f"<cannot be decoded: {error}>"


def _metadata(data: bytes) -> Json:
    if len(data) < _FRAME_BYTES:
        raise DecodeError("no frame")
    _, api_key, version = data[:_FRAME_BYTES]
    message_type = messages.metadata_record(api_key)
    value, _ = message_type.decode(data, version, _FRAME_BYTES)
    name = _WORDS.sub("_", message_type.name).upper()
    return {"type": name, "version": version, "data": message_json(message_type, value, version)}


def _versioned(message_type: MessageType, data: bytes, position: int) -> Json:
    """Decode a message that begins with its version; position 0 if that is one of its fields."""
    version = _INT16.unpack_from(data)[0]
    value, _ = message_type.decode(data, version, position)
    return message_json(message_type, value, version)


def _coordinator(file: str, key: bytes | None, value: bytes | None) -> tuple[Decoded, Decoded]:
    if key is None:
        return None, _text(value)
    try:
        record_type = _INT16.unpack_from(key)[0]
        key_type = coordinator_types(file, "coordinator-key")[record_type]
        key_value, _ = key_type.decode(key, 0, _INT16.size)
    except (DecodeError, StructError, KeyError) as error:
        return f"<cannot be decoded: {error}>", _text(value)
    decoded_key = {"type": str(record_type), "data": message_json(key_type, key_value, 0)}
    if value is None:
        return decoded_key, "<DELETE>"
    value_type = coordinator_types(file, "coordinator-value")[record_type]
    return decoded_key, _sure(lambda data: _state(value_type, data), value)


@cache
def coordinator_types(file: str, kind: str) -> Mapping[int, MessageType]:
    """Return the message types of a coordinator's topic by record type, which begins each key.

    Args:
        file: of their schemas: `group-coordinator` or `transaction-coordinator`, for example.
        kind: `coordinator-key` or `coordinator-value`.
    """
    return {number: messages.message(name) for number, name in catalog_by_api(file, kind).items()}


def _state(value_type: MessageType, data: bytes) -> Json:
    version = _INT16.unpack_from(data)[0]
    value: Any
    value, _ = value_type.decode(data, version, _INT16.size)
    found = dict(message_json(value_type, value, version))
    if value_type.name == "GroupMetadataValue" and value.protocol_type == "consumer":
        found["members"] = [
            _member(member, content)
            for member, content in zip(value.members, found["members"], strict=True)
        ]
    return {"version": str(version), "data": found}


def _member(member: messages.GroupMetadataValue.MemberMetadata, content: Json) -> Json:
    """Decode a member's metadata; leave it alone if it is not a consumer's subscription."""
    embedded = {
        "subscription": (messages.ConsumerProtocolSubscription, member.subscription),
        "assignment": (messages.ConsumerProtocolAssignment, member.assignment),
    }
    found = dict(content)
    for name, (message_type, data) in embedded.items():
        decoded = _sure(partial(_embedded, message_type), bytes(data))
        if not isinstance(decoded, str):
            found[name] = decoded
    return found


def _embedded(message_type: MessageType, data: bytes) -> Json:
    version = min(_INT16.unpack_from(data)[0], message_type.max_version)
    value, _ = message_type.decode(data, version, _INT16.size)
    return message_json(message_type, value, version)

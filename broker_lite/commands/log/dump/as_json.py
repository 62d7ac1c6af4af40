"""Converts the batches and records of a .log file to JSON objects.

Keys and values are text if they are UTF-8, else {"base64": ...}; or the result of a decoder.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any, Final

from broker_lite.commands.log.dump.batches import Wanted, codec_name
from broker_lite.commands.log.files import FoundEntry
from broker_lite.commands.shared.internal_records import decode_quorum_control, decode_text
from broker_lite.errors import BrokerError
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX, Unsound, measure_batch
from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.control import ControlType, decode_control_key, decode_end_transaction
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.record.records import Record, iterate_records

_TIMESTAMP_TYPES: Final = {-1: None, 0: "CreateTime", 1: "LogAppendTime"}
_ALL: Final = 1 << 62


def batch_object(found: FoundEntry) -> dict[str, Any]:
    """Describe a batch."""
    batch = found.batch
    common = {
        "position": found.position,
        "size": batch.size_bytes,
        "crc": batch.crc,
        "isValid": batch.crc_is_valid(),
        "compression": codec_name(batch.codec),
    }
    if isinstance(batch, LegacyMessage):
        return {
            "type": "batch",
            "magic": batch.magic,
            "lastOffset": batch.last_offset,
            "timestampType": _TIMESTAMP_TYPES[batch.timestamp_type],
            "maxTimestamp": batch.timestamp,
            **common,
        }
    return {
        "type": "batch",
        "magic": 2,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.record_count,
        "timestampType": _TIMESTAMP_TYPES[int(batch.is_log_append_time)],
        "maxTimestamp": batch.max_timestamp,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "leaderEpoch": batch.leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": batch.delete_horizon_ms,
        **common,
    }


def record_objects(batch: RecordBatch | LegacyMessage, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Describe the records of a batch, up to the first unreadable one.

    Raises:
        Unsound: the records cannot be read.
    """
    try:
        if isinstance(batch, LegacyMessage):
            for old in iterate_legacy(batch, bounds=Bounds(PLAIN_BYTES_MAX)):
                head = {"type": "record", "offset": old.offset, "timestamp": old.timestamp}
                yield {**head, **_content(old.key, old.value, wanted)}
            return
        measure_batch(batch, 0, _ALL)  # refuses a compression bomb
        for record in iterate_records(batch):
            head = {"type": "record", "offset": record.offset, "timestamp": record.timestamp}
            if batch.is_control:
                yield {**head, "type": "control", **_control(record)}
            else:
                yield {
                    **head,
                    "sequence": record.sequence,
                    "headers": list(_headers(record.headers)),
                    **_content(record.key, record.value, wanted),
                }
    except BrokerError as error:
        raise Unsound("R-37", str(error)) from error


def _headers(headers: Iterable[tuple[bytes, bytes | None]]) -> Iterator[list[Any]]:
    for key, value in headers:
        yield [key.decode("utf-8", "replace"), _bytes(value)]


def _content(key: bytes | None, value: bytes | None, wanted: Wanted) -> dict[str, Any]:
    if not wanted.content:
        return {
            "keySize": None if key is None else len(key),
            "valueSize": None if value is None else len(value),
        }
    if wanted.decoder is decode_text:
        return {"key": _bytes(key), "value": _bytes(value)}
    shown_key, shown_value = wanted.decoder(key, value)
    return {"key": shown_key, "value": shown_value}


def _control(record: Record) -> dict[str, Any]:
    control_type = decode_control_key(record.key)
    if control_type in (ControlType.ABORT, ControlType.COMMIT):
        epoch = decode_end_transaction(record.value)
        return {"control": control_type.name, "value": {"coordinatorEpoch": epoch}}
    _, value = decode_quorum_control(control_type, record.value)
    return {"control": control_type.name, "value": value}


def _bytes(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}

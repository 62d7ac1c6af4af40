"""Control batches: their typed keys, and the markers that end a transaction.

The key of a control record has its type, and each type has its own value: the end of a transaction
is here, the values in a quorum's log are in control_values.py.

Rule: R-40 (ControlRecordType, EndTransactionMarker).
"""

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.record.batch import NO_PARTITION_LEADER_EPOCH, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records

_KEY: Final = struct.Struct(">hh")
_END_TRANSACTION: Final = struct.Struct(">hi")
_VERSION: Final = 0


class ControlType(IntEnum):
    """Types of control records; UNKNOWN stands for any other type, which must be skipped.

    Rule: R-42 (ControlRecordType).
    """

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """The end of a transaction, and the epoch of the coordinator that ended it.

    Rule: R-43 (EndTransactionMarker).
    """

    is_commit: bool
    coordinator_epoch: int


class Aborted(Protocol):
    """An aborted transaction, as a fetch of committed records tells it."""

    @property
    def producer_id(self) -> int:
        """Whose it was."""

    @property
    def first_offset(self) -> int:
        """Where its records begin."""


def visible_batches(
    batches: Iterable[RecordBatch], aborted: Iterable[Aborted] | None
) -> Iterator[RecordBatch]:
    """Yield the batches that a consumer sees: no control batches, and none of aborted transactions.

    Args:
        batches: of a partition, in its order.
        aborted: of these batches; None for a reader of uncommitted records.
    """
    pending = sorted(aborted or (), key=lambda each: each.first_offset, reverse=True)
    producers: set[int] = set()
    for batch in batches:
        while pending and pending[-1].first_offset <= batch.last_offset:
            producers.add(pending.pop().producer_id)
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            if marker is not None and not marker.is_commit:
                producers.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in producers):
            yield batch


def encode_control_key(control_type: ControlType) -> bytes:
    """Write the key of a control record.

    Raises:
        UnknownServerError: UNKNOWN cannot be written.

    Rule: R-41, R-42.
    """
    if control_type is ControlType.UNKNOWN:
        raise UnknownServerError("a control record of unknown type cannot be written")
    return _KEY.pack(_VERSION, control_type)


def decode_control_key(key: bytes | None) -> ControlType:
    """Read the type of a control record; bytes after the first four are ignored.

    Raises:
        InvalidRecord: fewer than four bytes, or a negative version.

    Rule: R-41 (ControlRecordType.parseTypeId).
    """
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord(
            "Invalid value size found for end control record key. Must have at least "
            f"{_KEY.size} bytes, but found only {len(key or b'')}"
        )
    version, number = _KEY.unpack_from(key)
    if version < _VERSION:
        raise InvalidRecord(
            f"Invalid version found for control record: {version}. May indicate data corruption"
        )
    try:
        return ControlType(number)
    except ValueError:
        return ControlType.UNKNOWN


def encode_end_transaction(coordinator_epoch: int) -> bytes:
    """Write the value of an ABORT or COMMIT record.

    Rule: R-43 (EndTransactionMarker.serializeValue).
    """
    return _END_TRANSACTION.pack(_VERSION, coordinator_epoch)


def decode_end_transaction(value: bytes | None) -> int:
    """Read the coordinator epoch of an ABORT or COMMIT record.

    Raises:
        InvalidRecord: fewer than six bytes, or a negative version.

    Rule: R-43 (EndTransactionMarker.deserializeValue).
    """
    if value is None or len(value) < _END_TRANSACTION.size:
        raise InvalidRecord(
            "Invalid value size found for end transaction marker. Must have at least "
            f"{_END_TRANSACTION.size} bytes, but found only {len(value or b'')}"
        )
    version, coordinator_epoch = _END_TRANSACTION.unpack_from(value)
    if version < _VERSION:
        raise InvalidRecord(
            f"Invalid version found for end transaction marker: {version}. "
            "May indicate data corruption"
        )
    return int(coordinator_epoch)


def read_end_transaction_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """Read the marker in the first record of a control batch.

    Returns:
        None if it ends no transaction: it has another type, or the cleaner emptied the batch.

    Raises:
        InvalidRecord: the record, its key or its value is damaged.

    Rule: R-40 (ProducerAppendInfo.append).
    """
    record = next(iterate_records(batch), None)
    if record is None:
        return None
    control_type = decode_control_key(record.key)
    if control_type not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    return EndTransactionMarker(
        control_type is ControlType.COMMIT, decode_end_transaction(record.value)
    )


def end_transaction_batch(
    producer_id: int,
    producer_epoch: int,
    marker: EndTransactionMarker,
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytearray:
    """Build the 78 bytes that end a transaction, ready to be stamped.

    Raises:
        UnknownServerError: there is no producer id.

    Rule: R-44 (MemoryRecords.withEndTransactionMarker).
    """
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
        leader_epoch=leader_epoch,
    )
    control_type = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    builder.append(
        timestamp,
        encode_control_key(control_type),
        encode_end_transaction(marker.coordinator_epoch),
    )
    return bytearray(builder.build())


def control_batch(
    control_type: ControlType,
    value: bytes,
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytearray:
    """Build a control batch of one record for a quorum's log.

    Args:
        control_type: the type of the value.
        value: as control_values.py writes it.
        timestamp: of the record.
        base_offset: of the batch.
        leader_epoch: of the quorum.

    Raises:
        UnknownServerError: the type cannot be written, or ends a transaction.

    Rule: R-40, R-45 (MemoryRecords.withLeaderChangeMessage).
    """
    if control_type in (ControlType.ABORT, ControlType.COMMIT):
        raise UnknownServerError("an end marker needs a producer id")
    builder = BatchBuilder(base_offset=base_offset, is_control=True, leader_epoch=leader_epoch)
    builder.append(timestamp, encode_control_key(control_type), value)
    return bytearray(builder.build())

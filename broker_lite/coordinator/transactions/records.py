"""The records of `__transaction_state`: the newest record of a transactional id is its state.

The key consists of an int16 type and the id, the value of an int16 version and the transaction.
Version 1 has tagged fields for the data that transaction version 1 and later add.
"""

import struct
from typing import Final

from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.transactions.transaction import (
    EMPTY,
    Transaction,
    TransactionState,
)
from broker_lite.wire import messages

_VERSION: Final = struct.Struct(">h")
_KEY_TYPE: Final = 0
_KEY_LAYOUT: Final = 0


def encode_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    message = messages.TransactionLogKey
    return _VERSION.pack(_KEY_TYPE) + message.encode(
        message(transactional_id=transactional_id), _KEY_LAYOUT
    )


def decode_key(key: bytes) -> str | None:
    """Return the transactional id of a key, or None for a key of another type.

    Raises:
        DecodeError: the key is cut off.
    """
    if len(key) < _VERSION.size or _VERSION.unpack_from(key)[0] != _KEY_TYPE:
        return None
    return str(
        messages.TransactionLogKey.decode(key, _KEY_LAYOUT, _VERSION.size)[0].transactional_id
    )


def encode(transaction: Transaction, transaction_version: int) -> StateRecord:
    """Return the record of a transaction.

    Args:
        transaction: its partitions are sorted, so that equal states give equal bytes.
        transaction_version: the feature's level, which decides on the version of the record.

    See: T-72 (TransactionLog.valueToBytes).
    """
    version = 0 if transaction_version < 1 else 1
    value = messages.TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=int(transaction.state),
        transaction_partitions=_encode_partitions(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    encoded = messages.TransactionLogValue.encode(value, version)
    return StateRecord(encode_key(transaction.transactional_id), _VERSION.pack(version) + encoded)


def _encode_partitions(
    transaction: Transaction,
) -> "list[messages.TransactionLogValue.PartitionsSchema] | None":
    if transaction.state is EMPTY:
        return None
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    schema = messages.TransactionLogValue.PartitionsSchema
    return [schema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """Return the transaction of a record, without the last producer epoch, which no record has.

    Raises:
        DecodeError: the value is cut off, or its version is unknown.
        ValueError: the state is unknown.

    See: T-72 (TransactionLog.readTxnRecordValue).
    """
    version = _VERSION.unpack_from(value)[0] if len(value) >= _VERSION.size else -1
    decoded, _ = messages.TransactionLogValue.decode(value, version, _VERSION.size)
    return Transaction(
        transactional_id=transactional_id,
        producer_id=decoded.producer_id,
        producer_epoch=decoded.producer_epoch,
        previous_producer_id=decoded.previous_producer_id,
        next_producer_id=decoded.next_producer_id,
        timeout_ms=decoded.transaction_timeout_ms,
        state=TransactionState(decoded.transaction_status),
        partitions=frozenset(
            (topic.topic, partition)
            for topic in decoded.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        started_ms=decoded.transaction_start_timestamp_ms,
        updated_ms=decoded.transaction_last_update_timestamp_ms,
        client_version=decoded.client_transaction_version,
    )

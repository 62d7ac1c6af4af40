"""Records of `__transaction_state` as Kafka writes them: T-72."""

import pytest

from broker_lite.coordinator.transactions.records import (
    decode_key,
    decode_value,
    encode,
    encode_key,
)
from broker_lite.coordinator.transactions.transaction import Transaction, TransactionState
from broker_lite.wire import DecodeError

OPEN = Transaction(
    transactional_id="x",
    producer_id=3,
    producer_epoch=1,
    previous_producer_id=2,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("b", 1), ("a", 10), ("a", 9)}),
    started_ms=7,
    updated_ms=8,
    client_version=2,
)
PLAIN = (
    "0000 0000000000000003 0001 0000ea60 01"
    "00000002 0001 61 00000002 00000009 0000000a 0001 62 00000001 00000001"
    "0000000000000008 0000000000000007"
)
FLEXIBLE = (
    "0001 0000000000000003 0001 0000ea60 01"
    "03 02 61 03 00000009 0000000a 00 02 62 02 00000001 00"
    "0000000000000008 0000000000000007"
    "02 00 08 0000000000000002 02 02 0002"
)


@pytest.mark.parametrize(("version", "value"), [(0, PLAIN), (1, FLEXIBLE), (2, FLEXIBLE)])
def test_t72_layout_by_transaction_version(version: int, value: str) -> None:
    record = encode(OPEN, version)
    assert record.key == bytes.fromhex("0000 0001 78")
    assert record.value == bytes.fromhex(value)


def test_t72_an_empty_transaction_has_no_list_of_partitions() -> None:
    empty = Transaction(transactional_id="x", producer_id=3, timeout_ms=1, updated_ms=8)
    value = encode(empty, 0).value
    assert value is not None
    assert value[17:21] == b"\xff" * 4
    assert decode_value("x", value) == empty


def test_t72_what_is_written_is_read() -> None:
    record = encode(OPEN, 2)
    assert record.value is not None
    assert decode_key(record.key) == "x"
    assert decode_value("x", record.value) == OPEN


def test_t72_the_producer_id_to_come_is_written() -> None:
    ending = OPEN.ending(is_commit=True, client_version=2, next_producer_id=9, now_ms=10)
    value = encode(ending, 2).value
    assert value is not None
    assert decode_value("x", value).next_producer_id == 9


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\1", b"\0\5\0\1x"])
def test_other_keys(key: bytes) -> None:
    assert decode_key(key) is None


@pytest.mark.parametrize("key", [b"\0\0", b"\0\0\0\1"])
def test_a_key_that_is_cut_off(key: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_key(key)


def test_values_that_cannot_be_read() -> None:
    value = encode(OPEN, 1).value
    assert value is not None
    for end in range(len(value)):
        with pytest.raises(DecodeError):
            decode_value("x", value[:end])
    with pytest.raises(DecodeError):
        decode_value("x", b"\0\7" + value[2:])
    with pytest.raises(ValueError, match="99 is not a valid TransactionState"):
        decode_value("x", value[:16] + b"\x63" + value[17:])


def test_keys_round_trip() -> None:
    assert decode_key(encode_key("é" * 100)) == "é" * 100

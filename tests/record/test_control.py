"""R-40 to R-44; TV-30, TV-31, TV-32, TV-26."""

from typing import NamedTuple

import pytest

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.record import control
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import ControlType, EndTransactionMarker
from broker_lite.record.control_values import LeaderChange, Voter
from tests.record.support import BATCHES, batch_of


@pytest.mark.parametrize(("name", "is_commit"), [("TV-30", True), ("TV-31", False)])
def test_r_44_end_transaction_batch(name: str, is_commit: bool) -> None:
    marker = EndTransactionMarker(is_commit, 11)
    data = control.end_transaction_batch(
        4001, 3, marker, timestamp=1700000000000, base_offset=42, leader_epoch=5
    )
    assert data.hex() == BATCHES[name]["hex"]
    assert len(data) == 78
    assert control.read_end_transaction_marker(batch_of(data)) == marker


def test_r_44_needs_a_producer_id() -> None:
    with pytest.raises(UnknownServerError):
        control.end_transaction_batch(-1, -1, EndTransactionMarker(True, 0), timestamp=0)


def test_r_45_tv_32_leader_change() -> None:
    data = control.control_batch(
        ControlType.LEADER_CHANGE,
        LeaderChange(1, (Voter(1),), ()).encode(),
        timestamp=1700000000000,
        base_offset=9,
        leader_epoch=2,
    )
    assert data.hex() == BATCHES["TV-32"]["hex"]


def test_r_40_no_marker() -> None:
    """Another type, or emptied by the cleaner."""
    for name in ("TV-32", "TV-26"):
        assert control.read_end_transaction_marker(batch_of(BATCHES[name]["hex"])) is None


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
def test_markers_are_not_plain_control_batches(control_type: ControlType) -> None:
    with pytest.raises(UnknownServerError):
        control.control_batch(control_type, b"", timestamp=0)


@pytest.mark.parametrize("control_type", [each for each in ControlType if each >= 0])
def test_r_41_r_42_keys(control_type: ControlType) -> None:
    key = control.encode_control_key(control_type)
    assert control.decode_control_key(key) is control_type
    # a higher version and more bytes are read the same way
    assert control.decode_control_key(b"\x00\x05" + key[2:] + b"more") is control_type


@pytest.mark.parametrize("key", ["0000ffff", "00000007", "00007fff"])
def test_r_42_unknown_types(key: str) -> None:
    assert control.decode_control_key(bytes.fromhex(key)) is ControlType.UNKNOWN
    with pytest.raises(UnknownServerError):
        control.encode_control_key(ControlType.UNKNOWN)


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_r_41_damaged_keys(key: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        control.decode_control_key(key)


def test_r_43_value() -> None:
    assert control.encode_end_transaction(11).hex() == "00000000000b"
    assert control.decode_end_transaction(bytes.fromhex("0007fffffffeaa")) == -2


@pytest.mark.parametrize("value", [None, b"", bytes(5), b"\xff\xff" + bytes(4)])
def test_r_43_damaged_values(value: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        control.decode_end_transaction(value)


class Aborted(NamedTuple):
    """An aborted transaction."""

    producer_id: int
    first_offset: int


def of_producer(producer_id: int, offset: int) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    builder.append(0, None, b"v")
    return batch_of(bytes(builder.build()))


def end_of(producer_id: int, offset: int, *, is_commit: bool) -> RecordBatch:
    marker = EndTransactionMarker(is_commit, 0)
    data = control.end_transaction_batch(producer_id, 0, marker, timestamp=0, base_offset=offset)
    return batch_of(bytes(data))


def test_what_consumers_see() -> None:
    batches = [
        of_producer(1, 0),
        of_producer(2, 1),
        end_of(1, 2, is_commit=False),
        of_producer(1, 3),
        end_of(2, 4, is_commit=True),
        end_of(1, 5, is_commit=True),
    ]
    seen = control.visible_batches(batches, [Aborted(1, 0)])
    assert [each.base_offset for each in seen] == [1, 3]
    seen = control.visible_batches(batches, None)
    assert [each.base_offset for each in seen] == [0, 1, 3]

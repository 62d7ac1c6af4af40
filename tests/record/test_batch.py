"""TV-01 to TV-38 and TV-55 to TV-57 by their headers; R-06, R-10 to R-20."""

from typing import Any

import pytest

from broker_lite.errors import CorruptMessage
from broker_lite.record.batch import (
    RecordBatch,
    decrement_sequence,
    increment_sequence,
    parse_header,
)
from tests.record.support import BATCHES, PRODUCE, batch_of


@pytest.mark.parametrize("vector", BATCHES.values(), ids=lambda vector: vector["id"])
def test_r_10_header(vector: dict[str, Any]) -> None:
    """R-19: the records are what follows."""
    data = bytes.fromhex(vector["hex"])
    header = parse_header(b"xx" + data, 2)
    assert header._asdict() == vector["header"]
    batch = RecordBatch(memoryview(b"xx" + data), 2, len(data))
    assert {name: getattr(batch, name) for name in header._fields} == vector["header"]
    assert bytes(batch.data) == data
    assert bytes(batch.records_data) == data[61:]
    assert (batch.records_position, batch.end) == (63, 2 + len(data))


@pytest.mark.parametrize("vector", BATCHES.values(), ids=lambda vector: vector["id"])
def test_r_11_crc(vector: dict[str, Any]) -> None:
    batch = batch_of(vector["hex"])
    assert batch.crc_is_valid()
    batch.ensure_valid()
    # 0 to 20 are not covered, each byte after them is.
    for position in (0, 8, 12, 16):
        batch.buffer[position] ^= 1
        assert batch.crc_is_valid()
    for position in (21, 22, 60, len(batch.buffer) - 1):
        batch.buffer[position] ^= 1
        assert not batch.crc_is_valid()
        batch.buffer[position] ^= 1


def test_r_06_n_01() -> None:
    with pytest.raises(CorruptMessage) as error:
        batch_of(PRODUCE["N-01"]["hex"]).ensure_valid()
    text = f"Record is corrupt (stored crc = {0xDEADBEEF}, computed crc = {0xE99B8DD8})"
    assert error.value.message == text


def test_r_06_n_11() -> None:
    data = bytes.fromhex(PRODUCE["N-11"]["hex"])
    text = "Record batch is corrupt (the size 60 is smaller than the minimum allowed overhead 61)"
    for make in (lambda: RecordBatch(memoryview(data), 0, 60), lambda: parse_header(data)):
        with pytest.raises(CorruptMessage) as error:
            make()
        assert error.value.message == text


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (0x0000, (0, False, False, False, False)),
        (0x0004, (4, False, False, False, False)),
        (0x0007, (7, False, False, False, False)),
        (0x0008, (0, True, False, False, False)),
        (0x0010, (0, False, True, False, False)),
        (0x0020, (0, False, False, True, False)),
        (0x0040, (0, False, False, False, True)),
        # unused bits say nothing
        (0xFF80, (0, False, False, False, False)),
    ],
)
def test_r_12_attributes(attributes: int, expected: tuple[Any, ...]) -> None:
    data = bytearray.fromhex(BATCHES["TV-01"]["hex"])
    data[21:23] = attributes.to_bytes(2, "big")
    batch = batch_of(data)
    assert expected == (
        batch.codec,
        batch.is_log_append_time,
        batch.is_transactional,
        batch.is_control,
        batch.has_delete_horizon,
    )
    assert batch.is_compressed == (batch.codec != 0)


@pytest.mark.parametrize(
    ("sequence", "number", "expected"),
    [
        (0, 0, 0),
        (5, 3, 8),
        (2147483647, 0, 2147483647),
        (2147483647, 1, 0),
        (2147483646, 3, 1),
        (2147483647, 2147483647, 2147483646),
    ],
)
def test_r_14_sequences(sequence: int, number: int, expected: int) -> None:
    assert increment_sequence(sequence, number) == expected
    assert decrement_sequence(expected, number) == sequence


def test_r_14_derived_fields() -> None:
    batch = batch_of(BATCHES["TV-21"]["hex"])
    assert (batch.last_offset, batch.next_offset, batch.last_sequence) == (3, 4, 1)
    assert batch.has_producer_id
    plain = batch_of(BATCHES["TV-01"]["hex"])
    assert (plain.last_sequence, plain.has_producer_id) == (-1, False)
    plain.producer_id = -2
    assert not plain.has_producer_id


def test_r_16_empty_batches() -> None:
    for name in ("TV-24", "TV-25", "TV-26", "TV-38"):
        batch = batch_of(BATCHES[name]["hex"])
        assert (batch.size_bytes, batch.record_count, batch.base_timestamp) == (61, 0, -1)
    assert batch_of(BATCHES["TV-24"]["hex"]).last_offset == 109
    assert batch_of(BATCHES["TV-24"]["hex"]).last_sequence == 26


def test_r_17_delete_horizon() -> None:
    assert batch_of(BATCHES["TV-34"]["hex"]).delete_horizon_ms == 1700086500000
    assert batch_of(BATCHES["TV-33"]["hex"]).delete_horizon_ms is None


def test_r_15_r_18_count_is_not_the_last_delta() -> None:
    batch = batch_of(BATCHES["TV-36"]["hex"])
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (70, 72, 1)
    assert batch.base_timestamp == batch.max_timestamp == 1700000000010


class TestSetters:
    """R-20, R-13, TV-55 to TV-57."""

    def test_tv_56_stamping_keeps_the_crc(self) -> None:
        batch = batch_of(BATCHES["TV-55"]["hex"])
        batch.set_last_offset(41)
        batch.set_leader_epoch(6)
        batch.set_max_timestamp(False, 1700000000000)
        assert bytes(batch.data).hex() == BATCHES["TV-56"]["hex"]
        assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (41, 41, 6)

    def test_tv_57_log_append_time(self) -> None:
        batch = batch_of(BATCHES["TV-56"]["hex"])
        batch.set_max_timestamp(True, 1700000009999)
        assert bytes(batch.data).hex() == BATCHES["TV-57"]["hex"]
        assert batch.crc_is_valid()
        assert (batch.is_log_append_time, batch.max_timestamp) == (True, 1700000009999)

    def test_last_offset_of_several_records(self) -> None:
        batch = batch_of(BATCHES["TV-21"]["hex"])
        batch.set_last_offset(13)
        assert (batch.base_offset, batch.last_offset) == (10, 13)
        assert bytes(batch.data[:8]) == (10).to_bytes(8, "big")

    def test_nothing_is_written_without_a_change(self) -> None:
        """R-13, A-04: then unused attribute bits stay."""
        batch = batch_of(PRODUCE["A-04"]["hex"])
        batch.set_max_timestamp(False, 1700000000000)
        assert bytes(batch.data).hex() == PRODUCE["A-04"]["hex"]

    def test_a_change_writes_attributes_from_scratch(self) -> None:
        """R-13: high byte and bit 7 become 0, the flags stay."""
        batch = batch_of(PRODUCE["A-04"]["hex"])
        batch.set_max_timestamp(False, 5)
        assert batch.attributes == 0x0040
        assert bytes(batch.data[21:23]) == b"\x00\x40"
        assert batch.crc_is_valid()
        batch.set_max_timestamp(True, 5)
        assert batch.attributes == 0x0048

    @pytest.mark.parametrize("name", ["A-05", "A-06", "A-13"])
    def test_as_stored(self, name: str) -> None:
        """The broker corrects type and max timestamp, and stamps offset and leader epoch."""
        vector = PRODUCE[name]
        batch = batch_of(vector["hex"])
        batch.set_last_offset(batch.last_offset_delta)
        batch.set_leader_epoch(0)
        batch.set_max_timestamp(False, 1700000000000)
        assert bytes(batch.data).hex() == vector["stored"]

    def test_a_view_in_the_middle_of_a_buffer(self) -> None:
        data = bytes.fromhex(BATCHES["TV-55"]["hex"])
        buffer = memoryview(bytearray(b"\xee" * 9 + data + b"\xee" * 9))
        batch = RecordBatch(buffer, 9, len(data))
        batch.set_last_offset(41)
        batch.set_leader_epoch(6)
        batch.set_max_timestamp(True, 1700000009999)
        assert bytes(batch.data).hex() == BATCHES["TV-57"]["hex"]
        assert bytes(buffer[:9]) == bytes(buffer[-9:]) == b"\xee" * 9

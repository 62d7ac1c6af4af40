"""R-01 to R-05."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import BrokerError, CorruptMessage, UnknownServerError
from broker_lite.record.framing import Entry, valid_bytes, walk
from tests.record.support import BATCHES, PRODUCE, vectors


def entry(length: int, magic: int = 2, size_bytes: int | None = None) -> bytes:
    data = struct.pack(">qiib", 0, length, 0, magic) + bytes(min(max(0, length - 5), 1000))
    return data if size_bytes is None else data[:size_bytes].ljust(size_bytes, b"\0")


ONE = bytes.fromhex(BATCHES["TV-01"]["hex"])


def test_r_01_entries_of_all_magics_in_a_row() -> None:
    v0, v1 = (
        bytes.fromhex(vector["hex"])
        for vector in vectors("legacy.json")
        if vector["id"] in ("TV-40", "TV-46")
    )
    assert list(walk(v0 + v1 + ONE)) == [
        Entry(0, len(v0), 0),
        Entry(len(v0), len(v1), 1),
        Entry(len(v0) + len(v1), len(ONE), 2),
    ]
    assert list(walk(b"xx" + ONE, 2)) == [Entry(2, len(ONE), 2)]


@pytest.mark.parametrize("size_bytes", [0, 11, 12, 16, 17, 69])
def test_r_03_partial_entries_are_dropped(size_bytes: int) -> None:
    assert list(walk(ONE[:size_bytes])) == []
    assert len(list(walk(ONE + ONE[:size_bytes]))) == 1
    assert valid_bytes(ONE + ONE[:size_bytes]) == len(ONE)


@pytest.mark.parametrize("size_bytes", [12, 16, 17, 30])
@pytest.mark.parametrize("length", [13, 0, -1, -(2**31)])
def test_r_03_step_2_is_looked_at_before_the_magic(length: int, size_bytes: int) -> None:
    with pytest.raises(CorruptMessage) as error:
        list(walk(entry(length, 9, size_bytes)))
    text = f"Record size {length} is less than the minimum record overhead (14)"
    assert error.value.message == text


def test_r_03_step_1_too_short_for_a_length() -> None:
    assert list(walk(entry(0, 9, 11))) == []


@pytest.mark.parametrize("magic", [-1, 3, 127, -128])
def test_r_03_step_4_is_looked_at_in_partial_entries(magic: int) -> None:
    for size_bytes in (17, 60):
        with pytest.raises(CorruptMessage) as error:
            list(walk(entry(1000, magic, size_bytes)))
        assert error.value.message == f"Invalid magic found in record: {magic}"
    assert list(walk(entry(1000, magic, 16))) == []


@pytest.mark.parametrize("length", [0x7FFFFFF4, 0x7FFFFFFF])
def test_r_03_overflow(length: int) -> None:
    with pytest.raises(UnknownServerError):
        list(walk(struct.pack(">qiib", 0, length, 0, 2)))


@pytest.mark.parametrize("length", [0x7FFFFFF3, 0x10000000])
def test_r_03_does_not_fit(length: int) -> None:
    assert list(walk(struct.pack(">qiib", 0, length, 0, 2))) == []


def test_r_03_errors_come_when_the_walk_gets_there() -> None:
    found = walk(ONE + entry(13))
    assert next(found).size_bytes == len(ONE)
    with pytest.raises(CorruptMessage):
        next(found)


@pytest.mark.parametrize("name", ["N-09", "N-10"])
def test_rejected_by_the_walk(name: str) -> None:
    vector = PRODUCE[name]
    with pytest.raises(CorruptMessage) as error:
        list(walk(bytes.fromhex(vector["hex"])))
    assert (error.value.code, error.value.message) == (
        vector["error_code"],
        vector["error_message"],
    )


def test_r_05_n_18_n_19_a_08() -> None:
    assert len(list(walk(bytes.fromhex(PRODUCE["N-18"]["hex"])))) == 2
    assert valid_bytes(bytes.fromhex(PRODUCE["N-19"]["hex"])) == 0
    assert valid_bytes(bytes.fromhex(PRODUCE["A-08"]["hex"])) == 70


@settings(max_examples=300)
@given(st.binary(max_size=80), st.integers(0, 80))
def test_r_03_documented_results_only(data: bytes, at: int) -> None:
    try:
        found = list(walk(ONE[:at] + data))
    except BrokerError:
        return
    assert all(entry.position + entry.size_bytes <= at + len(data) for entry in found)

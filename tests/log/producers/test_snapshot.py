"""S-17, V-67: the producer snapshot, with the bytes of a real broker."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.log.producers.entry import BatchMetadata
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from broker_lite.record.crc import crc32c

CLOSED = bytes.fromhex(  # TV-64
    "00014a8f5ca8000000020000000000000fa00000000000010000000000000007000000010000018bcfe56801"
    "ffffffffffffffffffffffff00000000000007d0000000000001000000000000000900000000000001a1fdb9"
    "e9e200000004ffffffffffffffff"
)
OPEN = bytes.fromhex(  # TV-65
    "0001e38cabd0000000020000000000000fa00000000000010000000000000007000000010000018bcfe56801"
    "ffffffffffffffffffffffff00000000000003e80000000000010000000000000009000000000000018bcfe5"
    "6801ffffffff0000000000000008"
)
EMPTY = bytes.fromhex("000148674bc700000000")  # TV-66


def signed(content: bytes, version: int = 1) -> bytes:
    return struct.pack(">hI", version, crc32c(content)) + content


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(CLOSED, id="TV-64"),
        pytest.param(OPEN, id="TV-65"),
        pytest.param(EMPTY, id="TV-66"),
    ],
)
def test_reads_back(data: bytes) -> None:
    assert encode_snapshot(decode_snapshot(data)) == data


def test_fields() -> None:
    """TV-64, TV-65."""
    idempotent, marked = decode_snapshot(CLOSED)
    assert idempotent.batches == [BatchMetadata(0, 1, 7, 1, 1700000000001)]
    assert idempotent.describe() == (4000, 0, 1, 1700000000001, -1, -1)
    assert not idempotent.is_in_transaction
    assert marked.describe() == (2000, 0, 1, 1795258182114, 4, -1)
    assert marked.batches[0].first_offset == 9
    opened = decode_snapshot(OPEN)[1]
    assert opened.is_in_transaction
    assert opened.transaction_first_offset == 8


def test_an_entry_without_batch() -> None:
    """S-17: what a marker alone leaves."""
    content = struct.pack(">iqhiqiqiq", 1, 7, 3, -1, -1, 0, 99, 5, -1)
    (entry,) = decode_snapshot(signed(content))
    assert entry.batches == []
    assert entry.describe() == (7, 3, -1, 99, 5, -1)
    assert encode_snapshot([entry]) == signed(content)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="S-17-empty-file"),
        pytest.param(EMPTY[:-1], id="S-17-short-header"),
        pytest.param(CLOSED[:-1], id="S-17-short"),
        pytest.param(signed(EMPTY[6:], 2), id="S-17-version"),
        pytest.param(CLOSED[:20] + b"\1" + CLOSED[21:], id="S-17-crc"),
        pytest.param(signed(struct.pack(">i", 1)), id="S-17-count-high"),
        pytest.param(signed(struct.pack(">i", -1)), id="S-17-count-negative"),
        pytest.param(signed(CLOSED[6:] + b"\0"), id="S-17-rest"),
    ],
)
def test_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(data)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_decode_or_are_corrupt(content: bytes, sign: bool) -> None:
    try:
        entries = decode_snapshot(signed(content) if sign else content)
    except CorruptSnapshot:
        return
    assert len(decode_snapshot(encode_snapshot(entries))) == len(entries)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(6, len(OPEN) - 1), st.integers(0, 255)), max_size=2))
def test_edited_bytes_decode_or_are_corrupt(edits: list[tuple[int, int]]) -> None:
    data = bytearray(OPEN)
    for position, value in edits:
        data[position] = value
    try:
        entries = decode_snapshot(signed(bytes(data[6:])))
    except CorruptSnapshot:
        return
    encode_snapshot(entries)

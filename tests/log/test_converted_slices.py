"""F-60 to F-62: ranges of a segment as answers to old clients."""

from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage, KafkaStorageError, UnsupportedCompressionType
from broker_lite.log.converted_slices import PIECE_BYTES, convert_slice
from broker_lite.log.files.open_file import FileSlice, OpenFile
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.framing import Entry
from broker_lite.record.legacy.down_conversion import down_convert

T0 = 1_700_000_000_000
MARKER = bytes(end_transaction_batch(5, 0, EndTransactionMarker(True, 4), timestamp=T0))


def batch(offset: int, *, codec: int = 0, size_bytes: int = 5, count: int = 2) -> bytes:
    builder = BatchBuilder(base_offset=offset, codec=codec)
    for number in range(count):
        builder.append(T0 + number, b"k", b"v" * size_bytes, [(b"h" * 40, b"x")])
    return builder.build()


def converted(data: bytes, magic: int = 1) -> bytes:
    entry = Entry(0, len(data), data[16])
    bytes_max = 1 << 20
    return bytes(
        down_convert(memoryview(data), entry, magic, first_offset=0, bounds=Bounds(bytes_max))
    )


def overflow(size_bytes: int) -> bytes:
    head = (-1).to_bytes(8, "big", signed=True) + max(size_bytes + 1, 61).to_bytes(4, "big")
    return (head + bytes(size_bytes))[:size_bytes]


def answer(tmp_path: Path, *parts: bytes, cut: int = 0, first_offset: int = 0) -> bytes:
    """Convert a range that lies between other bytes of a file, and lacks its last ones."""
    path = tmp_path / "segment.log"
    data = b"".join(parts)
    path.write_bytes(b"\xaa" * 9 + data + b"\xaa" * 9)
    file = OpenFile(str(path))
    records = FileSlice(file.fd, 9, len(data) - cut, file)
    return convert_slice(records, 1, first_offset=first_offset, bounds=Bounds(1 << 20))


def test_f62_what_is_shorter_is_filled(tmp_path: Path) -> None:
    parts = [batch(0), batch(2)]
    small = b"".join(map(converted, parts))
    left = sum(map(len, parts)) - len(small)
    assert left > 60
    assert answer(tmp_path, *parts) == small + overflow(left)


def test_f62_what_is_longer_is_cut(tmp_path: Path) -> None:
    parts = [batch(0), batch(2, codec=1, count=40)]
    whole = b"".join(map(converted, parts))
    parts.append(batch(42, count=20))
    size_bytes = sum(map(len, parts[:2])) + 10
    cut = len(parts[2]) - 10
    assert answer(tmp_path, *parts, cut=cut) == (whole + overflow(1000))[:size_bytes]


def test_f62_the_first_batch_is_given_whole(tmp_path: Path) -> None:
    builder = BatchBuilder()
    for number in range(20):
        builder.append(T0 + number, None, b"")
    data = builder.build()
    whole = converted(data)
    assert len(whole) > len(data)
    assert answer(tmp_path, data) == whole
    assert answer(tmp_path, data, batch(20), cut=1) == whole


def test_f62_a_fill_too_short_for_its_head(tmp_path: Path) -> None:
    parts = [batch(0), batch(2)]
    small = b"".join(map(converted, parts))
    left = sum(map(len, parts)) - len(small)
    tail = batch(4)
    assert answer(tmp_path, *parts, tail, cut=len(tail) + left - 5)[len(small) :] == b""
    assert answer(tmp_path, batch(0), tail, cut=len(tail) - 3).endswith(
        overflow(len(batch(0)) + 3 - len(converted(batch(0))))
    )


def test_f61_dropped_batches_alone_are_the_head_of_a_message(tmp_path: Path) -> None:
    assert answer(tmp_path, MARKER, MARKER) == overflow(12)
    assert answer(tmp_path, batch(0), first_offset=2) == overflow(12)


def test_f61_dropped_batches_do_not_come_first(tmp_path: Path) -> None:
    """Kafka 3.9 converts some batches twice here, and the client gets their records twice."""
    found = answer(tmp_path, MARKER, MARKER, batch(2))
    first = converted(batch(2))
    assert found == first + overflow(2 * len(MARKER) + len(batch(2)) - len(first))


def test_f11_a_range_without_a_whole_batch_is_empty(tmp_path: Path) -> None:
    assert answer(tmp_path, batch(0), cut=1) == b""
    assert answer(tmp_path, b"") == b""


def test_f61_zstd_comes_as_an_error_when_it_is_first(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedCompressionType):
        answer(tmp_path, MARKER, batch(1, codec=4))


def test_f61_zstd_later_ends_the_answer(tmp_path: Path) -> None:
    parts = [batch(0), batch(2), batch(4, codec=4), batch(6)]
    first = converted(parts[0])
    assert answer(tmp_path, *parts) == first + overflow(sum(map(len, parts)) - len(first))


def test_f62_only_the_piece_with_zstd_is_lost(tmp_path: Path) -> None:
    parts = [batch(0), batch(2, size_bytes=PIECE_BYTES), batch(4, codec=4)]
    kept = b"".join(map(converted, parts[:2]))
    assert answer(tmp_path, *parts) == kept + overflow(sum(map(len, parts)) - len(kept))


def test_damage_is_told_when_it_comes_first(tmp_path: Path) -> None:
    damaged = bytearray(batch(2))
    damaged[8:12] = (13).to_bytes(4, "big")
    with pytest.raises(CorruptMessage):
        answer(tmp_path, bytes(damaged))
    parts = [batch(0), bytes(damaged)]
    first = converted(parts[0])
    assert answer(tmp_path, *parts) == first + overflow(sum(map(len, parts)) - len(first))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = OpenFile(str(tmp_path), 0)
    records = FileSlice(file.fd, 0, 100, file)
    with pytest.raises(KafkaStorageError):
        convert_slice(records, 1, first_offset=0, bounds=Bounds(1))

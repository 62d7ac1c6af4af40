"""S-10, S-11, S-16: wrong entries of the indexes are told, and only they."""

from pathlib import Path

import pytest

from broker_lite.log.files.txn_index import ENTRY as TRANSACTION_ENTRY
from tests.pipeline.index_reading import (
    BATCHES,
    RECORDS,
    file_of,
    indexed_partition,
    read,
    told,
    wrong,
)
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    write_segment,
)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    return indexed_partition(tmp_path)


@pytest.mark.parametrize(
    ("entry", "byte", "xor", "error"),
    [
        pytest.param(2, 7, 1, "S-10: offset 39 no batch starts at 1292", id="S-10 place"),
        pytest.param(2, 3, 1, "S-10: offset 38 is not the last offset of a batch", id="S-10 key"),
        pytest.param(2, 3, 8, "S-10: offset 47 is not the last offset of a batch", id="S-10 high"),
        pytest.param(2, 3, 0x3A, "S-10: offset 29 is not below", id="S-10 same"),
        pytest.param(2, 0, 1, "S-10: offset 16777255 is not below the entry behind it", id="order"),
        pytest.param(2, 4, 1, "S-10: offset 39 is not below the entry behind it", id="S-10 order"),
        pytest.param(7, 4, 1, "S-10: offset 80 leads behind the last batch", id="S-10 behind"),
        pytest.param(7, 0, 1, "S-10: offset 16777296 is not the last offset", id="S-10 last"),
    ],
)
def test_wrong_offset_entries(
    partition: Partition, entry: int, byte: int, xor: int, error: str
) -> None:
    damage(file_of(partition, ".index"), entry * 8 + byte, xor)
    found = wrong(read(partition.directory.parent))
    assert any(one.startswith(error) for one in found)
    assert len(found) <= 2  # of two in the wrong order either may be the wrong one


def test_s_10_an_offset_in_front_of_its_batch(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=600) as written:
        for number in range(BATCHES):
            written.append(numbered(RECORDS, first=number * RECORDS))
    damage(file_of(written, ".index"), 3, 29 ^ 9)
    assert wrong(read(tmp_path)) == ["S-10: offset 9 the batch there begins at 20"]


@pytest.mark.parametrize(
    ("entry", "byte", "xor", "error"),
    [
        pytest.param(2, 7, 1, "S-11: timestamp 1700000000038 is not the youngest", id="S-11 time"),
        pytest.param(2, 11, 0x20, "S-11: timestamp 1700000000039 is not", id="S-11 offset"),
        pytest.param(2, 1, 1, "S-11: timestamp 283174976710695 is not below", id="S-11 order"),
        pytest.param(9, 8, 1, "S-11: timestamp 1700000000080 leads behind", id="S-11 behind"),
    ],
)
def test_wrong_time_entries(
    partition: Partition, entry: int, byte: int, xor: int, error: str
) -> None:
    path = file_of(partition, ".timeindex")
    damage(path, min(entry * 12, path.stat().st_size - 12) + byte, xor)
    found = wrong(read(partition.directory.parent))
    assert any(one.startswith(error) for one in found)
    assert len(found) <= 2


def test_s_11_an_older_batch_does_not_bring_the_largest_timestamp(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=10) as written:
        for timestamp_ms in (T0, T0 + 9, T0 + 5, T0 + 12):
            written.append([NewRecord(timestamp_ms=timestamp_ms)])
    assert told(read(tmp_path, "time")) == [(T0 + 9, 1, None), (T0 + 12, 3, None)]
    damage(file_of(written, ".timeindex"), 11, 3)
    error = f"S-11: timestamp {T0 + 9} is not that of the batch with offset 2: {T0 + 5}"
    assert wrong(read(tmp_path)) == [error]


def transaction(producer_id: int, first_offset: int, last_offset: int) -> bytes:
    return TRANSACTION_ENTRY.pack(0, producer_id, first_offset, last_offset, last_offset + 1)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(
            transaction(8, 80, 81),
            "S-16: transaction from 80 of producer 8 has no marker at 81",
            id="S-16 another producer",
        ),
        pytest.param(
            transaction(7, 79, 80),
            "S-16: transaction from 79 of producer 7 has no marker at 80",
            id="S-16 no marker",
        ),
        pytest.param(
            transaction(7, 82, 81),
            "S-16: transaction from 82 ends before it begins",
            id="S-16 order",
        ),
        pytest.param(
            transaction(7, 80, 82),
            "S-16: transaction from 80 leads behind the last batch",
            id="S-16 behind",
        ),
    ],
)
def test_s_16_wrong_transactions(partition: Partition, data: bytes, error: str) -> None:
    file_of(partition, ".txnindex").write_bytes(data)
    assert wrong(read(partition.directory.parent)) == [error]


MARKER_BYTES, MARKER_KEY = 78, 61 + 5


def test_s_16_a_marker_that_cannot_be_read(partition: Partition) -> None:
    path = file_of(partition, ".log")
    damage(path, path.stat().st_size - MARKER_BYTES + MARKER_KEY, 0x80)  # a version below 0
    error = "S-16: transaction from 80 of producer 7 has no marker at 81"
    assert wrong(read(partition.directory.parent)) == [error]


def test_old_messages_have_indexes_too(tmp_path: Path) -> None:
    message = legacy_message(0, b"k", b"v")
    wrapper = legacy_wrapper(3, [legacy_message(at, None, b"v") for at in range(3)])
    path = write_segment(tmp_path, message + wrapper)
    entry = (3).to_bytes(4, "big") + len(message).to_bytes(4, "big")
    path.with_suffix(".index").write_bytes(entry)
    path.with_suffix(".timeindex").write_bytes(T0.to_bytes(8, "big") + bytes(4))
    path.with_suffix(".txnindex").write_bytes(transaction(7, 2, 3))
    assert told(read(tmp_path)) == [
        (T0, 0, None),
        (3, len(message), None),
        (2, 3, "S-16: transaction from 2 of producer 7 has no marker at 3"),
    ]

"""R-16, R-30 to R-38 by single records; N and A vectors as far as the record room sees them."""

from typing import Any

import pytest

from broker_lite.errors import BrokerError, ErrorCode, InvalidRecord, UnknownServerError
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Bounds, Decompressed
from broker_lite.record.records import (
    check_records,
    iterate_records,
    keys_and_values,
    read_content,
)
from tests.record.support import BATCHES, PRODUCE, batch_of


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("full", [True, False], ids=["R-34", "R-36"])
@pytest.mark.parametrize("vector", BATCHES.values(), ids=lambda vector: vector["id"])
def test_tv_records(vector: dict[str, Any], full: bool) -> None:
    batch = batch_of(vector["hex"])
    records = list(iterate_records(batch, full_reader=full))
    assert [
        (record.timestamp_delta, record.offset_delta, record.key, record.value, record.headers)
        for record in records
    ] == [
        (
            expected["timestamp_delta"],
            expected["offset_delta"],
            unhex(expected["key"]),
            unhex(expected["value"]),
            tuple((unhex(key), unhex(value)) for key, value in expected["headers"]),
        )
        for expected in vector["records"]
    ]
    for record in records:
        assert record.offset == batch.base_offset + record.offset_delta
        if batch.is_log_append_time:
            assert record.timestamp == batch.max_timestamp
        else:
            assert record.timestamp == batch.base_timestamp + record.timestamp_delta
    content = read_content(batch)
    scan = check_records(batch, content, full_reader=full)
    assert scan.records_read == len(records)
    assert scan.null_keys == sum(record.key is None for record in records)
    # the sizes sum up to what was read
    assert sum(record.size_bytes for record in records) == len(content.data)


def test_r_33_log_append_time() -> None:
    batch = batch_of(BATCHES["TV-10"]["hex"])
    assert [record.timestamp for record in iterate_records(batch)] == [1700000000123] * 2


def test_r_33_sequences_wrap() -> None:
    batch = batch_of(BATCHES["TV-21"]["hex"])
    found = [record.sequence for record in iterate_records(batch)]
    assert found == [2147483646, 2147483647, 0, 1]
    assert [record.sequence for record in iterate_records(batch_of(BATCHES["TV-01"]["hex"]))] == [
        -1
    ]


def test_r_17_timestamps_relative_to_the_horizon() -> None:
    batch = batch_of(BATCHES["TV-34"]["hex"])
    assert [record.timestamp for record in iterate_records(batch)] == [
        1700000000000,
        1700000000005,
    ]


def test_r_33_size_without_the_over_long_part() -> None:
    """A-03."""
    batch = batch_of(PRODUCE["A-03"]["hex"])
    (record,) = iterate_records(batch)
    assert record.size_bytes == 9
    assert len(batch.records_data) == 10


# What the structure of each vector alone says, with the reader that a broker would take.
EXPECTED = {
    "N-04": ErrorCode.INVALID_RECORD,
    "N-05": ErrorCode.INVALID_RECORD,
    "N-08": ErrorCode.UNKNOWN_SERVER_ERROR,
    "N-12": ErrorCode.INVALID_RECORD,
    "N-13": ErrorCode.UNKNOWN_SERVER_ERROR,
    "N-14": ErrorCode.INVALID_RECORD,
    "N-15": ErrorCode.INVALID_RECORD,
    "N-20": ErrorCode.UNKNOWN_SERVER_ERROR,
    "N-21": ErrorCode.INVALID_RECORD,
    "N-23": ErrorCode.UNKNOWN_SERVER_ERROR,
}
NOT_A_BATCH = {"N-09", "N-10", "N-11", "N-18", "N-19"}


@pytest.mark.parametrize("name", sorted(PRODUCE.keys() - NOT_A_BATCH))
def test_n_and_a_vectors(name: str) -> None:
    data = bytes.fromhex(PRODUCE[name]["hex"])
    batch = batch_of(data[: 12 + int.from_bytes(data[8:12], "big")])
    full = not batch.is_compressed
    expected = EXPECTED.get(name)
    if expected is None:
        content = read_content(batch)
        check_records(batch, content, full_reader=full)
        found = list(iterate_records(batch, full_reader=full, content=content))
        assert len(found) == batch.record_count
        return
    assert expected == PRODUCE[name]["error_code"]
    for check in (
        lambda: check_records(batch, read_content(batch), full_reader=full),
        lambda: list(iterate_records(batch, full_reader=full)),
    ):
        with pytest.raises(BrokerError) as error:
            check()
        assert error.value.code == expected


def test_n_22_a_01_offsets_are_not_sequential() -> None:
    for name, full in (("N-22", False), ("A-01", True)):
        batch = batch_of(PRODUCE[name]["hex"])
        assert not check_records(batch, read_content(batch), full_reader=full).offsets_sequential


def test_a_09_the_full_reader_refuses_a_wrong_length() -> None:
    batch = batch_of(PRODUCE["A-09"]["hex"])
    for check in (
        lambda: check_records(batch, read_content(batch), full_reader=True),
        lambda: list(iterate_records(batch)),
    ):
        with pytest.raises(InvalidRecord):
            check()


def test_r_37_negative_count() -> None:
    batch = batch_of(BATCHES["TV-01"]["hex"])
    batch.record_count = -1
    with pytest.raises(InvalidRecord, match="Found invalid record count -1"):
        next(iterate_records(batch))
    with pytest.raises(InvalidRecord):
        check_records(batch, read_content(batch), full_reader=True)


def test_r_16_a_count_of_zero_opens_no_stream() -> None:
    batch = batch_of(PRODUCE["N-23"]["hex"])
    batch.record_count = 0
    assert list(iterate_records(batch)) == []
    assert check_records(batch, read_content(batch), full_reader=False).records_read == 0


def test_r_37_records_before_the_error_are_given() -> None:
    batch = batch_of(PRODUCE["N-05"]["hex"])
    found = iterate_records(batch)
    assert next(found).key == b"k"
    with pytest.raises(InvalidRecord):
        next(found)


def test_r_35_structure_before_codec_error() -> None:
    """A record that is wrong in itself is told before the failure of the codec after it."""
    batch = batch_of(PRODUCE["N-20"]["hex"])
    broken = Decompressed(b"\x10\x00\x00\x00\x02a\x021\x01", True, False)
    with pytest.raises(InvalidRecord):
        check_records(batch, broken, full_reader=False)
    cut = Decompressed(b"\x10\x00\x00\x00\x02a\x02", True, False)
    with pytest.raises(UnknownServerError):
        check_records(batch, cut, full_reader=False)


def test_r_37_codec_error_after_the_last_record() -> None:
    builder = BatchBuilder(codec=1)
    builder.append(0, b"k", b"v")
    batch = batch_of(builder.build())
    whole = read_content(batch)
    with pytest.raises(UnknownServerError):
        check_records(batch, whole._replace(failed=True), full_reader=False)


def test_content_is_bounded() -> None:
    builder = BatchBuilder(codec=1)
    builder.append(0, None, bytes(1_000_000))
    content = read_content(batch_of(builder.build()), bounds=Bounds(1000))
    assert (len(content.data), content.limit_exceeded) == (1000, True)


@pytest.mark.parametrize("vector", BATCHES.values(), ids=lambda vector: vector["id"])
def test_r_34_keys_and_values_are_those_of_the_records(vector: dict[str, Any]) -> None:
    batch = batch_of(vector["hex"])
    expected = [(record.key, record.value) for record in iterate_records(batch)]
    assert keys_and_values(batch) == expected


@pytest.mark.parametrize(
    ("count", "error"), [(-1, InvalidRecord), (2, InvalidRecord)], ids=["R-37", "R-35"]
)
def test_keys_and_values_of_a_wrong_count(count: int, error: type[BrokerError]) -> None:
    builder = BatchBuilder()
    builder.append(0, b"k", b"v")
    batch = batch_of(builder.build())
    batch.record_count = count
    with pytest.raises(error):
        keys_and_values(batch)


def test_r_37_keys_and_values_behind_a_codec_error() -> None:
    builder = BatchBuilder(codec=1)
    builder.append(0, b"k", b"v" * 100)
    data = bytearray(builder.build())
    data[-5] ^= 0xFF  # the checksum at the end of the gzip stream
    batch = batch_of(data)
    with pytest.raises(UnknownServerError):
        keys_and_values(batch)
    batch.record_count = 0
    assert keys_and_values(batch) == []

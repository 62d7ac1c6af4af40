"""V-33, V-34, V-44: record errors, with the texts of 4.3.1."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.rejected import (
    RecordError,
    RejectedAsInvalid,
    RejectedByTimestamp,
    RejectedRecords,
)
from broker_lite.log.validate.single_records import AT_ONCE_RECORDS_MAX, RECORD_ERRORS_MAX
from broker_lite.log.validate.validated import TakesLong, ValidatedRecords, ValidationConfig
from tests.log.batches import batch, gzipped, record, writable

NOW_MS = 1_795_267_000_000
HOUR_MS = 3_600_000
NO_KEY = "Compacted topic cannot accept message without key in topic partition c-3"
BY_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"

PLAIN = ValidationConfig(topic="t")
COMPACTED = ValidationConfig(topic="c", is_compacted=True)
APPEND_TIME = ValidationConfig(topic="l", is_append_time=True)
UNCOMPRESSED = ValidationConfig(topic="u", codec=0)
NARROW = ValidationConfig(topic="n", before_max_ms=1000, after_max_ms=2000)
UNLIMITED = ValidationConfig(topic="t", before_max_ms=2**63 - 1, after_max_ms=2**63 - 1)


def validate(data: bytes, config: ValidationConfig) -> ValidatedRecords:
    return validate_records(writable(data), config, now_ms=NOW_MS, partition=3)


def rejected(data: bytes, config: ValidationConfig) -> RejectedRecords:
    with pytest.raises(RejectedRecords) as raised:
        validate(data, config)
    return raised.value


def out_of_range(timestamp: int, offset: int = 0, low: int = 0, high: int = HOUR_MS) -> str:
    low = low or -9223370241587775807
    return (
        f"Timestamp {timestamp} of message with offset {offset} is out of range. "
        f"The timestamp should be within [{low}, {NOW_MS + high}]"
    )


def wrong_type(text: str) -> str:
    return (
        f"Invalid timestamp type in message {text}. "
        "Producer should not set timestamp type to LogAppendTime."
    )


@pytest.mark.parametrize("make", [batch, gzipped], ids=["V-44-plain", "V-44-gzip"])
def test_all_null_keys_are_listed(make: object) -> None:
    content = b"".join(record(key=None if i % 2 else b"k", offset_delta=i) for i in range(9))
    error = rejected(make(content, count=9), COMPACTED)  # type: ignore[operator]
    assert isinstance(error, RejectedAsInvalid)
    assert error.code == ErrorCode.INVALID_RECORD
    assert error.record_errors == [RecordError(i, NO_KEY) for i in (1, 3, 5, 7)]
    assert error.message == (
        "One or more records have been rejected due to 4 record errors in total, and only showing "
        "the first three errors at most: "
        f"[RecordError(batchIndex=1, message='{NO_KEY}'), "
        f"RecordError(batchIndex=3, message='{NO_KEY}'), "
        f"RecordError(batchIndex=5, message='{NO_KEY}')]"
    )


def test_one_timestamp_error_decides_the_code() -> None:
    """V-44; a record's first failing check is its error (V-33)."""
    late = 5 * HOUR_MS
    content = (
        record(key=None)
        + record(offset_delta=1, timestamp_delta=late)
        + record(key=None, offset_delta=7, timestamp_delta=late)
        + record(offset_delta=8)
    )
    error = rejected(batch(content, count=4, timestamp=NOW_MS), COMPACTED)
    assert isinstance(error, RejectedByTimestamp)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert error.message == BY_TIMESTAMP
    assert error.record_errors == [
        RecordError(0, NO_KEY),
        RecordError(1, out_of_range(NOW_MS + late, 1)),
        RecordError(2, NO_KEY),
    ]


@pytest.mark.parametrize(
    ("data", "config", "message"),
    [
        pytest.param(
            batch(record(value=None), attributes=8, timestamp=-1),
            PLAIN,
            wrong_type("DefaultRecord(offset=0, timestamp=-1, key=1 bytes, value=0 bytes)"),
            id="V-34-bit-and--1",
        ),
        pytest.param(
            gzipped(record(None, None), attributes=8, timestamp=-1),
            PLAIN,
            wrong_type(
                "PartialDefaultRecord(offset=0, timestamp=-1, key=-1 bytes, value=-1 bytes)"
            ),
            id="V-34-bit-and--1-gzip",
        ),
        pytest.param(
            gzipped(record(None, None), attributes=8, timestamp=-1),
            UNCOMPRESSED,
            wrong_type("DefaultRecord(offset=0, timestamp=-1, key=0 bytes, value=0 bytes)"),
            id="V-34-bit-and--1-rebuilt",
        ),
        pytest.param(
            batch(record(offset_delta=5), attributes=8),
            APPEND_TIME,
            wrong_type(
                "DefaultRecord(offset=5, timestamp=1700000000000, key=1 bytes, value=1 bytes)"
            ),
            id="V-34-bit-on-append-time",
        ),
        pytest.param(
            batch(record(), attributes=8, timestamp=-1),
            APPEND_TIME,
            wrong_type("DefaultRecord(offset=0, timestamp=-1, key=1 bytes, value=1 bytes)"),
            id="V-34-bit-and--1-on-append-time",
        ),
        pytest.param(
            batch(record(), attributes=8, timestamp=5, max_timestamp=NOW_MS + HOUR_MS + 1),
            PLAIN,
            out_of_range(NOW_MS + HOUR_MS + 1),
            id="V-34-range-of-append-time-batch",
        ),
        pytest.param(
            batch(record(), timestamp=NOW_MS + HOUR_MS + 1),
            PLAIN,
            out_of_range(NOW_MS + HOUR_MS + 1),
            id="V-34-after",
        ),
        pytest.param(
            batch(record(), timestamp=NOW_MS - 1001),
            NARROW,
            out_of_range(NOW_MS - 1001, low=NOW_MS - 1000, high=2000),
            id="V-34-before",
        ),
        pytest.param(
            batch(record(), timestamp=-(2**63)), PLAIN, out_of_range(-(2**63)), id="V-34-wrap"
        ),
        pytest.param(
            batch(record(timestamp_delta=-1), timestamp=-(2**63)),
            PLAIN,
            out_of_range(2**63 - 1),
            id="V-34-wrapped-delta",
        ),
        pytest.param(
            batch(record(), timestamp=NOW_MS - 2**63 - 1 + 2),
            ValidationConfig(topic="t", after_max_ms=2**63 - 1, before_max_ms=1),
            f"Timestamp {NOW_MS - 2**63 + 1} of message with offset 0 is out of range. "
            f"The timestamp should be within [{NOW_MS - 1}, {NOW_MS - 2**63 - 1}]",
            id="V-34-bounds-wrap",
        ),
    ],
)
def test_one_timestamp_error(data: bytes, config: ValidationConfig, message: str) -> None:
    error = rejected(data, config)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert error.record_errors == [RecordError(0, message)]
    assert error.message == BY_TIMESTAMP


@pytest.mark.parametrize("make", [batch, gzipped], ids=["V-34-plain", "V-34-gzip"])
def test_a_record_at_the_limit_is_good_beside_a_bad_one(make: object) -> None:
    low, high = NOW_MS - 1000, NOW_MS + 2000
    times = [low, low - 1, high, high + 1, low + 1, high - 1]
    content = b"".join(
        record(offset_delta=i, timestamp_delta=time - NOW_MS) for i, time in enumerate(times)
    )
    error = rejected(make(content, count=6, timestamp=NOW_MS), NARROW)  # type: ignore[operator]
    assert error.record_errors == [
        RecordError(1, out_of_range(low - 1, 1, low, 2000)),
        RecordError(3, out_of_range(high + 1, 3, low, 2000)),
    ]


@pytest.mark.parametrize(
    ("data", "config"),
    [
        pytest.param(batch(record(), timestamp=NOW_MS + HOUR_MS), PLAIN, id="V-34-after"),
        pytest.param(batch(record(), timestamp=NOW_MS - 1000), NARROW, id="V-34-before"),
        pytest.param(batch(record(), timestamp=NOW_MS + 2000), NARROW, id="V-34-after-narrow"),
        pytest.param(batch(record(), timestamp=-1), NARROW, id="V-34--1"),
        pytest.param(batch(record(), timestamp=0), PLAIN, id="V-34-0"),
        pytest.param(batch(record(), timestamp=NOW_MS - 2**63 + 1), PLAIN, id="V-34-lowest"),
        pytest.param(
            batch(record(), timestamp=NOW_MS - 2**63 - 5), UNLIMITED, id="V-34-wrapped-difference"
        ),
        pytest.param(
            batch(record(timestamp_delta=2), attributes=8, timestamp=-1, max_timestamp=0),
            PLAIN,
            id="V-34-bit",
        ),
        pytest.param(batch(record()), COMPACTED, id="V-33-key"),
        pytest.param(batch(record(value=None)), COMPACTED, id="V-33-tombstone"),
        pytest.param(batch(record(key=b"")), COMPACTED, id="V-33-empty-key"),
    ],
)
def test_good_records(data: bytes, config: ValidationConfig) -> None:
    assert validate(data, config).record_count == 1


def test_v_44_the_list_of_bad_records_ends() -> None:
    count = RECORD_ERRORS_MAX + 4
    content = b"".join(record(key=None, offset_delta=i) for i in range(count))
    error = rejected(gzipped(content, count=count), COMPACTED)
    assert error.record_errors == [RecordError(i, NO_KEY) for i in range(RECORD_ERRORS_MAX)]


def test_v45_many_bad_records_are_not_listed_at_once() -> None:
    """Each takes some microseconds in Python; a thread lists them."""
    for count in (AT_ONCE_RECORDS_MAX, AT_ONCE_RECORDS_MAX + 1):
        content = b"".join(record(None, offset_delta=index) for index in range(count))
        data = writable(batch(content, count=count))
        for at_once in (True, False):
            is_left = at_once and count > AT_ONCE_RECORDS_MAX
            with pytest.raises(TakesLong if is_left else RejectedAsInvalid):
                validate_records(data, COMPACTED, now_ms=NOW_MS, at_once=at_once)

"""The quick walk: it passes sound records of the usual form, and finds what the readers find."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from tests.record.loops.edited_records import EDITS, RECORDS
from tests.record.support import raw_record

NO_MIN = 2**63 - 1
USUAL = encode_record(5, 0, b"key", b"value", [(b"h", b"v"), (b"", None)])
PADDING = bytes(8)


def passed(totals: ModuleType, data: bytes, count: int, base_timestamp: int = 0) -> Any:
    """Walk over as many records as the quick walk takes, from the second byte on."""
    found = totals.RecordTotals(1, base_timestamp)
    found.pass_usual(memoryview(b"\x80" + data), 1 + len(data), count)
    return found


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encode_record(0, 0, None, b"x" * 20), id="R-31-null-key"),
        pytest.param(encode_record(0, 0, b"x" * 20, None), id="R-31-null-value"),
        pytest.param(encode_record(-8192, 8191, b"k" * 100, b"v" * 8000), id="two bytes each"),
        pytest.param(encode_record(0, 0, b"", b"", [(b"h" * 63, b"v" * 8000)]), id="R-32"),
        pytest.param(raw_record(attributes=b"\xff") + PADDING, id="R-30-any-attributes"),
        pytest.param(raw_record(key=b"\x03") + PADDING, id="R-31-key-length-minus-2"),
    ],
)
def test_r30_usual_records_are_read(totals: ModuleType, data: bytes) -> None:
    assert passed(totals, data, 1).records_read == 1
    assert passed(totals, data * 3, 2).records_read == 2 - data.endswith(PADDING)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encode_record(8192, 0, b"", b"v" * 20), id="timestamp of three bytes"),
        pytest.param(encode_record(0, 8192, b"", b"v" * 20), id="offset of three bytes"),
        pytest.param(encode_record(0, 0, b"k" * 8192, b"v"), id="key of three bytes"),
        pytest.param(encode_record(0, 0, b"k", b"v" * 8192), id="value of three bytes"),
        pytest.param(encode_record(0, 0, b"", b"", [(b"h" * 64, b"")]), id="long key of a header"),
        pytest.param(encode_record(0, 0, b"", b"", [(b"h", b"v" * 8192)]), id="long header"),
        pytest.param(encode_record(0, 0, b"", b"", [(b"", b"")] * 64), id="many headers"),
        pytest.param(raw_record(headers=b"\x02\x00\x80\x80\x00"), id="R-24-overlong-header"),
        pytest.param(raw_record(headers=b"\x02\x00\x80"), id="R-34.6-header-value-cut"),
        pytest.param(raw_record(headers=b"\x02\x20k"), id="R-34.6-header-key-past-the-end"),
        pytest.param(raw_record(length=1) + PADDING, id="R-34.7-length-plus-1"),
        pytest.param(raw_record(length=-1) + PADDING, id="R-34.7-length-minus-1"),
        pytest.param(raw_record(length=b"\x01") + PADDING, id="R-34-negative-length"),
        pytest.param(raw_record(headers=b"\x01") + PADDING, id="R-34.5-header-count-minus-1"),
        pytest.param(
            raw_record(headers=b"\x02\x01\x01") + PADDING, id="R-34.6-header-key-length-minus-1"
        ),
        pytest.param(b"\x80" * 20, id="R-24"),
    ],
)
def test_before_other_records_it_stops(totals: ModuleType, data: bytes) -> None:
    found = passed(totals, USUAL + data, 2)
    assert (found.records_read, found.position) == (1, 1 + len(USUAL))


def test_nothing_behind_the_end_is_read(totals: ModuleType) -> None:
    """Every prefix of a record is left; so is a record of fewer bytes than are looked at."""
    for size_bytes in range(len(USUAL)):
        assert passed(totals, USUAL[:size_bytes], 1).records_read == 0
    assert passed(totals, encode_record(0, 0, b"", b""), 1).records_read == 0


def test_r33_sums(totals: ModuleType) -> None:
    found = totals.RecordTotals(0, 2**63 - 1)
    assert (found.max_timestamp, found.min_timestamp, found.sequential) == (-1, NO_MIN, True)
    found.add(10, 0, 0, 3)
    found.add(20, 1, 5, -1)
    assert (found.position, found.records_read, found.null_keys) == (20, 2, 1)
    assert (found.max_timestamp, found.min_timestamp) == (2**63 - 1, -(2**63))
    assert not found.sequential
    assert found.base_timestamp == 2**63 - 1


@settings(
    max_examples=1500,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(RECORDS, EDITS, st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_the_readers_find_the_same(
    totals: ModuleType,
    scan: ModuleType,
    values: list[Any],
    edits: list[tuple[int, int]],
    base_timestamp: int,
    full: bool,
) -> None:
    """R-34, R-36: each record that was passed is sound for both readers, and adds the same."""
    data = bytearray(b"".join(encode_record(*value) for value in values))
    for position, byte in edits:
        data[position % len(data)] = byte
    found = passed(totals, bytes(data), len(values), base_timestamp)
    expected = totals.RecordTotals(1, base_timestamp)
    cursor = scan.RecordCursor(memoryview(b"\x80" + data), 1, 1 + len(data), full)
    for _ in range(found.records_read):
        assert cursor.read_record() == 0
        expected.add(
            cursor.position, cursor.timestamp_delta, cursor.offset_delta, cursor.key_length
        )
    for name in ("position", "max_timestamp", "min_timestamp", "null_keys", "sequential"):
        assert getattr(found, name) == getattr(expected, name), name

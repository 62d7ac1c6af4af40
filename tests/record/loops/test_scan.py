"""R-30, R-31, R-34 to R-37 on both forms of the scan, and the two held equal on edited batches."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan_status import ScanStatus
from broker_lite.record.records import Scan
from broker_lite.record.varint import encode_varint
from tests.record.loops.edited_records import EDITS, RECORDS
from tests.record.support import raw_record

OK, INVALID, ENDED, LENGTH_TOO_LONG, REMAINING = ScanStatus
NO_MIN = 2**63 - 1
TOO_LONG = b"\x80\x80\x80\x80\x80\x01"
GOOD = raw_record()

Run = Callable[..., Scan]


@pytest.fixture
def run(scan: ModuleType) -> Run:
    def run(data: bytes, count: int = 1, *, full: bool = True, base_timestamp: int = 0) -> Scan:
        # Bytes around the region show that nothing outside it is read.
        buffer = memoryview(b"\x80\x80" + data + b"\x00" * 40)
        found = Scan(*scan.scan_records(buffer, 2, 2 + len(data), count, base_timestamp, full))
        return found._replace(end_position=found.end_position - 2)

    return run


@pytest.mark.parametrize("full", [True, False], ids=["R-34", "R-36"])
def test_r_30_sums(run: Run, full: bool) -> None:
    data = b"".join(
        (
            encode_record(0, 0, b"a", b"1"),
            encode_record(-100, 1, None, b"", [(b"h", b"x" * 200), (b"", None)]),
            encode_record(64, 2, b"", None),
        )
    )
    assert run(data, 3, full=full, base_timestamp=1000) == (OK, len(data), 3, 1064, 900, 1, True)


def test_r_37_count_zero_looks_at_nothing(run: Run) -> None:
    """R-16."""
    assert run(b"\xff\xff", 0) == (OK, 0, 0, -1, NO_MIN, 0, True)


def test_r_37_negative_count(run: Run) -> None:
    assert run(GOOD, -1)[0] == INVALID


@pytest.mark.parametrize("full", [True, False])
def test_r_37_too_few_and_too_many(run: Run, full: bool) -> None:
    assert run(GOOD * 2, 1, full=full)[:3] == (REMAINING, len(GOOD), 1)
    assert run(GOOD * 2, 3, full=full)[:3] == (ENDED, 2 * len(GOOD), 2)
    assert run(b"", 1, full=full)[0] == ENDED
    assert run(GOOD, 2**31 - 1, full=full)[:3] == (ENDED, len(GOOD), 1)


def test_r_33_timestamps_wrap_in_64_bits(run: Run) -> None:
    top, bottom = 2**63 - 1, -(2**63)
    assert run(encode_record(1, 0, b"", b""), base_timestamp=top)[3:5] == (-1, bottom)
    assert run(encode_record(-1, 0, b"", b""), base_timestamp=bottom)[3:5] == (top, top)
    assert run(encode_record(bottom, 0, b"", b""), base_timestamp=-1)[3:5] == (top, top)
    assert run(encode_record(top, 0, b"", b""), base_timestamp=0)[3:5] == (top, top)


def test_minus_one_is_no_timestamp(run: Run) -> None:
    """V-34, V-40: -1 counts for neither end, and the largest starts there."""
    none, minus_two = encode_record(-1, 0, b"", b""), encode_record(-2, 0, b"", b"")
    assert run(none)[3:5] == (-1, NO_MIN)
    assert run(minus_two)[3:5] == (-1, -2)


@pytest.mark.parametrize(
    ("deltas", "expected"), [((0, 1), True), ((5, 9), False), ((0, 0), False), ((-1, 0), False)]
)
def test_offset_deltas_are_only_reported(run: Run, deltas: tuple[int, int], expected: bool) -> None:
    data = b"".join(raw_record(offset_delta=delta) for delta in deltas)
    assert run(data, 2).status == OK
    assert run(data, 2).offsets_sequential is expected


ANY_READER = {
    "R-30-any-attributes": (raw_record(attributes=b"\xff"), OK),
    "R-31-key-length-minus-2": (raw_record(key=b"\x03"), OK),
    "R-31-value-length-minus-2": (raw_record(value=b"\x03"), OK),
    "R-24-overlong-length": (raw_record(length=b"\x90\x00"), OK),
    "R-24-ten-byte-timestamp": (raw_record(timestamp_delta=b"\x80" * 9 + b"\x7e"), OK),
    "R-32-empty-header-key-null-value": (raw_record(headers=b"\x02\x00\x01"), OK),
    "R-34.5-header-count-minus-1": (raw_record(headers=b"\x01"), INVALID),
    "R-34.6-header-key-length-minus-1": (raw_record(headers=b"\x02\x01\x01"), INVALID),
    "R-35-timestamp-too-long": (raw_record(timestamp_delta=b"\x80" * 10 + b"\x00"), INVALID),
    "R-35-offset-too-long": (raw_record(offset_delta=TOO_LONG), INVALID),
    "R-35-key-length-too-long": (raw_record(key=TOO_LONG), INVALID),
    "R-35-value-length-too-long": (raw_record(value=TOO_LONG), INVALID),
    "R-35-header-count-too-long": (raw_record(headers=TOO_LONG), INVALID),
    "R-35-header-key-too-long": (raw_record(headers=b"\x02" + TOO_LONG), INVALID),
    "R-35-header-value-too-long": (raw_record(headers=b"\x02\x00" + TOO_LONG), INVALID),
}


@pytest.mark.parametrize("full", [True, False], ids=["R-34", "R-36"])
@pytest.mark.parametrize("name", ANY_READER)
def test_any_reader(run: Run, name: str, full: bool) -> None:
    data, status = ANY_READER[name]
    assert run(data, full=full)[0] == status


# Full reader first, partial reader second.
BY_READER = {
    "R-34.7-length-plus-1": (raw_record(length=1) + b"\0", INVALID, REMAINING),
    "R-34.7-length-minus-1": (raw_record(length=-1), INVALID, OK),
    "R-34.3-length-past-the-end": (raw_record(length=1), ENDED, OK),
    "R-34-negative-length": (raw_record(length=b"\x01"), INVALID, OK),
    "R-35-length-too-long": (TOO_LONG + GOOD, LENGTH_TOO_LONG, INVALID),
    "R-34-length-zero": (b"\x00", INVALID, ENDED),
    "R-34.4-key-past-the-end": (raw_record(key=b"\x20k"), INVALID, ENDED),
    "R-34.4-value-past-the-end": (raw_record(value=b"\x20v"), INVALID, ENDED),
    "R-34.5-more-headers-than-bytes": (raw_record(headers=b"\x02"), INVALID, ENDED),
    "R-36-huge-header-count": (raw_record(headers=b"\xfe\xff\xff\xff\x0f"), INVALID, ENDED),
    "R-34.6-header-key-past-the-end": (raw_record(headers=b"\x02\x20k"), INVALID, ENDED),
    "R-34.6-header-value-past-the-end": (raw_record(headers=b"\x02\x00\x20"), INVALID, ENDED),
}


@pytest.mark.parametrize("name", BY_READER)
def test_by_reader(run: Run, name: str) -> None:
    data, full, partial = BY_READER[name]
    assert run(data, full=True)[0] == full
    assert run(data, full=False)[0] == partial


def test_r_36_every_prefix_ends(run: Run) -> None:
    """R-35: running out of bytes is told from a wrong structure."""
    data = encode_record(1000, 0, b"key", b"value", [(b"h", b"v")])
    for size_bytes in range(len(data)):
        assert run(data[:size_bytes], full=True)[0] == ENDED
        assert run(data[:size_bytes], full=False)[0] == ENDED
        cut = encode_varint(size_bytes) + data[1 : 1 + size_bytes]
        if size_bytes < len(data) - 1:
            assert run(cut, full=True)[0] == INVALID


@pytest.mark.parametrize("region", [(-1, 1), (2, 1), (0, 10)])
def test_region_outside_the_buffer(scan: ModuleType, region: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not positions"):
        scan.scan_records(memoryview(GOOD), *region, 1, 0, True)
    with pytest.raises(ValueError, match="not positions"):
        scan.RecordCursor(memoryview(GOOD), *region, True)


def test_cursor_fields(scan: ModuleType) -> None:
    data = memoryview(encode_record(7, 3, b"key", None, [(b"h", b"v")]))
    cursor = scan.RecordCursor(data, 0, len(data), True)
    assert cursor.read_record() == OK
    assert bytes(data[cursor.key_position : cursor.key_position + cursor.key_length]) == b"key"
    assert (cursor.timestamp_delta, cursor.offset_delta, cursor.value_length) == (7, 3, -1)
    assert (cursor.header_count, cursor.position, cursor.end) == (1, len(data), len(data))
    assert (cursor.length, cursor.attributes) == (len(data) - 1, 0)
    assert data[cursor.headers_position] == 2
    assert cursor.value_position == cursor.headers_position - 1


@settings(
    max_examples=3000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(RECORDS, EDITS, st.integers(-1, 1), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_python_and_native_agree(
    python_scan: ModuleType,
    native_scan: ModuleType,
    values: list[Any],
    edits: list[tuple[int, int]],
    extra: int,
    base_timestamp: int,
    full: bool,
) -> None:
    """Valid records with up to two edited bytes: the natural bugs of one source, two meanings."""
    data = bytearray(b"".join(encode_record(*value) for value in values))
    for position, byte in edits:
        data[position % len(data)] = byte
    region = (memoryview(data), 0, len(data), len(values) + extra, base_timestamp, full)
    python = python_scan.scan_records(*region)
    assert native_scan.scan_records(*region) == python
    assert python[0] in tuple(ScanStatus)
    if not edits and extra == 0:
        assert python[0] == OK


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60), st.integers(-1, 5), st.booleans())
def test_documented_results_only(
    python_scan: ModuleType, native_scan: ModuleType, data: bytes, count: int, full: bool
) -> None:
    region = (memoryview(data), 0, len(data), count, 0, full)
    python = python_scan.scan_records(*region)
    assert native_scan.scan_records(*region) == python
    assert python[0] in tuple(ScanStatus)
    assert 0 <= python[1] <= len(data)


def test_r37_many_bytes_are_walked_without_the_lock(scan: ModuleType) -> None:
    data = encode_record(0, 0, b"k", b"v" * LENT_BYTES_MIN)
    view = memoryview(data)
    assert scan.scan_records(view, 0, len(data), 1, 0, True)[:3] == (OK, len(data), 1)

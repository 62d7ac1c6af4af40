"""V-42, R-30 on both forms: which records have the bytes that a writer would write."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from broker_lite.record.batch import HEADER, LOG_OVERHEAD
from broker_lite.record.builder import encode_record
from broker_lite.record.codecs.decompressed import Decompressed
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import scan_records
from broker_lite.record.loops.scan_status import ScanStatus
from broker_lite.record.records import iterate_records
from tests.record.loops.edited_records import EDITS, RECORDS
from tests.record.support import batch_of, raw_record

GOOD = raw_record()

NOT_CANONICAL = {
    "R-30-attributes": raw_record(attributes=b"\x01"),
    "R-23-length": raw_record(length=b"\x90\x00"),
    "R-23-timestamp": raw_record(timestamp_delta=b"\x80\x00"),
    "R-24-timestamp-dropped-bits": raw_record(timestamp_delta=b"\xff" * 9 + b"\x03"),
    "R-23-offset": raw_record(offset_delta=b"\x80\x80\x80\x80\x00"),
    "R-24-offset-dropped-bits": raw_record(offset_delta=b"\xff\xff\xff\xff\x1f"),
    "R-23-key-length": raw_record(key=b"\x82\x00k"),
    "R-31-key-length-minus-2": raw_record(key=b"\x03"),
    "R-31-value-length-minus-2": raw_record(value=b"\x03"),
    "R-23-header-count": raw_record(headers=b"\x80\x00"),
    "R-32-header-key": raw_record(headers=b"\x02\x04\xc3\xa4\x01"),
    "R-23-header-value-length": raw_record(headers=b"\x02\x02h\x81\x00"),
    "R-31-header-value-length-minus-2": raw_record(headers=b"\x02\x02h\x03"),
}


@pytest.mark.parametrize("name", NOT_CANONICAL)
def test_other_bytes_than_a_writer_gives(canonical: ModuleType, name: str) -> None:
    """V-42, R-38: sound records that are written in another way when they are written anew."""
    data = memoryview(GOOD + NOT_CANONICAL[name] + GOOD)
    assert scan_records(data, 0, len(data), 3, 0, True)[0] == ScanStatus.OK
    assert not canonical.are_canonical(data, 0, len(data), 3)
    assert canonical.are_canonical(data, 0, len(data), 1)


def test_the_bytes_a_writer_gives(canonical: ModuleType) -> None:
    """V-42, R-38: the largest and smallest numbers, null, empty, and no header key but ASCII."""
    data = memoryview(
        b"".join(
            (
                encode_record(2**63 - 1, 2**31 - 1, b"\xff", b"v" * 300, [(b"h\x7f", b"\xff")]),
                encode_record(-(2**63), -(2**31), None, None, [(b"", None), (b"", b"")]),
            )
        )
    )
    assert canonical.are_canonical(data, 0, len(data), 2)


def test_no_prefix_is_canonical(canonical: ModuleType) -> None:
    data = memoryview(encode_record(1000, 0, b"key", b"value", [(b"h", b"v")]))
    for size_bytes in range(len(data)):
        assert not canonical.are_canonical(data, 0, size_bytes, 1)


@settings(
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(RECORDS, EDITS)
def test_canonical_means_written_alike(
    python_canonical: ModuleType,
    native_canonical: ModuleType,
    values: list[Any],
    edits: list[tuple[int, int]],
) -> None:
    """V-42: what is called canonical is what a writer gives; python and native agree."""
    data = bytearray(b"".join(encode_record(*value) for value in values))
    for position, byte in edits:
        data[position % len(data)] = byte
    region = (memoryview(data), 0, len(data), len(values))
    found = python_canonical.are_canonical(*region)
    assert native_canonical.are_canonical(*region) == found
    header_keys = [key for value in values for key, _ in value[4]]
    if not edits:
        assert found == all(key.isascii() for key in header_keys)
    if found and scan_records(*region, 0, True)[0] == ScanStatus.OK:
        assert _written_anew(data, len(values)) == data


def _written_anew(data: bytearray, count: int) -> bytes:
    content = Decompressed(bytes(data), False, False)
    header = HEADER.pack(0, HEADER.size - LOG_OVERHEAD, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, count)
    return b"".join(
        encode_record(
            record.timestamp_delta, record.offset_delta, record.key, record.value, record.headers
        )
        for record in iterate_records(batch_of(header), content=content)
    )


def test_many_bytes_are_walked_without_the_lock(canonical: ModuleType) -> None:
    """V-42."""
    data = encode_record(0, 0, b"k", b"v" * LENT_BYTES_MIN)
    assert canonical.are_canonical(memoryview(data), 0, len(data), 1)

"""V-42, R-30, R-32, R-50, R-52: both forms write what Kafka's builder writes, byte for byte."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.builder import BatchBuilder, encode_record, normalised_header_key
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from tests.record.support import raw_record

ALL = memoryview(b"")
INT64_MAX = 2**63 - 1
QUICK = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])

BYTES = st.none() | st.binary(max_size=70)
# what a text may be made of: signs of each length, and what begins or breaks them
KEY_BYTES = st.lists(
    st.sampled_from(
        [b"k", "é".encode(), "€".encode(), "😀".encode()]
        + [bytes((first,)) for first in (0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEF)]
        + [bytes((first,)) for first in (0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x8F, 0x90, 0x9F, 0xA0)]
    ),
    max_size=8,
).map(b"".join)
HEADERS = st.lists(st.tuples(KEY_BYTES, BYTES), max_size=3)
DELTAS = st.integers(-3, 100) | st.integers(-(2**62), 2**62)
RECORDS = st.lists(st.tuples(DELTAS, st.integers(-5, 5), BYTES, BYTES, HEADERS), max_size=8)
Written = tuple[int, int, int, bytes]


def rewritten(
    module: ModuleType,
    data: bytes,
    count: int,
    *,
    kept: memoryview = ALL,
    renumbers: bool = True,
    base: int = 0,
    append_time: int | None = None,
    new_base: int = -1,
) -> tuple[int, Written | None]:
    rewriter = module.RecordRewriter(memoryview(data), 0, len(data), count, kept, renumbers)
    has_append_time = append_time is not None
    status = rewriter.measure(base, has_append_time, append_time or 0, new_base)
    if status:
        return status, None
    target = bytearray(rewriter.size_bytes + 3)
    assert rewriter.write(memoryview(target)) == rewriter.size_bytes
    assert target[rewriter.size_bytes :] == bytes(3)
    written = bytes(target[: rewriter.size_bytes])
    return 0, (rewriter.size_bytes, rewriter.base_timestamp, rewriter.max_timestamp, written)


def int64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def expected(records: list[Any], base: int, append_time: int | None) -> Written:
    """Record by record, with the values that a reader sees."""
    written = b""
    timestamps = [
        int64(base + delta) if append_time is None else append_time for delta, *_ in records
    ]
    for index, (_, _, key, value, headers) in enumerate(records):
        kept = [(normalised_header_key(name), content) for name, content in headers]
        delta = int64(timestamps[index] - timestamps[0])
        written += encode_record(delta, index, key, value, kept)
    return (
        len(written),
        timestamps[0] if records else -1,
        max([-1, *timestamps]),
        written,
    )


@QUICK
@given(
    records=RECORDS,
    base=st.integers(0, 10) | st.integers(0, INT64_MAX),
    append_time=st.none() | st.integers(0, 99),
)
def test_v42_r30_r32_as_the_builder(
    rewrite: ModuleType, records: list[Any], base: int, append_time: int | None
) -> None:
    data = b"".join(encode_record(*record) for record in records)
    status, written = rewritten(rewrite, data, len(records), base=base, append_time=append_time)
    if append_time is None and any(int64(base + delta) < -1 for delta, *_ in records):
        assert status == 1
    else:
        assert (status, written) == (0, expected(records, base, append_time))


@QUICK
@given(records=RECORDS, data=st.data(), horizon=st.sampled_from([-1, 0, 50]))
def test_r90_some_records_with_their_offsets(
    rewrite: ModuleType, records: list[Any], data: Any, horizon: int
) -> None:
    kept = bytes(data.draw(st.lists(st.integers(0, 1), min_size=len(records) + 1)))
    plain = b"".join(encode_record(*record) for record in records)
    base = 2**62
    found = rewritten(
        rewrite,
        plain,
        len(records),
        kept=memoryview(kept),
        renumbers=False,
        base=base,
        new_base=horizon,
    )
    left = [record for record, is_kept in zip(records, kept, strict=False) if is_kept]
    offsets = [record[1] for record in left]
    is_too_late = any(int64(base + record[0]) < -1 for record in left)
    if is_too_late or offsets != sorted(set(offsets)):
        assert found == (1, None)
        return
    builder = BatchBuilder(delete_horizon_ms=horizon)
    for delta, offset, key, value, headers in left:
        names = [(normalised_header_key(name), content) for name, content in headers]
        builder.append(base + delta, key, value, names, offset=offset)
    status, written = found
    assert written is not None
    assert status == 0
    assert written[2:] == (builder.max_timestamp, builder.build()[RECORD_BATCH_OVERHEAD:])


@given(key=KEY_BYTES | st.binary(max_size=12))
@QUICK
def test_r32_header_keys_become_utf_8(rewrite: ModuleType, key: bytes) -> None:
    data = encode_record(0, 0, None, None, [(key, b"v")])
    stored = encode_record(0, 0, None, None, [(normalised_header_key(key), b"v")])
    assert rewritten(rewrite, data, 1)[1] == (len(stored), 0, 0, stored)
    size_bytes = rewrite.text_size_bytes(memoryview(b"x" + key), 1, len(key))
    assert size_bytes == len(normalised_header_key(key))


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param(raw_record(attributes=b"\x7f"), raw_record(), id="R-30-attributes"),
        pytest.param(b"\x90\x00" + raw_record()[1:], raw_record(), id="R-23-length"),
        pytest.param(
            raw_record(offset_delta=b"\x80\x80\x00"), raw_record(), id="R-23-offset-delta"
        ),
        pytest.param(raw_record(key=b"\x05"), raw_record(key=b"\x01"), id="R-31-null"),
        pytest.param(
            raw_record(headers=b"\x02\x02h\x09"),
            raw_record(headers=b"\x02\x02h\x01"),
            id="R-32-null",
        ),
    ],
)
def test_what_a_writer_would_write_differently(
    rewrite: ModuleType, sent: bytes, stored: bytes
) -> None:
    assert rewritten(rewrite, sent, 1) == (0, (len(stored), 0, 0, stored))


@pytest.mark.parametrize(
    ("data", "count", "base", "status"),
    [
        pytest.param(encode_record(-2, 0, None, None), 1, 0, 1, id="R-50-negative"),
        pytest.param(encode_record(-1, 0, None, None), 1, 0, 0, id="R-50-none"),
        pytest.param(encode_record(1, 0, None, None), 1, INT64_MAX, 1, id="R-33-wraps"),
        pytest.param(b"\x0c\x00", 1, 0, 2, id="not-sound"),
        pytest.param(b"", 0, 0, 0, id="nothing"),
    ],
)
def test_status(rewrite: ModuleType, data: bytes, count: int, base: int, status: int) -> None:
    assert rewritten(rewrite, data, count, base=base)[0] == status


def test_a_missing_timestamp_and_the_largest_one(rewrite: ModuleType) -> None:
    """R-50: their distance is more than 63 bits, and wraps around as in Java."""
    first, last = encode_record(-1, 0, None, None), encode_record(INT64_MAX, 1, None, None)
    stored = first[:2] + b"\x00" + first[3:]
    status, written = rewritten(rewrite, first + last, 2)
    assert status == 0
    assert written is not None
    assert written[1:3] == (-1, INT64_MAX)
    assert written[3] == stored + encode_record(-(2**63), 1, None, None)


def test_many_bytes_are_written_as_few_are(rewrite: ModuleType) -> None:
    """Above LENT_BYTES_MIN the interpreter is lent meanwhile."""
    record = encode_record(3, 7, b"k", bytes(LENT_BYTES_MIN // 4), [(b"h", b"v")])
    written = rewritten(rewrite, record * 5, 5)[1]
    assert written is not None
    assert written[3] == b"".join(
        encode_record(0, index, b"k", bytes(LENT_BYTES_MIN // 4), [(b"h", b"v")])
        for index in range(5)
    )


def test_positions_are_checked(rewrite: ModuleType) -> None:
    data = memoryview(encode_record(0, 0, None, None))
    for start, end in ((-1, 3), (4, 3), (0, len(data) + 1)):
        with pytest.raises(ValueError, match="not positions"):
            rewrite.RecordRewriter(data, start, end, 1, ALL, True)
    with pytest.raises(ValueError, match="judged"):
        rewrite.RecordRewriter(data, 0, len(data), 2, memoryview(b"\1"), True)
    rewriter = rewrite.RecordRewriter(data, 0, len(data), 1, ALL, True)
    assert rewriter.measure(0, False, 0, -1) == 0
    with pytest.raises(ValueError, match="no room"):
        rewriter.write(memoryview(bytearray(rewriter.size_bytes - 1)))


def test_r32_two_bytes_of_a_surrogate_are_one_sign(rewrite: ModuleType) -> None:
    assert rewrite.sign_size_bytes(memoryview(b"\xed\xa0\x80"), 0, 3) == -3
    assert rewrite.text_size_bytes(memoryview(b"\xed\xa0\x80"), 0, 3) == 3


def test_a_stop_ends_both_walks(rewrite: ModuleType) -> None:
    data = raw_record()
    rewriter = rewrite.RecordRewriter(memoryview(data), 0, len(data), 1, ALL, True)
    rewriter.stop()
    assert rewriter.measure(0, False, 0, -1) == 0
    assert rewriter.size_bytes == 0
    assert rewriter.write(memoryview(bytearray(8))) == 0


def test_records_that_are_not_sound_are_not_written(rewrite: ModuleType) -> None:
    data = raw_record()[:-1]
    rewriter = rewrite.RecordRewriter(memoryview(data), 0, len(data), 1, ALL, True)
    assert rewriter.measure(0, False, 0, -1) == 2
    assert rewriter.write(memoryview(bytearray(40))) == 0

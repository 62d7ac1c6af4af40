"""S-23, S-24, R-33, R-37 on both forms: the first record with a timestamp."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan_status import ScanStatus
from tests.record.support import raw_record

OK, INVALID, ENDED, _, REMAINING = ScanStatus
BASE_OFFSET = 100
QUICK = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
TIMES = st.integers(-3, 12) | st.sampled_from([2**63 - 1, -(2**63)])


def find(
    module: ModuleType,
    data: bytes,
    count: int,
    *,
    timestamp: int = 0,
    exactly: bool = False,
    offset_min: int = 0,
    base: int = 0,
    append_time: int | None = None,
) -> tuple[int, int, int]:
    first = module.FirstRecord(timestamp, exactly, offset_min)
    status = first.find(
        memoryview(data), count, BASE_OFFSET, base, append_time is not None, append_time or 0
    )
    return status, first.timestamp, first.offset


@QUICK
@given(
    records=st.lists(st.tuples(TIMES, st.integers(0, 9)), max_size=8),
    timestamp=st.integers(-1, 12),
    exactly=st.booleans(),
    offset_min=st.integers(BASE_OFFSET, BASE_OFFSET + 9),
    base=st.integers(0, 3),
    append_time=st.none() | st.integers(-1, 12),
)
def test_s23_s24_the_first_that_fits(
    first_record: ModuleType,
    records: list[Any],
    timestamp: int,
    exactly: bool,
    offset_min: int,
    base: int,
    append_time: int | None,
) -> None:
    data = b"".join(encode_record(delta, offset, b"k", b"v") for delta, offset in records)
    fitting = []
    for delta, offset in records:
        time = (base + delta + 2**63) % 2**64 - 2**63 if append_time is None else append_time
        is_wanted = time == timestamp if exactly else time >= timestamp
        if is_wanted and BASE_OFFSET + offset >= offset_min:
            fitting.append((OK, time, BASE_OFFSET + offset))
    found = find(
        first_record,
        data,
        len(records),
        timestamp=timestamp,
        exactly=exactly,
        offset_min=offset_min,
        base=base,
        append_time=append_time,
    )
    assert found == (fitting[0] if fitting else (OK, -1, -1))


@pytest.mark.parametrize(("count", "status"), [(-1, INVALID), (0, OK), (3, ENDED), (1, REMAINING)])
def test_r37_what_is_wrong_is_seen_when_it_is_reached(
    first_record: ModuleType, count: int, status: int
) -> None:
    data = raw_record() * 2
    assert find(first_record, data, count, timestamp=1) == (status, -1, -1)
    if count > 0:
        assert find(first_record, data, count) == (OK, 0, BASE_OFFSET)


def test_many_bytes_are_searched_as_few_are(first_record: ModuleType) -> None:
    """Above LENT_BYTES_MIN the interpreter is lent meanwhile."""
    data = encode_record(0, 0, b"k", bytes(LENT_BYTES_MIN)) + encode_record(7, 1, None, None)
    assert find(first_record, data, 2, timestamp=5) == (OK, 7, BASE_OFFSET + 1)

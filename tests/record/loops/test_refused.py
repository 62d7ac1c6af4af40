"""V-33, V-34 on both forms: which record is refused next."""

from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor

INT64_MAX = 2**63 - 1
QUICK = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
TIMES = st.integers(-3, 20) | st.sampled_from([INT64_MAX, -INT64_MAX, -INT64_MAX - 1])


class Demands(NamedTuple):
    needs_key: bool
    checks_times: bool
    now_ms: int
    before_max_ms: int
    after_max_ms: int
    base_timestamp: int
    has_append_time: bool
    append_time_ms: int


demands = st.builds(
    Demands,
    needs_key=st.booleans(),
    checks_times=st.booleans(),
    now_ms=st.integers(0, 20),
    before_max_ms=st.sampled_from([0, 5, INT64_MAX]),
    after_max_ms=st.sampled_from([0, 5, INT64_MAX]),
    base_timestamp=TIMES,
    has_append_time=st.booleans(),
    append_time_ms=TIMES,
)


def int64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def is_refused(given: Demands, delta: int, key: bytes | None) -> bool:
    """As the rules say it."""
    time_ms = given.append_time_ms if given.has_append_time else int64(given.base_timestamp + delta)
    if given.needs_key and key is None:
        return True
    if given.checks_times and time_ms != -1:
        difference = int64(given.now_ms - time_ms)
        return difference > given.before_max_ms or int64(-difference) > given.after_max_ms
    return given.has_append_time


@QUICK
@given(
    given=demands,
    records=st.lists(st.tuples(TIMES, st.sampled_from([None, b"", b"k"])), max_size=9),
)
def test_v33_v34_all_refused_records_are_found(
    refused: ModuleType, given: Demands, records: list[Any]
) -> None:
    data = memoryview(b"".join(encode_record(delta, 0, key, b"v") for delta, key in records))
    search = refused.RefusedSearch(*given)
    cursor = RecordCursor(data, 0, len(data), True)
    found, index = [], -1
    while (read := search.next(cursor, len(records) - index - 1)) >= 0:
        index += read
        found.append(index)
        delta, key = records[index]
        assert cursor.timestamp_delta == delta
        assert search.lacks_key == (given.needs_key and key is None)
    assert found == [
        index for index, (delta, key) in enumerate(records) if is_refused(given, delta, key)
    ]


@pytest.mark.parametrize(("before", "after"), [(0, 0), (5, 3), (1, INT64_MAX), (INT64_MAX, 1)])
def test_v34_a_timestamp_at_either_limit_is_taken(
    refused: ModuleType, before: int, after: int
) -> None:
    now = 1_795_267_000_000
    times = [now - before, now + after, now - before - 1, now + after + 1]
    times = [time for time in times if abs(time - now) < 2**62]  # else the limit is out of reach
    data = memoryview(b"".join(encode_record(time - now, 0, b"k", b"v") for time in times))
    search = refused.RefusedSearch(False, True, now, before, after, now, False, -1)
    cursor = RecordCursor(data, 0, len(data), True)
    good = [time for time in times if -before <= time - now <= after]
    assert search.next(cursor, len(times)) == len(good) + 1
    assert cursor.timestamp_delta == times[len(good)] - now


@pytest.mark.parametrize("count", [1, 3])
def test_many_bytes_are_searched_as_few_are(refused: ModuleType, count: int) -> None:
    """Above LENT_BYTES_MIN the interpreter is lent meanwhile."""
    large = encode_record(0, 0, b"k", bytes(LENT_BYTES_MIN // 2))
    data = memoryview(large * count + encode_record(0, 0, None, None))
    search = refused.RefusedSearch(True, False, 0, 0, 0, 0, False, 0)
    cursor = RecordCursor(data, 0, len(data), True)
    assert search.next(cursor, count + 1) == count + 1

"""S-82, S-84 on both forms: which records a compaction keeps."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan_status import ScanStatus

OK, INVALID, ENDED, _, REMAINING = ScanStatus
T0 = 1_700_000_000_000
BASE_OFFSET = 1000
Row = tuple[bytes | None, bytes | None, int]

KEYS = st.sampled_from([None, b"", b"a", b"b", b"c" * 200])
VALUES = st.none() | st.binary(max_size=70)
ROWS = st.lists(st.tuples(KEYS, VALUES, st.integers(-1, 2**40)), min_size=1, max_size=12)
QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def new_map(module: ModuleType, slots: int = 64) -> Any:
    form = getattr(module, "KeyMap", KeyMap)  # the Python form has one of its own
    return form(memoryview(bytearray(24 * slots)).cast("Q"), 1, 2)


def plain(rows: list[Row], *, offsets: list[int] | None = None) -> bytes:
    """Records from BASE_OFFSET on, relative to T0."""
    return b"".join(
        encode_record(time - T0, offsets[index] if offsets else index, key, value, [(b"h", value)])
        for index, (key, value, time) in enumerate(rows)
    )


def note(module: ModuleType, keys: Any, data: bytes, count: int, **changed: int) -> Any:
    given = {"count_max": 60, "first_offset": 0, **changed}
    return module.note_keys(
        keys,
        given["count_max"],
        memoryview(data),
        0,
        len(data),
        count,
        BASE_OFFSET,
        given["first_offset"],
    )


def judge_by_key(
    module: ModuleType,
    keys: Any,
    data: bytes,
    count: int,
    *,
    latest: int = 2000,
    drops: bool = False,
) -> tuple[int, list[int], int, bool]:
    judgement = module.Judgement(memoryview(bytearray(max(count, 0))))
    status = judgement.by_key(
        keys, latest, drops, memoryview(data), 0, len(data), count, BASE_OFFSET
    )
    kept = list(bytes(judgement.kept))
    return status, kept, judgement.kept_count, bool(judgement.has_kept_null)


def judge_by_offset(
    module: ModuleType, bits: bytes, data: bytes, count: int, *, first: int, drops: bool = False
) -> tuple[int, list[int], int, bool]:
    judgement = module.Judgement(memoryview(bytearray(max(count, 0))))
    status = judgement.by_offset(
        memoryview(bits), first, drops, memoryview(data), 0, len(data), count, BASE_OFFSET
    )
    kept = list(bytes(judgement.kept))
    return status, kept, judgement.kept_count, bool(judgement.has_kept_null)


@given(rows=ROWS, drops=st.booleans(), latest=st.integers(BASE_OFFSET - 1, BASE_OFFSET + 12))
@QUICK
def test_the_newest_record_of_each_key_s82_s84(
    compaction: ModuleType, rows: list[Row], drops: bool, latest: int
) -> None:
    data = plain(rows)
    keys = new_map(compaction)
    newest = {key: BASE_OFFSET + index for index, (key, _, _) in enumerate(rows) if key is not None}
    last = max(newest.values(), default=-1)
    assert note(compaction, keys, data, len(rows)) == (OK, last, False)
    expected = [
        int(
            BASE_OFFSET + index > latest
            or (
                key is not None
                and newest[key] == BASE_OFFSET + index
                and not (drops and value is None)
            )
        )
        for index, (key, value, _) in enumerate(rows)
    ]
    has_null = any(one and row[1] is None for one, row in zip(expected, rows, strict=True))
    found = judge_by_key(compaction, keys, data, len(rows), latest=latest, drops=drops)
    assert found == (OK, expected, sum(expected), has_null)


def test_records_below_the_first_dirty_offset_are_passed_over_s82(compaction: ModuleType) -> None:
    keys = new_map(compaction)
    data = plain([(b"a", b"", T0), (b"b", b"", T0)])
    assert note(compaction, keys, data, 2, first_offset=BASE_OFFSET + 1) == (OK, 1001, False)
    assert keys.get(memoryview(b"a"), 0, 1) == -1
    # a key that is in the log's clean part only is newer than what the map says
    assert judge_by_key(compaction, keys, data, 2)[1] == [1, 1]


def test_a_full_map_ends_the_walk_s82(compaction: ModuleType) -> None:
    keys = new_map(compaction)
    data = plain([(b"a", b"", T0), (b"b", b"", T0), (b"a", b"", T0)])
    assert note(compaction, keys, data, 3, count_max=2) == (OK, 1001, True)
    assert keys.get(memoryview(b"a"), 0, 1) == 1000  # nothing more goes in, not even what is there


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 9), st.booleans())
@QUICK
def test_records_with_certain_offsets_s84(
    compaction: ModuleType, chosen: list[bool], before: int, drops: bool
) -> None:
    rows = [(b"k", None if index % 3 else b"v", T0) for index in range(len(chosen))]
    bits = bytearray((before + len(chosen)) // 8)  # the last ones may lie behind its end
    inside = []
    for index, is_in in enumerate(chosen):
        bit = before + index
        inside.append(is_in and bit < 8 * len(bits))
        if inside[-1]:
            bits[bit >> 3] |= 1 << (bit & 7)
    expected = [
        int(one and not (drops and row[1] is None)) for one, row in zip(inside, rows, strict=True)
    ]
    has_null = any(one and row[1] is None for one, row in zip(expected, rows, strict=True))
    found = judge_by_offset(
        compaction, bytes(bits), plain(rows), len(rows), first=BASE_OFFSET - before, drops=drops
    )
    assert found == (OK, expected, sum(expected), has_null)


def test_an_offset_in_front_of_the_bits_is_not_in_them(compaction: ModuleType) -> None:
    data = plain([(b"k", b"v", T0)])
    assert judge_by_offset(compaction, b"\xff", data, 1, first=BASE_OFFSET + 1)[1] == [0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda data: (data, -1), INVALID, id="negative count"),
        pytest.param(lambda data: (data, 3), ENDED, id="too few"),
        pytest.param(lambda data: (data, 1), REMAINING, id="too many"),
        pytest.param(lambda data: (data, 0), OK, id="none: nothing is looked at"),
    ],
)
def test_records_that_cannot_be_read_r37(
    compaction: ModuleType, change: Any, expected: int
) -> None:
    data, count = change(plain([(b"a", b"", T0), (b"b", b"", T0)]))
    keys = new_map(compaction)
    assert note(compaction, keys, data, count)[0] == expected
    assert judge_by_key(compaction, keys, data, count)[0] == expected
    assert judge_by_offset(compaction, b"", data, count, first=0)[0] == expected


def test_there_is_room_to_judge(compaction: ModuleType) -> None:
    data = memoryview(plain([(b"a", b"", T0), (b"b", b"", T0)]))
    judgement = compaction.Judgement(memoryview(bytearray(1)))
    with pytest.raises(ValueError, match="room to judge"):
        judgement.by_key(new_map(compaction), 0, False, data, 0, len(data), 2, 0)
    with pytest.raises(ValueError, match="room to judge"):
        judgement.by_offset(memoryview(b""), 0, False, data, 0, len(data), 2, 0)


def test_s82_s84_many_bytes_are_walked_without_the_lock(compaction: ModuleType) -> None:
    data = encode_record(0, 0, b"k", b"v" * LENT_BYTES_MIN)
    view = memoryview(data)
    keys = new_map(compaction)
    assert compaction.note_keys(keys, 8, view, 0, len(data), 1, 0, 0) == (0, 0, False)
    judgement = compaction.Judgement(memoryview(bytearray(1)))
    assert judgement.by_key(keys, 1, False, view, 0, len(data), 1, 0) == 0
    assert judgement.kept_count == 1
    bits = memoryview(b"\x01")
    assert judgement.by_offset(bits, 0, False, view, 0, len(data), 1, 0) == 0
    assert judgement.kept_count == 1


@pytest.mark.parametrize(("value", "is_null"), [(None, True), (b"", False)])
def test_an_empty_value_is_no_null_s84(
    compaction: ModuleType, value: bytes | None, is_null: bool
) -> None:
    data = plain([(b"k", value, T0)])
    by_offset = judge_by_offset(compaction, b"\xff", data, 1, first=BASE_OFFSET)
    assert by_offset == (OK, [1], 1, is_null)
    keys = new_map(compaction)
    note(compaction, keys, data, 1)
    assert judge_by_key(compaction, keys, data, 1) == (OK, [1], 1, is_null)

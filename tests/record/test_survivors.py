"""S-82, S-84, R-90, R-91 on both forms: what is kept, and its copy held equal to a builder's."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder, encode_record
from broker_lite.record.key_map import KeyMap
from broker_lite.record.scan_status import ScanStatus
from tests.record.support import raw_record

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
    survivors: ModuleType, rows: list[Row], drops: bool, latest: int
) -> None:
    data = plain(rows)
    keys = new_map(survivors)
    newest = {key: BASE_OFFSET + index for index, (key, _, _) in enumerate(rows) if key is not None}
    last = max(newest.values(), default=-1)
    assert note(survivors, keys, data, len(rows)) == (OK, last, False)
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
    found = judge_by_key(survivors, keys, data, len(rows), latest=latest, drops=drops)
    assert found == (OK, expected, sum(expected), has_null)


def test_records_below_the_first_dirty_offset_are_passed_over_s82(survivors: ModuleType) -> None:
    keys = new_map(survivors)
    data = plain([(b"a", b"", T0), (b"b", b"", T0)])
    assert note(survivors, keys, data, 2, first_offset=BASE_OFFSET + 1) == (OK, 1001, False)
    assert keys.get(memoryview(b"a"), 0, 1) == -1
    # a key that is in the log's clean part only is newer than what the map says
    assert judge_by_key(survivors, keys, data, 2)[1] == [1, 1]


def test_a_full_map_ends_the_walk_s82(survivors: ModuleType) -> None:
    keys = new_map(survivors)
    data = plain([(b"a", b"", T0), (b"b", b"", T0), (b"a", b"", T0)])
    assert note(survivors, keys, data, 3, count_max=2) == (OK, 1001, True)
    assert keys.get(memoryview(b"a"), 0, 1) == 1000  # nothing more goes in, not even what is there


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 9), st.booleans())
@QUICK
def test_records_with_certain_offsets_s84(
    survivors: ModuleType, chosen: list[bool], before: int, drops: bool
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
        survivors, bytes(bits), plain(rows), len(rows), first=BASE_OFFSET - before, drops=drops
    )
    assert found == (OK, expected, sum(expected), has_null)


def test_an_offset_in_front_of_the_bits_is_not_in_them(survivors: ModuleType) -> None:
    data = plain([(b"k", b"v", T0)])
    assert judge_by_offset(survivors, b"\xff", data, 1, first=BASE_OFFSET + 1)[1] == [0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda data: (data, -1), INVALID, id="negative count"),
        pytest.param(lambda data: (data, 3), ENDED, id="too few"),
        pytest.param(lambda data: (data, 1), REMAINING, id="too many"),
        pytest.param(lambda data: (data, 0), OK, id="none: nothing is looked at"),
    ],
)
def test_records_that_cannot_be_read_r37(survivors: ModuleType, change: Any, expected: int) -> None:
    data, count = change(plain([(b"a", b"", T0), (b"b", b"", T0)]))
    keys = new_map(survivors)
    assert note(survivors, keys, data, count)[0] == expected
    assert judge_by_key(survivors, keys, data, count)[0] == expected
    assert judge_by_offset(survivors, b"", data, count, first=0)[0] == expected


def test_there_is_room_to_judge(survivors: ModuleType) -> None:
    data = memoryview(plain([(b"a", b"", T0), (b"b", b"", T0)]))
    judgement = survivors.Judgement(memoryview(bytearray(1)))
    with pytest.raises(ValueError, match="room to judge"):
        judgement.by_key(new_map(survivors), 0, False, data, 0, len(data), 2, 0)
    with pytest.raises(ValueError, match="room to judge"):
        judgement.by_offset(memoryview(b""), 0, False, data, 0, len(data), 2, 0)
    with pytest.raises(ValueError, match="were judged"):
        survivors.RecordCopier(memoryview(bytearray(99))).copy(
            judgement.kept, data, 0, len(data), 2, T0, -1, -1
        )


# -- copies


def copy(
    module: ModuleType,
    kept: list[int],
    data: bytes,
    *,
    append_timestamp: int = -1,
    horizon: int = -1,
    room: int = 4096,
) -> tuple[bool, bytes, int, int]:
    target = bytearray(room)
    copier = module.RecordCopier(memoryview(target))
    done = copier.copy(
        memoryview(bytes(kept)),
        memoryview(b"xyz" + data),
        3,
        3 + len(data),
        len(kept),
        T0,
        append_timestamp,
        horizon,
    )
    written = bytes(target[: copier.size_bytes])
    return bool(done), written, copier.base_timestamp, copier.max_timestamp


@given(
    rows=ROWS,
    data=st.data(),
    append_timestamp=st.just(-1) | st.just(T0 + 5),
    horizon=st.just(-1) | st.just(T0 + 10**9),
)
@QUICK
def test_a_copy_is_what_a_builder_writes_r90_r91(
    survivors: ModuleType, rows: list[Row], data: Any, append_timestamp: int, horizon: int
) -> None:
    kept = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    builder = BatchBuilder(
        base_offset=BASE_OFFSET,
        log_append_time_ms=None if append_timestamp < 0 else append_timestamp,
        delete_horizon_ms=horizon,
    )
    times = []
    for index, (key, value, time) in enumerate(rows):
        if kept[index]:
            times.append(time if append_timestamp < 0 else append_timestamp)
            builder.append(times[-1], key, value, [(b"h", value)], offset=BASE_OFFSET + index)
    found = copy(survivors, kept, plain(rows), append_timestamp=append_timestamp, horizon=horizon)
    assert found[0]
    assert found[3] == max(times, default=-1)
    built = builder.build()
    assert found[1] == built[RECORD_BATCH_OVERHEAD:]
    if built:
        assert found[2] == RecordBatch(memoryview(built), 0, len(built)).base_timestamp


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(raw_record(attributes=b"\x01"), id="attributes"),
        pytest.param(raw_record(timestamp_delta=b"\x80\x00"), id="longer than needed"),
        pytest.param(raw_record(headers=b"\x02\x04\xc3\xa9\x01"), id="header key not ASCII"),
        pytest.param(raw_record(timestamp_delta=-T0 - 2), id="negative timestamp"),
        pytest.param(raw_record(offset_delta=-1), id="offset below the base"),
    ],
)
def test_what_a_writer_would_write_otherwise_is_not_copied_r30_r50(
    survivors: ModuleType, data: bytes
) -> None:
    assert not copy(survivors, [1], data)[0]
    done, written, _, _ = copy(survivors, [0, 1], data + raw_record())
    assert (done, written) == (True, raw_record())  # it may go


def test_offsets_rise_r50(survivors: ModuleType) -> None:
    rows: list[Row] = [(b"a", b"", T0), (b"b", b"", T0)]
    assert not copy(survivors, [1, 1], plain(rows, offsets=[4, 4]))[0]


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x01", b"\x08\x00"])
def test_what_was_not_found_sound_is_not_passed_over(survivors: ModuleType, data: bytes) -> None:
    assert not copy(survivors, [0], data)[0]


def test_the_target_has_an_end(survivors: ModuleType) -> None:
    data = plain([(b"a", b"1234567890", T0)])
    with pytest.raises(ValueError, match="no room"):
        copy(survivors, [1], data, room=len(data))

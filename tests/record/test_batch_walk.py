"""What a BatchWalk passes over, and in front of what it stops; both forms."""

import struct
from array import array
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.record.batch import HEADER, SEQUENCE_MAX, RecordBatch
from broker_lite.record.builder import BatchBuilder
from tests.record.conftest import load_native, load_python

FIELDS = (
    *("base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta"),
    *("base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence"),
    "record_count",
)
T0 = 1_700_000_000_000
BASE = 1000
NO_LIMIT = 2**63 - 1


@pytest.fixture
def module(batch_walk: ModuleType) -> ModuleType:
    return batch_walk


def batch(base_offset: int, *, count: int = 2, sequence: int = -1, **header: int) -> bytes:
    """A batch of a producer when it has a sequence; header fields are set, with the right CRC."""
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=7 if sequence >= 0 else -1,
        producer_epoch=3 if sequence >= 0 else -1,
        base_sequence=sequence,
    )
    for index in range(count):
        builder.append(T0 + base_offset + index, None, b"value", ())
    return with_header(builder.build(), **header)


def with_header(data: bytes, **header: int) -> bytes:
    fields = dict(zip(FIELDS, HEADER.unpack_from(data), strict=True)) | header
    changed = bytearray(data)
    HEADER.pack_into(changed, 0, *fields.values())
    if "crc" not in header:
        crc = RecordBatch(memoryview(changed), 0, len(changed)).computed_crc()
        struct.pack_into(">I", changed, 17, crc)
    return bytes(changed)


def walk_of(module: ModuleType, *, cleaned_end: int = 0, **given: Any) -> Any:
    """A walk that expects the offset 1000; given are attributes of it."""
    walk = module.BatchWalk(1 << 20, cleaned_end, {})
    given = {"is_open": True, "next_offset": BASE, "judged_from": cleaned_end} | given
    for name, value in given.items():
        setattr(walk, name, value)
    return walk


def passed(walk: Any, *batches: bytes, start: int = 0) -> int:
    """How many batches it passes, each of which is whole."""
    data = b"".join(batches)
    end = walk.pass_sound(memoryview(data), 0, start)
    ends = [sum(map(len, batches[:count])) for count in range(len(batches) + 1)]
    return ends.index(end)


def offsets(module: ModuleType, *numbers: int) -> Any:
    return module.IndexCursor(memoryview(array("i", numbers)), 2, 1)


def times(module: ModuleType, *entries: tuple[int, int]) -> Any:
    numbers = [struct.unpack(">iii", struct.pack(">qi", *entry)) for entry in entries]
    return module.IndexCursor(memoryview(array("i", sum(numbers, ()))), 3, 0)


def entries_of(cursor: Any) -> list[tuple[int, int, bool]]:
    found = []
    while cursor.is_there:
        found.append((cursor.key, cursor.value, cursor.is_below))
        cursor.advance()
    cursor.advance()
    assert not cursor.is_there
    return found


def test_s_10_entries_of_an_offset_index(module: ModuleType) -> None:
    found = entries_of(offsets(module, 4, 100, 9, 300, 9, 400, 12, 400, -1, 7, 3))
    assert found == [
        (4, 100, True),
        (9, 300, False),
        (9, 400, False),
        (12, 400, False),
        (-1, 7, True),
    ]


def test_s_11_entries_of_a_time_index(module: ModuleType) -> None:
    entries = [(-1, 0), (T0, 5), (T0 + 1, 5), (-(2**63), 3), (2**63 - 1, 3), (2**31, 4)]
    found = entries_of(times(module, *entries))
    assert [entry[:2] for entry in found] == entries
    assert [entry[2] for entry in found] == [True, True, False, True, False, True]


@pytest.mark.parametrize("numbers", [(), (5,), (0, 0, 5, 100)])
def test_s_12_no_entries(module: ModuleType, numbers: tuple[int, ...]) -> None:
    assert entries_of(offsets(module, *numbers)) == []


def test_s_12_zeros_are_behind_all(module: ModuleType) -> None:
    assert entries_of(offsets(module, 5, 100, 0, 0, 7, 200)) == [(5, 100, True)]
    assert entries_of(times(module, (5, 1), (0, 0), (9, 9))) == [(5, 1, True)]


@pytest.mark.parametrize("width", [0, 1, 4])
def test_an_index_of_other_entries(module: ModuleType, width: int) -> None:
    with pytest.raises(ValueError, match="two numbers or three"):
        module.IndexCursor(memoryview(array("i")), width, 0)


def test_it_passes_and_counts(module: ModuleType) -> None:
    batches = batch(1000), batch(1002, count=3), batch(1005, attributes=0x20)
    walk = walk_of(module)
    assert passed(walk, *batches, b"\0" * 60, start=500) == 3
    assert (walk.batches, walk.records, walk.next_offset) == (3, 5, 1007)
    assert walk.end - walk.position == len(batches[2])
    assert walk.end == 500 + sum(map(len, batches))
    assert walk.max_timestamp == T0 + 1006


def test_a_closed_walk_passes_nothing(module: ModuleType) -> None:
    assert passed(walk_of(module, is_open=False), batch(1000)) == 0


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        pytest.param({"magic": 1}, {}, id="R-02 magic"),
        pytest.param({"length": 48}, {}, id="R-04 length"),
        pytest.param({"length": 2000}, {}, id="R-04 not whole"),
        pytest.param({"length": (1 << 20) + 1}, {}, id="R-04 too long"),
        pytest.param({"crc": 5}, {}, id="R-06 checksum"),
        pytest.param({"base_offset": 999}, {}, id="S-05 offsets go back"),
        pytest.param({"base_offset": 1001}, {}, id="R-18 gap"),
        pytest.param({"last_offset_delta": -1, "record_count": 0}, {}, id="R-18 no offsets"),
        pytest.param({"record_count": 3}, {"cleaned_end": NO_LIMIT}, id="R-18 more records"),
        pytest.param({"record_count": 1}, {"cleaned_end": 1000}, id="R-18 fewer records"),
        pytest.param({"record_count": -1}, {"cleaned_end": NO_LIMIT}, id="R-18 negative count"),
        pytest.param(
            {"base_offset": 2**62 + 1}, {"next_offset": 2**62 + 1}, id="offset near the highest"
        ),
        pytest.param({"base_offset": -5}, {"next_offset": -5}, id="negative offset"),
        pytest.param({}, {"stop_offset": 1001}, id="offset where its owner looks"),
        pytest.param({"base_sequence": 0, "producer_id": 7}, {}, id="V-57 unknown producer"),
    ],
)
def test_it_stops_in_front_of(
    module: ModuleType, changes: dict[str, int], given: dict[str, int]
) -> None:
    walk = walk_of(module, **given)
    assert passed(walk, with_header(batch(1000), **changes), batch(1002)) == 0
    assert (walk.batches, walk.records, walk.end) == (0, 0, 0)


def test_r_18_gaps_below_the_cleaned_end(module: ModuleType) -> None:
    """A gap counts when the batch behind it agrees; in front of the cleaned end only."""
    cleaned = {"record_count": 1}
    batches = batch(1004, **cleaned), batch(1010), batch(1020), batch(1022)
    assert passed(walk_of(module, cleaned_end=1006), *batches[:2], b"") == 1
    walk = walk_of(module, cleaned_end=1100)
    assert passed(walk, *batches) == 4
    assert (walk.records, walk.next_offset) == (7, 1024)
    assert passed(walk_of(module, cleaned_end=1100), batches[0], b"1234567") == 0
    assert passed(walk_of(module, cleaned_end=1100), batch(1004), batch(1005)) == 0


@pytest.mark.parametrize(
    ("epoch", "last", "sequence", "expected"),
    [
        pytest.param(3, 9, 10, 1, id="V-57 next"),
        pytest.param(3, SEQUENCE_MAX, 0, 1, id="V-57 next behind the highest"),
        pytest.param(3, 8, 10, 0, id="V-57 gap"),
        pytest.param(3, 10, 10, 0, id="V-57 again"),
        pytest.param(3, 8, 0, 0, id="V-57 anew"),
        pytest.param(2, 9, 10, 0, id="V-56 new epoch"),
        pytest.param(3, SEQUENCE_MAX - 1, SEQUENCE_MAX, 0, id="R-14 wraps within"),
    ],
)
def test_sequences(module: ModuleType, epoch: int, last: int, sequence: int, expected: int) -> None:
    walk = walk_of(module, file="new")
    trail = module.ProducerTrail("old", 1, 2, epoch, 3, last, 4)
    walk.trails[7] = trail
    assert passed(walk, batch(1000, sequence=sequence), start=50) == expected
    found = [getattr(trail, name) for name in ("file", "position", "last_offset")]
    found += [trail.epoch, trail.first_sequence, trail.last_sequence, trail.timestamp_ms]
    left = ["old", 1, 2, epoch, 3, last, 4]
    updated = ["new", 50, 1001, 3, sequence, sequence + 1, T0 + 1001]
    assert found == (updated if expected else left)


SIZE = len(batch(1000))
ENTRIES_OF_OFFSETS = [
    pytest.param((1, 0), 2, id="S-10 true"),
    pytest.param((3, 0), 2, id="S-10 of two batches"),
    pytest.param((1, 0, 3, SIZE), 2, id="S-10 each"),
    pytest.param((5, 0), 2, id="S-10 of batches to come"),
    pytest.param((1, 5000), 2, id="S-10 later"),
    pytest.param((0, 0, 1, 0), 2, id="S-12 none"),
    pytest.param((0, 1), 0, id="S-10 place"),
    pytest.param((1, SIZE - 1), 0, id="S-10 inside"),
    pytest.param((-1, 0), 0, id="S-10 key too low"),
    pytest.param((2, 0), 1, id="S-10 no last offset"),
    pytest.param((5, 0, 4, SIZE), 0, id="S-10 order"),
    pytest.param((5, 0, 6, SIZE), 1, id="S-10 two at once"),
    pytest.param((1, 0, 3, 5), 0, id="S-10 two in a batch"),
    pytest.param((9, 5000, 8, 6000), 0, id="S-10 order later"),
]


@pytest.mark.parametrize(("numbers", "expected"), ENTRIES_OF_OFFSETS)
def test_offset_entries(module: ModuleType, numbers: tuple[int, ...], expected: int) -> None:
    walk = walk_of(module, file_offset=BASE, offsets=offsets(module, *numbers))
    assert passed(walk, batch(1000), batch(1002)) == expected


def test_an_entry_is_pending_until_its_batch(module: ModuleType) -> None:
    walk = walk_of(module, file_offset=BASE, offsets=offsets(module, 3, 40, 9, 5000))
    assert passed(walk, batch(1000), start=40) == 1
    assert (walk.pending, walk.pending_position, walk.offsets.key) == (3, 40, 9)
    assert passed(walk, batch(1002), start=40 + SIZE) == 1
    assert walk.pending == -1


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([(T0 + 1001, 1)], 2, id="S-11 true"),
        pytest.param([(T0 + 1001, 1), (T0 + 1003, 3)], 2, id="S-11 each"),
        pytest.param([(T0 + 1003, 2)], 2, id="S-11 an offset within"),
        pytest.param([(T0 + 1009, 9)], 2, id="S-11 later"),
        pytest.param([(T0 + 1000, 1)], 0, id="S-11 timestamp"),
        pytest.param([(T0 + 1001, 2)], 1, id="S-11 offset"),
        pytest.param([(T0 + 1001, 1), (T0 + 1001, 3)], 0, id="S-11 order"),
        pytest.param([(T0 + 1001, 0), (T0 + 1002, 1)], 0, id="S-11 two in a batch"),
        pytest.param([(T0 + 1009, 9), (T0, 10)], 0, id="S-11 order later"),
    ],
)
def test_time_entries(module: ModuleType, entries: list[tuple[int, int]], expected: int) -> None:
    walk = walk_of(module, file_offset=BASE, times=times(module, *entries))
    assert passed(walk, batch(1000), batch(1002)) == expected


def test_s_11_an_entry_of_a_batch_that_is_not_the_youngest(module: ModuleType) -> None:
    walk = walk_of(
        module, file_offset=BASE, max_timestamp=T0 + 5000, times=times(module, (T0 + 1001, 1))
    )
    assert passed(walk, batch(1000)) == 0
    walk.forget_indexes()
    assert passed(walk, batch(1000), with_header(batch(1002), max_timestamp=T0)) == 2
    assert walk.max_timestamp == T0 + 1001


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Batches of two producers with indexes; up to three bytes of them are changed."""
    data, index, time_index = bytearray(), [], []
    offset, sequence = BASE, 0
    for _ in range(draw(st.integers(1, 8))):
        count = draw(st.integers(1, 3))
        one = batch(offset, count=count, sequence=draw(st.sampled_from([-1, sequence])))
        index += [offset + count - 1 - BASE, len(data)]
        time_index.append(struct.pack(">qi", T0 + offset + count - 1, offset + count - 1 - BASE))
        data += one
        sequence += count
        offset += count + draw(st.sampled_from([0, 0, 0, 2]))
    parts = [data, bytearray(struct.pack(f">{len(index)}i", *index)), bytearray()]
    parts[2] += b"".join(time_index)
    for _ in range(draw(st.integers(0, 3))):
        part = draw(st.sampled_from(parts))
        part[draw(st.integers(0, len(part) - 1))] ^= draw(st.integers(1, 255))
    return bytes(parts[0]), bytes(parts[1]), bytes(parts[2])


def numbers_of(data: bytes) -> memoryview:
    found = array("i", data)
    found.byteswap()
    return memoryview(found)


def story(module: ModuleType, log: tuple[bytes, bytes, bytes], cleaned_end: int) -> list[object]:
    """All that a walk shows while its owner takes what it leaves, as long as that is framed."""
    data, index, time_index = log
    walk = walk_of(
        module,
        cleaned_end=cleaned_end,
        file_offset=BASE,
        offsets=module.IndexCursor(numbers_of(index), 2, 1),
        times=module.IndexCursor(numbers_of(time_index), 3, 0),
    )
    walk.trails[7] = module.ProducerTrail("f", 0, 0, 3, 0, -1, 0)
    told: list[object] = []
    at, buffer = 0, memoryview(data)
    while len(data) - at >= 12:
        at = walk.pass_sound(buffer, at, 0)
        told += [at, walk.batches, walk.records, walk.next_offset, walk.pending]
        told += [walk.max_timestamp, walk.offsets.key, walk.times.key, walk.position, walk.end]
        told.append(walk.trails[7].last_sequence)
        if len(data) - at < 61:
            break
        length = struct.unpack_from(">i", data, at + 8)[0]
        if not 49 <= length <= len(data) - at - 12:
            break
        walk.next_offset += 1
        at += 12 + length
    return told


@given(log=logs(), cleaned_end=st.sampled_from([0, 1005, NO_LIMIT]))
@settings(max_examples=100, deadline=None)
def test_python_and_native_agree(log: tuple[bytes, bytes, bytes], cleaned_end: int) -> None:
    python, native = (
        story(module, log, cleaned_end)
        for module in (load_python("batch_walk"), load_native("batch_walk"))
    )
    assert native == python

import struct
from pathlib import Path

import pytest

from broker_lite.log.files.txn_index import AbortedTransaction, CorruptTransactionIndex
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.indexes import (
    OffsetEntry,
    TimeEntry,
    aborted_transactions,
    offset_entries_near,
    offset_entry_below,
    offset_entry_in_front,
    time_entry_below,
)
from broker_lite.pipeline.files.layout import Segment

IO = LocalFileIO()
BASE = 1_000
ALL = frozenset((".index", ".timeindex", ".txnindex"))


@pytest.fixture
def segment(tmp_path):
    return Segment("t", 0, BASE, str(tmp_path), 1 << 20, ALL)


def write(segment: Segment, suffix: str, layout: str, *entries: tuple[int, ...]) -> None:
    data = b"".join(struct.pack(layout, *entry) for entry in entries)
    Path(segment.stem + suffix).write_bytes(data)


@pytest.mark.parametrize("zeros", [0, 3, 10_000], ids="S-12 {} zeros".format)
@pytest.mark.parametrize("count", [0, 1, 3, 9_000])
def test_s21_entries_of_the_offset_index_are_found(segment, count, zeros):
    """S-10, S-12, S-21: whatever the file was extended with."""
    entries = [(10 * index, 4_000 * index) for index in range(1, count + 1)]
    write(segment, ".index", ">ii", *entries, *[(0, 0)] * zeros)
    told = [OffsetEntry(BASE + offset, position) for offset, position in entries]
    for index in {0, 1, 2, count - 1} & set(range(count)):
        entry, before = told[index], told[index - 1] if index else None
        assert offset_entry_below(IO, segment, entry.offset) == entry
        assert offset_entry_below(IO, segment, entry.offset - 1) == before
        assert offset_entry_in_front(IO, segment, entry.position) == entry
        assert offset_entry_in_front(IO, segment, entry.position - 1) == before
    last = told[-1] if told else None
    assert offset_entry_below(IO, segment, 1 << 62) == last
    assert offset_entry_in_front(IO, segment, 1 << 62) == last


def test_the_nearest_entries_are_found_and_none_twice(segment):
    write(segment, ".index", ">ii", (5, 100), (6, 200), (7, 400), *[(0, 0)] * 5)
    near = offset_entries_near(IO, segment, [0, 140, 160, 299, 301, 5_000])
    assert near == [OffsetEntry(BASE + 5, 100), OffsetEntry(BASE + 6, 200), OffsetEntry(1007, 400)]
    write(segment, ".index", ">ii", *[(0, 0)] * 5)
    assert offset_entries_near(IO, segment, [0, 140]) == []


def test_s21_s23_entries_of_the_time_index_are_found(segment):
    write(segment, ".timeindex", ">qi", (50, 3), (60, 9), *[(0, 0)] * 4)
    assert time_entry_below(IO, segment, 49) is None
    assert time_entry_below(IO, segment, 59) == TimeEntry(50, BASE + 3)
    assert time_entry_below(IO, segment, 99) == TimeEntry(60, BASE + 9)


@pytest.mark.parametrize(
    ("entries", "entry"),
    [
        ([], None),
        ([(0, 0)] * 2, None),
        ([(50, 3), (60, 9), (0, 0)], TimeEntry(60, BASE + 9)),
        ([(0, 0)], TimeEntry(0, BASE)),
        ([(0, 0), (60, 9)], TimeEntry(60, BASE + 9)),
    ],
)
def test_s12_zeros_are_no_entry(segment, entries, entry):
    """S-12, S-14: but a timestamp of 0 makes one of zeros, and only the first can be it."""
    write(segment, ".timeindex", ">qi", *entries)
    assert time_entry_below(IO, segment, 99) == entry


def test_a_cut_entry_does_not_count(segment):
    write(segment, ".timeindex", ">qi", (50, 3))
    path = Path(segment.stem + ".timeindex")
    path.write_bytes(path.read_bytes() + b"\0\0\0")
    assert time_entry_below(IO, segment, 99) == TimeEntry(50, BASE + 3)


@pytest.mark.parametrize("suffixes", [ALL, frozenset()], ids=["vanished", "never there"])
def test_a_missing_file_answers_nothing(segment, suffixes):
    segment = segment._replace(suffixes=suffixes)
    assert offset_entry_below(IO, segment, 5_000) is None
    assert offset_entry_in_front(IO, segment, 5_000) is None
    assert offset_entries_near(IO, segment, [5]) == []
    assert time_entry_below(IO, segment, 5_000) is None
    assert aborted_transactions(IO, segment) == []


class _CutIO(LocalFileIO):
    """Opens files that are cut to one entry when their size is known, as a roll does."""

    def open(self, path):
        file = super().open(path)
        Path(path).write_bytes(Path(path).read_bytes()[:8])
        return file


def test_s12_a_file_that_is_cut_meanwhile(segment):
    write(segment, ".index", ">ii", (5, 100), *[(0, 0)] * 20_000)
    assert offset_entry_below(_CutIO(), segment, 1 << 40) == OffsetEntry(BASE + 5, 100)


def test_s16_aborted_transactions(segment):
    entries = [(0, 7, 1_000, 1_010, 1_011), (0, 8, 990, 1_020, 1_005)]
    write(segment, ".txnindex", ">hqqqq", *entries)
    path = Path(segment.stem + ".txnindex")
    path.write_bytes(path.read_bytes() + b"\0" * 33)
    assert aborted_transactions(IO, segment) == [
        AbortedTransaction(7, 1_000, 1_010, 1_011),
        AbortedTransaction(8, 990, 1_020, 1_005),
    ]


@pytest.mark.parametrize(
    "entry",
    [(0x0100, 7, 1_000, 1_010, 1_011), (0, 7, 900, 999, 1_000), (0, 7, 1_011, 1_010, 1_012)],
    ids=["S-16 version", "S-15 below the segment", "S-16 ends before it begins"],
)
def test_s15_s16_a_wrong_entry_is_an_error(segment, entry):
    write(segment, ".txnindex", ">hqqqq", entry)
    with pytest.raises(CorruptTransactionIndex, match=r"txnindex: no entry of it at position 0"):
        aborted_transactions(IO, segment)


def test_s16_last_offsets_rise(segment):
    write(segment, ".txnindex", ">hqqqq", *[(0, 7, 1_000, 1_010, 1_011)] * 2)
    with pytest.raises(CorruptTransactionIndex, match="position 34"):
        aborted_transactions(IO, segment)

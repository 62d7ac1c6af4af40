"""S-10, S-11, S-12, S-16: what is written in the index files, believed or not."""

import struct
from pathlib import Path

import pytest

from broker_lite.log.files.txn_index import ENTRY, AbortedTransaction
from broker_lite.pipeline.files import index_entries
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.index_entries import (
    offset_entries,
    time_entries,
    transaction_entries,
)
from broker_lite.pipeline.files.layout import Segment
from broker_lite.record.batch_walk import IndexCursor
from tests.pipeline.support import whole_split, write_segment

IO = LocalFileIO()
BASE = 1000


@pytest.fixture(params=[8192, 2, 1])
def page_entries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_entries, "PAGE_ENTRIES", request.param)


def segment(root: Path, **files: bytes) -> Segment:
    path = write_segment(root, b"", base_offset=BASE)
    for suffix, data in files.items():
        path.with_suffix(f".{suffix}").write_bytes(data)
    return whole_split(root).ranges[0].segment


OFFSETS = struct.pack(">6i", 4, 100, 9, 300, 8, 200)


def entries_of(cursor: IndexCursor) -> list[tuple[int, int, bool]]:
    found = []
    while cursor.is_there:
        found.append((cursor.key, cursor.value, cursor.is_below))
        cursor.advance()
    return found


@pytest.mark.usefixtures("page_entries")
@pytest.mark.parametrize("more", [b"", bytes(80), b"\x01" * 7, bytes(8) + b"\x01" * 8])
def test_s_10_offsets_and_positions_in_any_order(tmp_path: Path, more: bytes) -> None:
    found = segment(tmp_path, index=OFFSETS + more)
    entries = [(4, 100, True), (9, 300, False), (8, 200, True)]
    assert entries_of(offset_entries(IO, found)) == entries


def test_s_10_two_entries_with_a_position(tmp_path: Path) -> None:
    found = segment(tmp_path, index=struct.pack(">4i", 4, 100, 9, 100))
    assert entries_of(offset_entries(IO, found)) == [(4, 100, False), (9, 100, True)]


@pytest.mark.usefixtures("page_entries")
def test_s_11_timestamps_and_offsets(tmp_path: Path) -> None:
    data = struct.pack(">qiqi", 77, 0, -1, 5)
    found = segment(tmp_path, timeindex=data + bytes(12))
    assert entries_of(time_entries(IO, found)) == [(77, 0, False), (-1, 5, True)]


def test_s_11_two_timestamps_up_to_an_offset(tmp_path: Path) -> None:
    found = segment(tmp_path, timeindex=struct.pack(">qiqi", 77, 5, 78, 5))
    assert entries_of(time_entries(IO, found)) == [(77, 5, True), (78, 5, True)]


@pytest.mark.usefixtures("page_entries")
@pytest.mark.parametrize("more", [b"", b"\0" * 33, b"\0" * 34 + b"\1" * 34])
def test_s_16_transactions(tmp_path: Path, more: bytes) -> None:
    data = ENTRY.pack(0, 7, 1001, 1004, 1005)
    found = segment(tmp_path, txnindex=data + more)
    assert list(transaction_entries(IO, found)) == [AbortedTransaction(7, 1001, 1004, 1005)]


def test_a_file_that_is_not_there_or_gone(tmp_path: Path) -> None:
    assert entries_of(offset_entries(IO, segment(tmp_path))) == []
    found = segment(tmp_path, index=OFFSETS)
    (path,) = tmp_path.glob("*/*.index")
    path.unlink()
    assert entries_of(offset_entries(IO, found)) == []

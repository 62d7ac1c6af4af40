"""S-10, S-11, S-12, S-16: what is written in the index files, believed or not."""

import struct
from pathlib import Path

import pytest

from broker_lite.log.txn_index import ENTRY, AbortedTransaction
from broker_lite.pipeline.files import index_entries
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.index_entries import (
    next_indexed_position,
    offset_entries,
    time_entries,
    transaction_entries,
)
from broker_lite.pipeline.files.layout import Segment
from tests.pipeline.support import whole_split, write_segment

IO = LocalFileIO()
BASE = 1000


@pytest.fixture(params=[8192, 2, 1])
def page_entries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_entries, "_PAGE_ENTRIES", request.param)


def segment(root: Path, **files: bytes) -> Segment:
    path = write_segment(root, b"", base_offset=BASE)
    for suffix, data in files.items():
        path.with_suffix(f".{suffix}").write_bytes(data)
    return whole_split(root).ranges[0].segment


OFFSETS = struct.pack(">6i", 4, 100, 9, 300, 8, 200)


@pytest.mark.usefixtures("page_entries")
@pytest.mark.parametrize("more", [b"", bytes(80), b"\x01" * 7, bytes(8) + b"\x01" * 8])
def test_s_10_offsets_and_positions_in_any_order(tmp_path: Path, more: bytes) -> None:
    found = segment(tmp_path, index=OFFSETS + more)
    assert list(offset_entries(IO, found)) == [(1004, 100), (1009, 300), (1008, 200)]


@pytest.mark.usefixtures("page_entries")
def test_s_11_timestamps_and_offsets(tmp_path: Path) -> None:
    data = struct.pack(">qiqi", 77, 0, -1, 5)
    found = segment(tmp_path, timeindex=data + bytes(12))
    assert list(time_entries(IO, found)) == [(77, 1000), (-1, 1005)]


@pytest.mark.usefixtures("page_entries")
def test_s_16_transactions(tmp_path: Path) -> None:
    data = ENTRY.pack(0, 7, 1001, 1004, 1005)
    found = segment(tmp_path, txnindex=data + data[:-1])
    assert list(transaction_entries(IO, found)) == [AbortedTransaction(7, 1001, 1004, 1005)]


def test_a_file_that_is_not_there_or_gone(tmp_path: Path) -> None:
    assert list(offset_entries(IO, segment(tmp_path))) == []
    found = segment(tmp_path, index=OFFSETS)
    (path,) = tmp_path.glob("*/*.index")
    path.unlink()
    assert list(offset_entries(IO, found)) == []


@pytest.mark.parametrize(
    ("position", "expected"), [(0, 100), (99, 100), (100, 300), (299, 300), (300, 5000)]
)
def test_the_next_position(tmp_path: Path, position: int, expected: int) -> None:
    assert next_indexed_position(IO, segment(tmp_path, index=OFFSETS), position, 5000) == expected


def test_the_next_position_is_not_behind_the_end(tmp_path: Path) -> None:
    assert next_indexed_position(IO, segment(tmp_path, index=OFFSETS), 100, 250) == 250

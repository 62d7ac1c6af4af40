"""R-04, R-06, S-43: whole, valid batches in the order of their offsets, and where they end."""

from pathlib import Path

import pytest

from broker_lite.log.files.batch_reader import SegmentOverflow, read_valid
from broker_lite.log.files.entries import BUFFER_BYTES
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.segment import LogSegment
from broker_lite.record.batch import RecordBatch
from tests.log.batches import batch, records

BASE = 100


def segment_of(directory: Path, *batches: bytes, size_bytes: int | None = None) -> LogSegment:
    path = directory / f"{BASE:020}.log"
    path.write_bytes(b"".join(batches))
    size = path.stat().st_size if size_bytes is None else size_bytes
    return LogSegment(str(directory), BASE, FileCache(), created_ms=0, size_bytes=size)


def at(*offsets: int, count: int = 1) -> list[bytes]:
    return [batch(records(count), count=count, base_offset=offset) for offset in offsets]


def offsets_of(segment: LogSegment, **options: int) -> list[int]:
    return [found.last_offset for found in read_valid(segment, **options)]


@pytest.mark.parametrize(
    ("offsets", "read"),
    [
        pytest.param((100, 101, 102), [100, 101, 102], id="without gaps"),
        pytest.param((105, 120, 121), [105, 120, 121], id="with gaps, as after cleaning"),
        pytest.param((100, 105, 105), [100, 105], id="a batch twice behind a gap"),
        pytest.param((99, 100), [], id="below the segment"),
        pytest.param((100, 100, 101), [100], id="again"),
        pytest.param((100, 7, 102), [100], id="back"),
        pytest.param((100, 613, 102, 103), [100], id="a damaged offset, by what follows"),
        pytest.param((100, 613, 50), [100, 613], id="what follows is damaged itself"),
        pytest.param((100, 613), [100, 613], id="nothing follows"),
    ],
)
def test_s44_offsets_rise(tmp_path: Path, offsets: tuple[int, ...], read: list[int]) -> None:
    assert offsets_of(segment_of(tmp_path, *at(*offsets))) == read


@pytest.mark.parametrize("first", [BASE + (1 << 31) - 1, BASE + (1 << 40)])
def test_s42_more_than_31_bits(tmp_path: Path, first: int) -> None:
    """The batch is whole, and only at a wrong place."""
    segment = segment_of(tmp_path, *at(100), *at(first, count=2))
    found = read_valid(segment)
    assert next(found).last_offset == 100
    with pytest.raises(SegmentOverflow) as told:
        next(found)
    overflow = told.value
    assert overflow.segment is segment
    assert (overflow.position, overflow.first_offset) == (len(at(100)[0]), first)
    assert offsets_of(segment, limit=first + 1) == [100]


def test_s44_a_batch_in_its_place_counts_though_the_next_one_overlaps_it(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, *at(100, count=5), *at(102))
    assert offsets_of(segment) == [104]


def test_s44_the_next_segment_limits_them(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, *at(100, 101, 110))
    assert offsets_of(segment, limit=110) == [100, 101]
    assert offsets_of(segment, limit=111) == [100, 101, 110]


def test_r04_a_file_shorter_than_it_should_be(tmp_path: Path) -> None:
    """Somebody else has cut it."""
    one, two = at(100, 101)
    assert offsets_of(segment_of(tmp_path, one, two[:30], size_bytes=len(one + two))) == [100]
    assert offsets_of(segment_of(tmp_path, one, size_bytes=len(one + two))) == [100]


@pytest.mark.parametrize("length", [-1, 13, 14, 48, 1 << 30])
def test_r06_a_length_that_cannot_be(tmp_path: Path, length: int) -> None:
    damaged = batch(records(1), base_offset=101, length=length)
    assert offsets_of(segment_of(tmp_path, *at(100), damaged)) == [100]


def test_batches_across_the_buffer_are_views_of_it(tmp_path: Path) -> None:
    """Each read is told, and what that raises ends the reading."""
    value = bytes(BUFFER_BYTES // 3)
    sizes = [value, value, value, value * 4, value]
    batches = [batch(data, base_offset=BASE + i) for i, data in enumerate(sizes)]
    segment = segment_of(tmp_path, *batches)
    told: list[int] = []
    for found, expected in zip(read_valid(segment, tell=told.append), batches, strict=True):
        assert isinstance(found, RecordBatch)
        assert bytes(found.data) == expected
    assert len(told) == 4
    assert offsets_of(segment, position=len(batches[0])) == [101, 102, 103, 104]

    def stop(_size_bytes: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        next(read_valid(segment, tell=stop))

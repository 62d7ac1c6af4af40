import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.pipeline.files.arrow_files import ArrowFileIO
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.read.split import Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records
from tests.bench.simulated_log import ROOT, SEGMENT_RECORDS, SimulatedLog
from tests.pipeline.support import (
    T0,
    Partition,
    damage,
    legacy_message,
    numbered,
    write_segment,
)

IO = LocalFileIO()
RECORDS = 4
BATCHES = 100


class Place(NamedTuple):
    """A batch: the base offset of its segment, its position there, its own base offset."""

    segment: int
    position: int
    base_offset: int


@pytest.fixture(scope="module")
def logs_root(tmp_path_factory):
    """A partition of several segments with 400 records, one of 40, and one of none."""
    root = tmp_path_factory.mktemp("logs")
    for topic, partition, batches in (("big", 0, BATCHES), ("small", 0, 10), ("small", 1, 0)):
        with Partition(
            root, topic, partition, segment_bytes=6_000, index_interval_bytes=300
        ) as log:
            for index in range(batches):
                log.append(numbered(RECORDS, first=RECORDS * index))
    return root


def planned(root: Path, **options: str) -> list[Split]:
    return plan(IO, str(root), ReadOptions.parse({"path": str(root), **options}))


def places_of(split: Split) -> Iterator[Place]:
    for found in read_batches(IO, split, check_crc=True, on_corrupt=raise_corruption):
        assert isinstance(found.batch, RecordBatch)
        yield Place(found.segment.base_offset, found.position, found.batch.base_offset)


def offsets_of(split: Split) -> Iterator[int]:
    """Offsets of the records that are the split's."""
    for found in read_batches(IO, split, check_crc=True, on_corrupt=raise_corruption):
        assert isinstance(found.batch, RecordBatch)
        for record in iterate_records(found.batch):
            if split.first_offset <= record.offset < split.end_offset:
                yield record.offset


def read(splits: list[Split], topic: str = "big") -> list[int]:
    return [offset for split in splits if split.topic == topic for offset in offsets_of(split)]


def test_by_default_a_partition_is_a_split_and_an_empty_one_is_none(logs_root):
    splits = planned(logs_root)
    assert [(split.topic, split.partition) for split in splits] == [("big", 0), ("small", 0)]
    big, small = splits
    assert (big.first_offset, big.end_offset, big.offset_count) == (0, 400, 400)
    assert len(big.ranges) > 2
    assert big.size_bytes == sum(part.segment.size_bytes for part in big.ranges)
    assert read(splits) == list(range(400))
    assert list(offsets_of(small)) == list(range(40))
    assert big.uri == str(logs_root)
    assert pickle.loads(pickle.dumps(splits)) == splits


@pytest.mark.parametrize("max_split_bytes", [400, 1_000, 2_500, 7_000, 13_000, 1 << 20])
def test_splits_are_cut_by_size_at_batches(logs_root, max_split_bytes):
    (whole,) = planned(logs_root, subscribe="big")
    splits = planned(logs_root, subscribe="big", maxSplitBytes=str(max_split_bytes))
    assert read(splits) == list(range(400))
    places = [place for split in splits for place in places_of(split)]
    assert places == list(places_of(whole))
    assert [split.first_offset for split in splits[1:]] == [
        split.end_offset for split in splits[:-1]
    ]
    largest = max(split.size_bytes for split in splits)
    interval_bytes = 600  # that of the index, and a batch
    assert largest <= max_split_bytes * 1.25 + 2 * interval_bytes


def test_a_lone_segment_is_cut_at_its_index(tmp_path):
    with Partition(tmp_path, index_interval_bytes=300) as log:
        for index in range(BATCHES):
            log.append(numbered(RECORDS, first=RECORDS * index))
    (whole,) = planned(tmp_path)
    splits = planned(tmp_path, maxSplitBytes=str(whole.size_bytes // 5 + 1))
    assert len(splits) == 5
    assert all(len(split.ranges) == 1 for split in splits)
    sizes = [split.size_bytes for split in splits]
    assert max(sizes) - min(sizes) < 1_500
    assert read(splits, "topic") == list(range(400))


@pytest.mark.parametrize("name", ["maxRecordsPerPartition", "minPartitions"])
@pytest.mark.parametrize("value", [1, 2, 3, 7, 50, 399, 1_000])
def test_splits_are_cut_by_offsets(logs_root, name, value):
    splits = planned(logs_root, subscribe="big", **{name: str(value)})
    assert read(splits) == list(range(400))
    if name == "minPartitions":
        assert len(splits) == min(value, 400)
    else:
        assert max(split.offset_count for split in splits) <= value


def test_shares_follow_what_partitions_span(logs_root):
    splits = planned(logs_root, minPartitions="11")
    counts = [sum(split.topic == topic for split in splits) for topic in ("big", "small")]
    assert counts == [10, 1]
    assert read(splits, "small") == list(range(40))


@pytest.mark.parametrize("options", [{"minPartitions": "30"}, {"maxRecordsPerPartition": "9"}])
def test_a_batch_of_the_batch_view_is_in_one_split(logs_root, options):
    (whole,) = planned(logs_root, subscribe="big")
    splits = planned(logs_root, subscribe="big", view="batches", **options)
    assert len(splits) >= 30
    assert [place for split in splits for place in places_of(split)] == list(places_of(whole))


def test_a_segment_of_the_index_view_is_in_one_split(logs_root):
    (whole,) = planned(logs_root, subscribe="big")
    splits = planned(
        logs_root, subscribe="big", view="index", maxSplitBytes="400", minPartitions="50"
    )
    assert [part for split in splits for part in split.ranges] == list(whole.ranges)
    assert len(splits) == len(whole.ranges)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 3), (6, 7), (3, 222), (120, 400), (9, 9)])
@pytest.mark.parametrize("max_split_bytes", [500, 1 << 20])
def test_only_a_range_is_read(logs_root, start, end, max_split_bytes):
    splits = planned(
        logs_root,
        subscribe="big",
        startingOffsets=f'{{"big": {{"0": {start}}}}}',
        endingOffsets=f'{{"big": {{"0": {end}}}}}',
        maxSplitBytes=str(max_split_bytes),
    )
    assert read(splits) == list(range(start, end))
    places = [place for split in splits for place in places_of(split)]
    assert len(places) == (0 if start == end else (end - 1) // RECORDS - start // RECORDS + 1)


def test_s05_a_torn_tail_is_in_no_split(tmp_path):
    with Partition(tmp_path) as log:
        log.append(numbered(4))
    path = next(tmp_path.glob("topic-0/*.log"))
    size_bytes = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\0" * 50)
    (split,) = planned(tmp_path)
    assert split.size_bytes == size_bytes
    assert list(offsets_of(split)) == [0, 1, 2, 3]


def test_an_index_that_lies_costs_splits_but_no_records(tmp_path):
    with Partition(tmp_path, index_interval_bytes=300) as log:
        for index in range(BATCHES):
            log.append(numbered(RECORDS, first=RECORDS * index))
    path = next(tmp_path.glob("topic-0/*.index"))
    for position in range(7, path.stat().st_size, 16):
        damage(path, position, 0x20)
    splits = planned(tmp_path, maxSplitBytes="1000")
    assert 1 < len(splits) < 24
    assert read(splits, "topic") == list(range(400))


@pytest.fixture(scope="module")
def log_with_indexes(tmp_path_factory):
    """The directory of a log with many index entries, and what its indexes hold."""
    root = tmp_path_factory.mktemp("indexes")
    with Partition(root, segment_bytes=8_000, index_interval_bytes=200) as log:
        for index in range(BATCHES):
            log.append(numbered(RECORDS, first=RECORDS * index))
    paths = sorted(path for path in root.glob("topic-0/*index"))
    return root, {path: path.read_bytes() for path in paths}


@settings(max_examples=60, deadline=None)
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 99), st.integers(0, 10_000), st.integers(0, 255)), max_size=40
    ),
    cuts=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 200)), max_size=2),
    max_split_bytes=st.sampled_from([500, 1_700, 5_000]),
    start=st.integers(0, 399),
    at_timestamp=st.booleans(),
)
def test_whatever_indexes_say_every_record_is_read_once(
    log_with_indexes, edits, cuts, max_split_bytes, start, at_timestamp
):
    """S-10, S-11, S-12: an index is a hint."""
    root, contents = log_with_indexes
    edited = {path: bytearray(data) for path, data in contents.items()}
    for number, position, value in edits:
        data = edited[list(edited)[number % len(edited)]]
        if data:
            data[position % len(data)] = value
    for number, size_bytes in cuts:
        del edited[list(edited)[number % len(edited)]][size_bytes:]
    for path, data in edited.items():
        path.write_bytes(data)
    options = {"startingOffsets": f'{{"topic": {{"0": {start}}}}}'}
    if at_timestamp:
        options = {"startingTimestamp": str(T0 + start)}
    splits = planned(root, maxSplitBytes=str(max_split_bytes), **options)
    assert read(splits, "topic") == list(range(start, 400))


def test_an_offset_that_lies_is_no_place_to_cut(tmp_path):
    """Base offsets lie outside the checksum: whoever cut there would lose the records behind."""
    with Partition(tmp_path, index_interval_bytes=1) as log:
        for index in range(20):
            log.append(numbered(RECORDS, first=RECORDS * index))
    (whole,) = planned(tmp_path)
    path = next(tmp_path.glob("topic-0/*.log"))
    wrong = [place for place in places_of(whole) if place.base_offset == 40]
    damage(path, wrong[0].position + 7, 0x01)
    splits = planned(tmp_path, maxSplitBytes=str(whole.size_bytes // 2 + 1))
    assert 40 ^ 1 not in [split.first_offset for split in splits]


def test_r62_logs_of_old_formats_are_cut_between_segments_and_by_offsets(tmp_path):
    for base_offset in (0, 10, 20):
        data = b"".join(legacy_message(base_offset + index, b"k", b"v") for index in range(10))
        write_segment(tmp_path, data, base_offset=base_offset)
    assert [split.first_offset for split in planned(tmp_path, maxSplitBytes="100")] == [0, 10, 20]
    by_offsets = planned(tmp_path, minPartitions="6")
    assert [split.first_offset for split in by_offsets] == [0, 5, 10, 15, 20, 25]


def test_a_split_of_another_storage_has_its_uri(logs_root):
    from pyarrow import fs

    remote = ArrowFileIO(fs.LocalFileSystem())
    options = ReadOptions.parse({"path": "hdfs://host/logs", "maxSplitBytes": "1000"})
    splits = plan(remote, str(logs_root), options)
    assert {split.uri for split in splits} == {"hdfs://host/logs"}
    local = planned(logs_root, maxSplitBytes="1000")
    assert [split._replace(uri="") for split in splits] == [
        split._replace(uri="") for split in local
    ]


def test_a_log_directory_without_partitions_has_no_splits(tmp_path):
    assert planned(tmp_path) == []


def test_a_plan_elsewhere_has_all_segments_once():
    """As large as it may be, without its files. See: tests.bench.planning."""
    log = SimulatedLog(30, 40, 100 << 20)
    options = ReadOptions.parse({"path": "memory://logs", "maxSplitBytes": "1g"})
    splits = plan(cast("FileIO", log), ROOT, options)
    assert len(splits) == 30 * 4
    assert gc.isenabled()
    for partition in range(30):
        mine = [split for split in splits if split.partition == partition]
        ends = [split.end_offset for split in mine]
        assert [split.first_offset for split in mine] == [0, *ends[:-1]]
        assert ends[-1] == 40 * SEGMENT_RECORDS
        parts = [part for split in mine for part in split.ranges]
        assert [part.segment.base_offset for part in parts] == [
            number * SEGMENT_RECORDS for number in range(40)
        ]
        assert all(part.size_bytes == 100 << 20 for part in parts)


def test_many_segments_share_what_they_have_in_common():
    log = SimulatedLog(2, 50, 100 << 20)
    options = ReadOptions.parse({"path": "memory://logs"})
    segments = [
        part.segment for split in plan(cast("FileIO", log), ROOT, options) for part in split.ranges
    ]
    assert len({id(segment.suffixes) for segment in segments}) == 1
    assert segments[0].suffixes == {".index", ".timeindex"}

"""The record view gives back what was written, in Arrow batches of the connector's schema."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs as pa_fs

from broker_lite.pipeline.files.arrow_files import ArrowFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.ranges import OffsetRange
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.pipeline.views import record_columns
from broker_lite.pipeline.views.record_view import record_batches
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.testing import Broker
from tests.log.batches import batch as raw_batch
from tests.log.batches import record
from tests.pipeline.reading import IO, arrow, options, read, rows
from tests.pipeline.stream_support import SmallReads
from tests.pipeline.support import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP_TYPE,
    T0,
    NewRecord,
    Partition,
    Row,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)
from tests.record.support import vectors

NULLABLE = st.none() | st.binary(max_size=30)
NEW_RECORDS = st.lists(
    st.builds(
        NewRecord,
        NULLABLE,
        NULLABLE,
        st.lists(st.tuples(st.binary(max_size=6), NULLABLE), max_size=2).map(tuple),
        st.none() | st.integers(-1, 1 << 42),
    ),
    min_size=1,
    max_size=8,
)
BATCHES = st.lists(
    st.tuples(NEW_RECORDS, st.sampled_from(list(Codec)), st.none() | st.integers(0, 1 << 42)),
    max_size=6,
)


@given(written=BATCHES, rows_max=st.sampled_from([1, 5, 1 << 14]), first=st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_rows_are_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, written: Any, rows_max: int, first: int
) -> None:
    """R-30 to R-33, R-75: every codec, nulls, odd header keys, both types of timestamp."""
    root = tmp_path_factory.mktemp("log")
    with Partition(root, "some.topic", 3, segment_bytes=600) as partition:
        for records, codec, append_time_ms in written:
            partition.append(records, codec=codec, log_append_time_ms=append_time_ms)
    end = min(first + 20, len(partition.rows))
    logs = find_partitions(IO, str(root))
    wanted = {key: OffsetRange(min(first, end), end) for key in logs}
    splits = plan_ranges(IO, str(root), logs, wanted, options())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_columns, "ROWS_MAX", rows_max)
        found = [row for split in splits for row in read(split)]
    assert found == [row for row in partition.rows if first <= row.offset < first + 20]


def test_nothing_gives_no_batch(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(3))
    assert arrow(whole_split(tmp_path, first_offset=3)) == []


class TestLegacy:
    """TV-40 to TV-52 in segments."""

    @pytest.mark.parametrize(
        "vector",
        [vector for vector in vectors("legacy.json") if "says" in vector],
        ids=lambda vector: vector["id"],
    )
    def test_tv_40_to_tv_52(self, tmp_path: Path, vector: dict[str, Any]) -> None:
        write_segment(tmp_path, bytes.fromhex(vector["hex"]))
        is_set = "wrapper" in vector["title"]
        found = read(whole_split(tmp_path))
        assert len(found) == (3 if is_set else 1)
        if is_set:
            assert [(row.offset, row.key, row.value) for row in found] == [
                (100 + at, b"k%d" % at, b"v%d" % at) for at in range(3)
            ]
            assert [row.offset for row in read(whole_split(tmp_path, end_offset=102))] == [100, 101]
        assert {row.timestamp_type for row in found} == {
            NO_TIMESTAMP_TYPE
            if "v0" in vector["title"]
            else LOG_APPEND_TIME
            if "LogAppendTime" in vector["title"]
            else CREATE_TIME
        }
        assert all(row.headers is None for row in found)

    def test_all_magics_in_one_segment(self, tmp_path: Path) -> None:
        builder = BatchBuilder(base_offset=4)
        builder.append(T0, b"two", None)
        mixed = [
            legacy_message(2, None, b"c", magic=0),
            legacy_message(3, None, b"d", attributes=8, timestamp_ms=T0 + 5),
        ]
        write_segment(
            tmp_path,
            legacy_message(0, b"zero", b"a", magic=0)
            + legacy_message(1, b"one", b"b", timestamp_ms=-1)
            + legacy_wrapper(3, mixed)
            + builder.build(),
        )
        found = read(whole_split(tmp_path))
        assert [row.offset for row in found] == [0, 1, 2, 3, 4]
        assert [row.timestamp_ms for row in found] == [-1, -1, -1, T0 + 5, T0]
        assert [row.timestamp_type for row in found] == [-1, 0, -1, 1, 0]

    @pytest.mark.parametrize(
        ("data", "rule"),
        [
            pytest.param(legacy_wrapper(9, []), "R-68", id="R-68 empty set"),
            pytest.param(
                legacy_wrapper(
                    9, [legacy_message(at, None, None, magic=0) for at in (0, 2**40)], magic=0
                ),
                "R-65",
                id="R-65 offsets far apart",
            ),
            pytest.param(
                legacy_wrapper(9, [legacy_message(0, None, None)[:12] + bytes(22)]),
                "R-68",
                id="R-68 checksum inside",
            ),
        ],
    )
    def test_unsound(self, tmp_path: Path, data: bytes, rule: str) -> None:
        path = write_segment(tmp_path, data)
        with pytest.raises(CorruptLog, match=f"{path} at 0: {rule}: "):
            read(whole_split(tmp_path))


class TestTransactions:
    """F-14: what read_committed leaves out; control batches never show."""

    @pytest.fixture
    def partition(self, tmp_path: Path) -> Partition:
        with Partition(tmp_path, segment_bytes=700) as written:
            for number in range(6):
                for producer_id in (1, 2):
                    records = numbered(3, first=10 * number)
                    written.append(records, producer_id=producer_id, is_transactional=True)
                written.append(numbered(2))
                written.end_transaction(1, commit=number % 2 == 0)
                written.end_transaction(2, commit=number % 3 == 0)
        return written

    def expected(self, partition: Partition) -> list[int]:
        """Eight records and two markers a round; producer 1 commits each second, 2 each third."""
        return [
            row.offset
            for row in partition.rows
            if (row.offset % 10 >= 3 or row.offset // 10 % 2 == 0)
            and (not 3 <= row.offset % 10 < 6 or row.offset // 10 % 3 == 0)
        ]

    @pytest.mark.parametrize("has_index", [True, False], ids=["S-16 index", "R-43 markers"])
    @pytest.mark.parametrize("part", range(4))
    def test_committed(self, partition: Partition, has_index: bool, part: int) -> None:
        if not has_index:
            for path in partition.directory.glob("*.txnindex"):
                path.unlink()
        whole = whole_split(partition.directory.parent)
        first, end = ((0, 60), (13, 44), (5, 8), (57, 60))[part]
        split = whole._replace(first_offset=first, end_offset=end)
        found = read(split, isolationLevel="read_committed")
        wanted = [offset for offset in self.expected(partition) if first <= offset < end]
        assert [row.offset for row in found] == wanted

    def test_uncommitted(self, partition: Partition) -> None:
        assert read(whole_split(partition.directory.parent)) == partition.rows


class TestDamage:
    @pytest.fixture
    def partition(self, tmp_path: Path) -> Partition:
        with Partition(tmp_path) as written:
            for number in range(5):
                written.append(numbered(10, first=number * 10), codec=Codec.LZ4)
        return written

    def test_onCorrupt(self, partition: Partition, caplog: pytest.LogCaptureFixture) -> None:
        (path,) = partition.directory.glob("*.log")
        damage(path, path.stat().st_size // 5 * 2 + 90)
        split = whole_split(partition.directory.parent)
        with pytest.raises(CorruptLog, match=r"\.log at [0-9]+: R-06: wrong checksum"):
            read(split)
        rest = [row for row in partition.rows if row.offset // 10 != 2]
        assert read(split, onCorrupt="skip") == rest
        assert len(caplog.messages) == 1
        assert read(split, onCorrupt="report") == rest
        assert caplog.messages[-1] == (
            f"split with corrupt places topic=topic partition=0 offsets=0-{1 << 62} places=1"
        )

    def test_a_batch_of_unsound_records_is_left_out_whole(self, tmp_path: Path) -> None:
        sound = raw_batch(record() + record(offset_delta=1), count=2)
        write_segment(tmp_path, sound + raw_batch(record(), count=2, base_offset=2))
        split = whole_split(tmp_path)
        with pytest.raises(CorruptLog, match=f"at {len(sound)}: R-37: "):
            read(split)
        assert [row.offset for row in read(split, onCorrupt="skip")] == [0, 1]

    def test_a_vanished_segment_by_failOnDataLoss(self, partition: Partition) -> None:
        split = whole_split(partition.directory.parent)
        for path in partition.directory.glob("*.log"):
            path.unlink()
        with pytest.raises(FileNotFoundError):
            read(split)
        assert read(split, failOnDataLoss="false") == []


@given(
    edits=st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), min_size=1, max_size=3)
)
@settings(max_examples=80, deadline=None)
def test_edited_bytes_give_valid_rows_or_a_report(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("log")
    builders = [BatchBuilder(base_offset=10 * at, codec=at % 3) for at in range(4)]
    for builder in builders:
        for new in numbered(10):
            builder.append(T0, new.key, new.value, [(b"h", b"v")])
    data = bytearray(b"".join(builder.build() for builder in builders))
    data += legacy_wrapper(41, [legacy_message(at, b"k", b"v") for at in range(2)])
    for position, byte in edits:
        data[position % len(data)] = byte
    write_segment(root, bytes(data))
    split = whole_split(root, end_offset=42)
    for check_crc in ("true", "false"):
        columns = "key,value,offset,headers"
        for found in arrow(split, onCorrupt="report", checkCrc=check_crc, columns=columns):
            assert all(0 <= offset < 42 for offset in found["offset"].to_pylist())


def test_r_90_batches_that_the_cleaner_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_columns, "BYTES_MAX", 0)
    empty = [
        raw_batch(b"", count=0, last_offset_delta=4, base_offset=5 * number) for number in range(3)
    ]
    write_segment(tmp_path, b"".join(empty) + raw_batch(record(), base_offset=15))
    assert [one.num_rows for one in arrow(whole_split(tmp_path))] == [1]


_MEASURE_PEAK = """
import resource, sys
from pathlib import Path
from tests.pipeline.reading import record_batches, IO, options
from tests.pipeline.stream_support import SmallReads
from tests.pipeline.support import whole_split
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
split, before = whole_split(Path(sys.argv[1])), peak()
rows = sum(found.num_rows for found in record_batches(IO, split, options()))
print(rows, peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_segment(tmp_path: Path) -> None:
    batch = bytearray(raw_batch(record(value=b"v" * 99) * 150, count=150))
    count = (256 << 20) // len(batch)
    with write_segment(tmp_path, b"").open("wb") as file:
        for number in range(count):
            batch[:8] = (150 * number).to_bytes(8, "big")
            file.write(batch)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE_PEAK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    rows, grown_bytes = map(int, done.stdout.split())
    assert rows == count * 150
    assert grown_bytes < 128 << 20


def test_reads_of_any_size_give_the_same(tmp_path: Path) -> None:
    with Partition(tmp_path, segment_bytes=3000) as partition:
        for number in range(20):
            partition.append(numbered(9), codec=number % 5)
    found = record_batches(SmallReads(64), whole_split(tmp_path), options())
    assert rows(found) == partition.rows


def test_another_storage(tmp_path: Path) -> None:
    with Partition(tmp_path, segment_bytes=3000) as partition:
        for _ in range(20):
            partition.append(numbered(9))
    storage = pa_fs.SubTreeFileSystem(str(tmp_path), pa_fs.LocalFileSystem())
    io = ArrowFileIO(storage)
    (log,) = find_partitions(io, "").values()
    ranges = tuple(SegmentRange(one, 0, one.size_bytes) for one in log.segments)
    split = Split("", log.topic, log.partition, ranges, 0, 180)
    assert rows(record_batches(io, split, options())) == partition.rows


def test_a_log_that_a_broker_wrote(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("written")
        broker.produce("written", "a", "b", key="k", headers=[("h", b"v")], timestamp_ms=T0)
    found = read(whole_split(tmp_path / "data" / "written-0"))
    assert found == [
        Row(b"k", value, "written", 0, at, T0, CREATE_TIME, (("h", b"v"),))
        for at, value in enumerate((b"a", b"b"))
    ]

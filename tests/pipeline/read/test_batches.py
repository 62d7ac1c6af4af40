"""R-02, R-04, R-06, S-05: what is read of segment files, whole and damaged."""

from pathlib import Path
from typing import Any, TypeAlias

import pytest

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import (
    Corruption,
    CorruptLog,
    raise_corruption,
)
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.legacy.messages import LegacyMessage
from broker_lite.record.records import iterate_records
from tests.pipeline.stream_support import SmallReads
from tests.pipeline.support import (
    Partition,
    cut,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)

IO = LocalFileIO()
Read: TypeAlias = tuple[list[LogBatch], list[Corruption]]
BATCHES, RECORDS, BATCH_BYTES = 12, 10, 431


def read(split: Split, io: FileIO = IO, **options: Any) -> Read:
    found: list[Corruption] = []
    options = {"check_crc": True, "on_corrupt": found.append} | options
    return list(read_batches(io, split, **options)), found


def offsets(found: list[LogBatch]) -> list[int]:
    return [one.batch.last_offset for one in found]


EVERY = list(range(RECORDS - 1, BATCHES * RECORDS, RECORDS))


class InPieces:
    """Tests that give the same however much is read at once."""

    @pytest.fixture(
        autouse=True,
        params=[1 << 20, 700, 1],
        ids=["one read", "some reads", "a read a batch"],
    )
    def give_io(self, request: pytest.FixtureRequest) -> None:
        self.io = SmallReads(request.param)

    def read(self, split: Split, **options: Any) -> Read:
        return read(split, self.io, **options)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """Batches of ten records, of one size, every second one in the index; one segment."""
    with Partition(tmp_path, index_interval_bytes=600) as written:
        for batch in range(BATCHES):
            written.append(numbered(RECORDS, first=batch * RECORDS))
    assert log_path(written).stat().st_size == BATCHES * BATCH_BYTES
    return written


def log_path(partition: Partition) -> Path:
    (path,) = partition.directory.glob("*.log")
    return path


class TestSound(InPieces):
    def test_every_batch_with_its_place(self, partition: Partition) -> None:
        found, corrupt = self.read(whole_split(partition.directory.parent))
        assert offsets(found) == EVERY
        assert [one.position for one in found] == [
            number * BATCH_BYTES for number in range(BATCHES)
        ]
        assert not corrupt

    def test_views_outlive_the_read(self, partition: Partition) -> None:
        found, _ = self.read(whole_split(partition.directory.parent))
        keys = [record.key for one in found for record in iterate_records(one.batch)]  # type: ignore[arg-type]
        assert keys == [row.key for row in partition.rows]

    @pytest.mark.parametrize(
        ("first", "end", "expected"),
        [(0, 1 << 62, EVERY), (15, 41, [19, 29, 39, 49]), (20, 40, [29, 39]), (40, 40, [])],
    )
    def test_only_batches_with_offsets_of_the_range(
        self, partition: Partition, first: int, end: int, expected: list[int]
    ) -> None:
        split = whole_split(partition.directory.parent, first_offset=first, end_offset=end)
        assert offsets(self.read(split)[0]) == expected

    def test_several_segments(self, tmp_path: Path) -> None:
        with Partition(tmp_path, segment_bytes=1500) as written:
            for batch in range(BATCHES):
                written.append(numbered(RECORDS, first=batch * RECORDS))
        found, _ = self.read(whole_split(tmp_path))
        assert offsets(found) == EVERY
        assert len({one.segment for one in found}) > 2

    def test_r_65_wrappers_whose_beginning_is_not_written_down(self, tmp_path: Path) -> None:
        wrappers = [
            legacy_wrapper(last, [legacy_message(at, None, b"v") for at in range(3)])
            for last in (2, 5, 8)
        ]
        write_segment(tmp_path, b"".join(wrappers) + legacy_message(9, None, b"v"))
        assert offsets(self.read(whole_split(tmp_path, first_offset=3, end_offset=7))[0]) == [5, 8]
        found, _ = self.read(whole_split(tmp_path))
        assert [type(one.batch) for one in found] == [LegacyMessage] * 4


def test_reads_are_bounded(partition: Partition) -> None:
    found, _ = read(whole_split(partition.directory.parent), SmallReads(1000))
    assert max(len(one.batch.buffer) for one in found) <= 1000


class TestTail(InPieces):
    @pytest.mark.parametrize("left_bytes", [1, 11, 16, 17, 60, 300])
    def test_a_torn_tail_is_the_end(self, partition: Partition, left_bytes: int) -> None:
        cut(log_path(partition), (BATCHES - 1) * BATCH_BYTES + left_bytes)
        split = whole_split(partition.directory.parent, end_offset=110)
        found, corrupt = self.read(split)
        assert (offsets(found), corrupt) == (EVERY[:-1], [])

    def test_r_04_a_batch_that_should_be_there_is_damage(self, partition: Partition) -> None:
        cut(log_path(partition), (BATCHES - 1) * BATCH_BYTES + 300)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert offsets(found) == EVERY[:-1]
        assert [(one.rule, one.position) for one in corrupt] == [
            ("R-04", (BATCHES - 1) * BATCH_BYTES)
        ]

    def test_a_file_that_shrank(self, partition: Partition) -> None:
        split = whole_split(partition.directory.parent, end_offset=120)
        cut(log_path(partition), 3 * BATCH_BYTES)
        found, corrupt = self.read(split)
        assert offsets(found) == EVERY[:3]
        assert corrupt[0].rule == "R-04"
        assert corrupt[0].position == 3 * BATCH_BYTES

    def test_s_05_zeros_of_a_file_that_was_extended_ahead(self, partition: Partition) -> None:
        path = log_path(partition)
        path.write_bytes(path.read_bytes() + bytes(5000))
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert (offsets(found), corrupt) == (EVERY, [])


BASE_OFFSET_LOW_BYTE, LENGTH_HIGH_BYTE, LENGTH_LOW_BYTES, MAGIC, CONTENT = 7, 8, 10, 16, 80
LAST_OFFSET_DELTA = 23


class TestDamage(InPieces):
    """The fifth batch is damaged; entries of the index lead to every second one."""

    @pytest.mark.parametrize(
        ("byte", "xor", "rule", "lost"),
        [
            pytest.param(CONTENT, 1, "R-06", [49], id="R-06 content"),
            pytest.param(MAGIC, 3, "R-06", [49], id="R-06 magic 1"),
            pytest.param(MAGIC, 7, "R-02", [49], id="R-02 magic 5"),
            pytest.param(LENGTH_HIGH_BYTE, 0x80, "R-04", [49], id="R-04 below 0"),
            pytest.param(LENGTH_HIGH_BYTE, 0x40, "R-04", [49], id="R-04 too long to be one"),
            pytest.param(LENGTH_HIGH_BYTE, 0x01, "R-04", [49], id="R-04 longer than the file"),
        ],
    )
    def test_what_follows_is_read(
        self, partition: Partition, byte: int, xor: int, rule: str, lost: list[int]
    ) -> None:
        position = 4 * BATCH_BYTES
        damage(log_path(partition), position + byte, xor)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert [(one.rule, one.position) for one in corrupt] == [(rule, position)]
        missing = [offset for offset in EVERY if offset not in offsets(found)]
        assert missing[: len(lost)] == lost
        assert len(missing) <= 2

    def test_r_06_a_wrong_length_leads_nowhere_and_the_index_back(
        self, partition: Partition
    ) -> None:
        position = 4 * BATCH_BYTES
        damage(log_path(partition), position + LENGTH_LOW_BYTES, 1)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert corrupt[0].rule == "R-06"
        assert len([offset for offset in EVERY if offset not in offsets(found)]) <= 2

    @pytest.mark.parametrize(
        ("byte", "xor"), [(MAGIC, 7), (LENGTH_HIGH_BYTE, 0x80), (LENGTH_HIGH_BYTE, 1), (11, 1)]
    )
    def test_r_04_without_an_index_what_follows_is_found(
        self, partition: Partition, byte: int, xor: int
    ) -> None:
        for path in partition.directory.glob("*.index"):
            path.unlink()
        damage(log_path(partition), 4 * BATCH_BYTES + byte, xor)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert offsets(found) == EVERY[:4] + EVERY[5:]
        assert corrupt[0].position == 4 * BATCH_BYTES
        assert all(one.position < 5 * BATCH_BYTES for one in corrupt)
        assert corrupt[0].text.endswith("with offsets 40 to 49")

    @pytest.mark.parametrize("xor", [0x80, 0x20, 0x02], ids=["too high", "too low", "a bit"])
    def test_s_05_only_the_batch_with_a_wrong_offset_is_left_out(
        self, partition: Partition, xor: int
    ) -> None:
        damage(log_path(partition), 4 * BATCH_BYTES + BASE_OFFSET_LOW_BYTE, xor)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=1 << 40))
        assert [(one.rule, one.position) for one in corrupt] == [("S-05", 4 * BATCH_BYTES)]
        assert offsets(found) == EVERY[:4] + EVERY[5:]

    def test_s_05_batches_once_more(self, partition: Partition) -> None:
        path = log_path(partition)
        path.write_bytes(path.read_bytes() * 2)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=1 << 40))
        assert offsets(found) == EVERY
        assert {one.rule for one in corrupt} == {"S-05"}

    def test_s_05_an_offset_of_the_segment_behind(self, tmp_path: Path) -> None:
        with Partition(tmp_path) as partition:
            for _ in range(2):
                partition.append(numbered(1))
                partition.append(numbered(1))
                partition.roll()
        first = min(partition.directory.glob("*.log"))
        second_batch = first.stat().st_size // 2
        damage(first, second_batch + BASE_OFFSET_LOW_BYTE, 0x02)
        found, corrupt = self.read(whole_split(tmp_path, end_offset=4))
        assert [(one.rule, one.position) for one in corrupt] == [("S-05", second_batch)]
        assert offsets(found) == [0, 2, 3]

    def test_r_06_a_last_offset_in_front_of_the_first(self, partition: Partition) -> None:
        damage(log_path(partition), 4 * BATCH_BYTES + LAST_OFFSET_DELTA, 0x80)
        split = whole_split(partition.directory.parent, end_offset=120)
        found, corrupt = self.read(split)
        assert [(one.rule, one.position) for one in corrupt] == [("R-06", 4 * BATCH_BYTES)]
        assert offsets(found) == EVERY[:4] + EVERY[5:]
        assert [one.rule for one in self.read(split, check_crc=False)[1]] == ["S-05"]

    def test_s_05_a_high_offset_does_not_end_the_read(self, partition: Partition) -> None:
        damage(log_path(partition), 4 * BATCH_BYTES, 0x01)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert [(one.rule, one.position) for one in corrupt] == [("S-05", 4 * BATCH_BYTES)]
        assert offsets(found) == EVERY[:4] + EVERY[5:]

    def test_s_05_a_high_offset_at_the_end(self, partition: Partition) -> None:
        damage(log_path(partition), 11 * BATCH_BYTES, 0x01)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert [(one.rule, one.position) for one in corrupt] == [("S-05", 11 * BATCH_BYTES)]
        assert offsets(found) == EVERY[:11]

    @pytest.mark.parametrize(
        ("byte", "xor"),
        [
            pytest.param(CONTENT, 1, id="R-06 content"),
            pytest.param(MAGIC, 3, id="R-06 magic 1"),
            pytest.param(MAGIC, 7, id="R-02 magic 5"),
            pytest.param(LENGTH_HIGH_BYTE, 0x40, id="R-04 too long to be one"),
            pytest.param(LENGTH_LOW_BYTES + 1, 1, id="R-04 one byte less"),
            pytest.param(BASE_OFFSET_LOW_BYTE, 0x80, id="S-05 another offset"),
        ],
    )
    @pytest.mark.parametrize("is_front_sound", [True, False])
    def test_s_05_the_last_batch_is_confirmed_by_the_damaged_one_in_front(
        self, partition: Partition, byte: int, xor: int, *, is_front_sound: bool
    ) -> None:
        path = log_path(partition)
        if not is_front_sound:
            damage(path, 9 * BATCH_BYTES + CONTENT)
        damage(path, 10 * BATCH_BYTES + byte, xor)
        split = whole_split(partition.directory.parent, end_offset=120)._replace(cleaned_end=0)
        expected = EVERY[:9] + EVERY[9:10] * is_front_sound + EVERY[11:]
        assert offsets(self.read(split)[0]) == expected

    def test_s_05_a_last_batch_behind_garbage_is_not_confirmed(self, partition: Partition) -> None:
        path = log_path(partition)
        for byte in range(20, 30):
            damage(path, 10 * BATCH_BYTES + byte)
        damage(path, 10 * BATCH_BYTES)
        split = whole_split(partition.directory.parent, end_offset=120)._replace(cleaned_end=0)
        found, corrupt = self.read(split)
        assert offsets(found) == EVERY[:10]
        assert (corrupt[-1].rule, corrupt[-1].position) == ("S-05", 11 * BATCH_BYTES)

    def test_s_05_a_damaged_batch_does_not_contradict_a_sound_one(
        self, partition: Partition
    ) -> None:
        """Two batches of a compacted log change places, and then the length of one is damaged."""
        path = log_path(partition)
        data = path.read_bytes()
        fifth, sixth, behind = (number * BATCH_BYTES for number in (4, 5, 6))
        path.write_bytes(data[:fifth] + data[sixth:behind] + data[fifth:sixth] + data[behind:])
        damage(path, sixth + LENGTH_LOW_BYTES + 1, 1)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert offsets(found) == EVERY[:4] + EVERY[5:]
        assert {sixth <= one.position < behind for one in corrupt} == {True}

    @pytest.mark.parametrize("with_damage", [False, True])
    def test_s_05_of_two_batches_that_changed_places_the_second_is_read(
        self, partition: Partition, *, with_damage: bool
    ) -> None:
        path = log_path(partition)
        data = path.read_bytes()
        fifth, sixth, behind = (number * BATCH_BYTES for number in (4, 5, 6))
        path.write_bytes(data[:fifth] + data[sixth:behind] + data[fifth:sixth] + data[behind:])
        if with_damage:
            damage(path, fifth + CONTENT)
        split = whole_split(partition.directory.parent, end_offset=120)._replace(cleaned_end=0)
        found, corrupt = self.read(split)
        assert offsets(found) == EVERY[:5] + EVERY[6:]
        assert corrupt[0].position == fifth

    def test_s_05_a_batch_over_a_damaged_one_is_not_passed_over(self, partition: Partition) -> None:
        """The damaged one seems to be followed by a second copy of the one in front of it."""
        path = log_path(partition)
        data = path.read_bytes()
        fifth, sixth, seventh, eighth = (
            data[number * BATCH_BYTES : (number + 1) * BATCH_BYTES] for number in (4, 5, 6, 7)
        )
        long = bytearray(fifth + seventh)
        long[8:12] = (len(long) - 12).to_bytes(4, "big")
        front = data[: 4 * BATCH_BYTES]
        path.write_bytes(front + sixth + long + sixth + eighth)
        split = whole_split(partition.directory.parent, end_offset=80)._replace(cleaned_end=0)
        assert offsets(self.read(split)[0]) == [*EVERY[:4], *EVERY[5:8]]

    def test_s_05_an_offset_of_the_segment_behind_contradicts_nothing(self, tmp_path: Path) -> None:
        with Partition(tmp_path) as partition:
            for _ in range(2):
                for _ in range(3):
                    partition.append(numbered(1))
                partition.roll()
        first = min(partition.directory.glob("*.log"))
        batch_bytes = first.stat().st_size // 3
        damage(first, 0)
        damage(first, 1)
        damage(first, LENGTH_HIGH_BYTE)
        damage(first, 2 * batch_bytes + BASE_OFFSET_LOW_BYTE, 0x20)
        found, corrupt = self.read(whole_split(tmp_path, end_offset=6)._replace(cleaned_end=0))
        assert offsets(found) == [1, 3, 4, 5]
        assert [one.position for one in corrupt] == [0, 2 * batch_bytes]

    def test_a_place_is_told_once(self, partition: Partition) -> None:
        damage(log_path(partition), 3 * BATCH_BYTES + CONTENT)
        damage(log_path(partition), 4 * BATCH_BYTES + MAGIC, 7)
        found, corrupt = self.read(whole_split(partition.directory.parent, end_offset=120))
        assert [one.position for one in corrupt] == [3 * BATCH_BYTES, 4 * BATCH_BYTES]
        assert offsets(found) == EVERY[:3] + EVERY[5:]

    def test_what_is_not_wanted_is_not_checked(self, partition: Partition) -> None:
        damage(log_path(partition), 4 * BATCH_BYTES + CONTENT)
        split = whole_split(partition.directory.parent, first_offset=60, end_offset=80)
        assert self.read(split)[1] == []

    def test_checksums_are_not_looked_at_unless_asked(self, partition: Partition) -> None:
        damage(log_path(partition), 4 * BATCH_BYTES + CONTENT)
        split = whole_split(partition.directory.parent)
        assert offsets(self.read(split, check_crc=False)[0]) == EVERY

    def test_fail_names_file_position_and_rule(self, partition: Partition) -> None:
        position = 4 * BATCH_BYTES
        damage(log_path(partition), position + CONTENT)
        with pytest.raises(CorruptLog) as caught:
            self.read(whole_split(partition.directory.parent), on_corrupt=raise_corruption)
        expected = f"corrupt log: {log_path(partition)} at {position}: R-06: wrong checksum"
        assert str(caught.value).startswith(expected)


def test_r_06_lengths_below_the_smallest(tmp_path: Path) -> None:
    whole = legacy_message(0, b"k", b"v")
    short = bytearray(legacy_message(1, None, None))
    short[8:12] = (21).to_bytes(4, "big")
    write_segment(tmp_path, whole + short)
    found, corrupt = read(whole_split(tmp_path))
    assert offsets(found) == [0]
    assert [(one.rule, one.position) for one in corrupt] == [("R-04", len(whole))]


def test_a_vanished_segment(partition: Partition, caplog: pytest.LogCaptureFixture) -> None:
    split, path = whole_split(partition.directory.parent), log_path(partition)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(split)
    assert read(split, skip_missing=True) == ([], [])
    assert str(path) in caplog.text


def test_a_range_from_the_middle(partition: Partition) -> None:
    whole = whole_split(partition.directory.parent)
    (part,) = whole.ranges
    middle = SegmentRange(part.segment, 3 * BATCH_BYTES, 6 * BATCH_BYTES)
    assert offsets(read(whole._replace(ranges=(middle,)))[0]) == EVERY[3:6]

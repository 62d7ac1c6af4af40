import os
from pathlib import Path

import pytest

from broker_lite.pipeline.files.indexes import OffsetEntry
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.positions import (
    Boundary,
    batch_starts,
    boundary,
    earliest,
    offset_for_timestamp,
)
from tests.pipeline.files.filled import IO, fill, log_of
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    damage,
    legacy_message,
    legacy_wrapper,
    write_segment,
)


class TestEnds:
    def test_a_log_without_segments(self):
        log = PartitionLog("topic", 0, "/d", (), 7)
        assert earliest(log) == 7
        assert offset_for_timestamp(IO, log, 0) is None

    @pytest.mark.parametrize(("checkpoint", "start"), [(0, 100), (100, 100), (117, 117)])
    def test_s70_the_start(self, tmp_path, checkpoint, start):
        write_segment(tmp_path, b"", base_offset=100)
        assert earliest(log_of(tmp_path)._replace(checkpointed_start=checkpoint)) == start


class TestBoundary:
    def test_s20_every_offset_has_its_place(self, tmp_path):
        places = fill(tmp_path)
        log = log_of(tmp_path)
        for offset in range(200):
            place = max(place for place in places if place[2] <= offset)
            number, position, base_offset = place
            segment = log.segments[number]
            found = boundary(IO, segment, offset)
            if offset == segment.base_offset:
                assert found == Boundary(0, 0, offset, offset)
                continue
            same = [p for p in places if p[0] == number and p[1] > position]
            end = same[0][1] if same else segment.size_bytes
            left_end = end if base_offset < offset else position
            assert found[:3] == (position, left_end, base_offset)
            assert found.lowest_offset <= base_offset

    def test_an_offset_behind_the_last_batch(self, tmp_path):
        fill(tmp_path)
        segment = log_of(tmp_path).segments[-1]
        size_bytes = segment.size_bytes
        assert boundary(IO, segment, 200) == Boundary(size_bytes, size_bytes, 200, 200)
        Path(segment.log_path).write_bytes(Path(segment.log_path).read_bytes() + b"torn")
        assert boundary(IO, segment, 200) == Boundary(size_bytes, size_bytes, 200, 200)
        # what cannot be found may be in what cannot be walked
        assert boundary(IO, segment, 201) == Boundary(size_bytes, size_bytes + 4, 201, 200)
        assert boundary(IO, segment, 201, size_bytes) == Boundary(size_bytes, size_bytes, 201, 200)

    def test_an_offset_in_a_gap_is_reached_by_the_batch_behind_it(self, tmp_path):
        places = fill(tmp_path, batches=3, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        path = Path(segment.log_path)
        data = path.read_bytes()
        path.write_bytes(data[: places[1][1]] + data[places[2][1] :])
        assert boundary(IO, segment, 7) == Boundary(places[1][1], places[1][1], 10, 5)

    @pytest.mark.parametrize("entry", [b"\0\0\0\x01\0\0\x01\0", b"\0\0\0\x04\0\0\0\x07"])
    def test_an_index_that_lies_changes_nothing(self, tmp_path, entry):
        places = fill(tmp_path, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        Path(segment.stem + ".index").write_bytes(entry * 3)
        assert boundary(IO, segment, 101).start_position == places[20][1]

    def test_no_checksum_covers_an_offset_so_the_next_batch_has_to_agree(self, tmp_path):
        places = fill(tmp_path, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        os.unlink(segment.stem + ".index")
        damage(Path(segment.log_path), places[3][1] + 4)
        found = boundary(IO, segment, 101)
        assert found.start_position == places[20][1]

    def test_s05_a_batch_that_fits_between_its_neighbours_has_no_lower_offsets(self, tmp_path):
        """A read from its midst does not see the batch in front, whose offsets it overlaps."""
        places = fill(tmp_path, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        _, position, base_offset = places[4]
        assert boundary(IO, segment, base_offset + 2).lowest_offset == base_offset
        damage(Path(segment.log_path), position + 7, base_offset ^ base_offset - 1)
        found = boundary(IO, segment, base_offset + 2)
        assert (found.base_offset, found.lowest_offset) == (base_offset - 1, base_offset)
        limits = places[5][1], places[5][2]
        assert boundary(IO, segment, base_offset + 2, *limits) == found

    def test_batch_starts_are_confirmed(self, tmp_path):
        """S-10: by the entry, or by the offset of the batch behind."""
        places = fill(tmp_path, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        (_, first, _), (_, second, _) = places[2], places[4]
        entries = [
            OffsetEntry(14, first),
            OffsetEntry(30, second),
            OffsetEntry(14, second),
            OffsetEntry(14, first + 1),
            OffsetEntry(14, -1),
            OffsetEntry(14, 1 << 30),
        ]
        assert batch_starts(IO, segment, entries, segment.size_bytes) == [(first, 10), (second, 20)]
        damage(Path(segment.log_path), first + 7, 1)
        assert batch_starts(IO, segment, entries, segment.size_bytes) == [(second, 20)]

    def test_messages_of_old_formats_are_no_places_to_cut(self, tmp_path):
        write_segment(tmp_path, legacy_message(0, None, b"v") + legacy_message(1, None, b"v"))
        segment = log_of(tmp_path).segments[0]
        assert batch_starts(IO, segment, [OffsetEntry(0, 0)], segment.size_bytes) == []
        assert boundary(IO, segment, 1).start_position == segment.size_bytes // 2


class TestTimestamps:
    """S-23."""

    def test_s23_every_record_is_found_by_its_timestamp(self, tmp_path):
        fill(tmp_path)
        log = log_of(tmp_path)
        for offset in (0, 1, 4, 5, 77, 120, 199):
            assert offset_for_timestamp(IO, log, T0 + offset) == offset
        assert offset_for_timestamp(IO, log, 0) == 0
        assert offset_for_timestamp(IO, log, T0 + 200) is None

    @pytest.mark.parametrize("suffix", [".index", ".timeindex"])
    @pytest.mark.parametrize("content", [None, b"", b"\0" * 2_400, b"\x01" * 240])
    def test_s23_without_an_index_or_with_a_lie(self, tmp_path, suffix, content):
        fill(tmp_path)
        for segment in log_of(tmp_path).segments:
            path = Path(segment.stem + suffix)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)
        log = log_of(tmp_path)
        for offset in (0, 77, 199):
            assert offset_for_timestamp(IO, log, T0 + offset) == offset
        assert offset_for_timestamp(IO, log, T0 + 200) is None

    def test_s23_a_time_index_that_says_too_little_is_found_out(self, tmp_path):
        fill(tmp_path)
        log = log_of(tmp_path)
        for segment in log.segments:
            path = Path(segment.stem + ".timeindex")
            path.write_bytes(b"".join(((5).to_bytes(8, "big"), (3).to_bytes(4, "big"))))
        assert offset_for_timestamp(IO, log, T0 + 77) == 77

    def test_s23_the_first_one_in_disorder(self, tmp_path):
        with Partition(tmp_path) as partition:
            for stamps in ((5, 9, 2), (1, 1, 1), (7, 12, 3)):
                partition.append([NewRecord(timestamp_ms=T0 + stamp) for stamp in stamps])
        log = log_of(tmp_path)
        found = [offset_for_timestamp(IO, log, T0 + stamp) for stamp in (0, 6, 9, 10, 13)]
        assert found == [0, 1, 1, 7, None]

    def test_s23_records_below_the_start_do_not_count_but_their_segment_does(self, tmp_path):
        with Partition(tmp_path) as partition:
            partition.append([NewRecord(timestamp_ms=T0 + 9), NewRecord(timestamp_ms=T0 + 5)])
            partition.append([NewRecord(timestamp_ms=T0 + 4)])
            partition.roll()
            partition.append([NewRecord(timestamp_ms=T0 + 9)])
        log = log_of(tmp_path)
        assert offset_for_timestamp(IO, log._replace(checkpointed_start=1), T0 + 5) == 1
        assert offset_for_timestamp(IO, log._replace(checkpointed_start=1), T0 + 6) is None
        assert offset_for_timestamp(IO, log._replace(checkpointed_start=2), T0 + 5) is None
        assert offset_for_timestamp(IO, log._replace(checkpointed_start=2), T0 + 3) == 2

    def test_s23_r62_old_formats(self, tmp_path):
        inner = [legacy_message(index, None, b"v", timestamp_ms=T0 + index) for index in range(3)]
        write_segment(
            tmp_path,
            legacy_message(0, None, b"v", magic=0)
            + legacy_message(1, None, b"v", timestamp_ms=T0 - 5)
            + legacy_wrapper(4, inner),
        )
        log = log_of(tmp_path)
        assert offset_for_timestamp(IO, log, T0 - 5) == 1
        assert offset_for_timestamp(IO, log, T0 - 4) == 2
        assert offset_for_timestamp(IO, log, T0) == 2

    def test_a_damaged_batch_answers_with_its_first_offset(self, tmp_path):
        places = fill(tmp_path, segment_bytes=1 << 20)
        log = log_of(tmp_path)
        damage(Path(log.segments[0].log_path), places[3][1] + 70)
        assert offset_for_timestamp(IO, log, T0 + 18) == 15

    def test_a_batch_with_a_checksum_but_no_records_answers_too(self, tmp_path, caplog):
        bad = legacy_message(4, None, b"no gzip", timestamp_ms=T0, attributes=1)
        write_segment(tmp_path, legacy_message(3, None, b"v", timestamp_ms=T0 - 1) + bad)
        assert offset_for_timestamp(IO, log_of(tmp_path), T0) == 4
        assert "records of a batch cannot be read" in caplog.text

    @pytest.mark.parametrize("with_index", [True, False])
    @pytest.mark.parametrize(("with_times", "found"), [(True, 77), (False, 0)])
    def test_r04_what_is_damaged_may_be_the_first(self, tmp_path, with_index, with_times, found):
        """A true entry of the time index tells that nothing in front of it is as young."""
        places = fill(tmp_path, segment_bytes=1 << 20)
        segment = log_of(tmp_path).segments[0]
        if not with_index:
            os.unlink(segment.stem + ".index")
        for _, position, _ in places[:3]:
            damage(Path(segment.log_path), position + 16)
        if not with_times:
            os.unlink(segment.stem + ".timeindex")
        assert offset_for_timestamp(IO, log_of(tmp_path), T0 + 77) == found

    def test_an_entry_below_the_segment_is_a_lie(self, tmp_path):
        fill(tmp_path)
        log = log_of(tmp_path)
        for segment in log.segments:
            entry = (T0).to_bytes(8, "big") + (-1).to_bytes(4, "big", signed=True)
            Path(segment.stem + ".timeindex").write_bytes(entry)
        assert offset_for_timestamp(IO, log, T0 + 77) == 77

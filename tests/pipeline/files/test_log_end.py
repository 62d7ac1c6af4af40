"""R-04, S-05, S-43: where a log ends, with a torn tail and with damage."""

import os
from pathlib import Path

import pytest

from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.log_end import LogEnd, log_end
from tests.pipeline.files.filled import IO, fill, log_of
from tests.pipeline.support import cut, damage, write_segment


def test_a_log_without_segments_ends_at_its_start(tmp_path):
    assert log_end(IO, PartitionLog("topic", 0, "/d", (), 7)) == LogEnd(7, 0)


def test_an_empty_segment_ends_at_its_base(tmp_path):
    write_segment(tmp_path, b"", base_offset=100)
    assert log_end(IO, log_of(tmp_path)) == LogEnd(100, 0)


class TestEnds:
    @pytest.mark.parametrize("with_index", [True, False])
    def test_the_end_is_behind_the_last_batch(self, tmp_path, with_index):
        fill(tmp_path)
        log = log_of(tmp_path)
        if not with_index:
            os.unlink(log.segments[-1].stem + ".index")
        assert log_end(IO, log) == LogEnd(200, log.segments[-1].size_bytes)

    @pytest.mark.parametrize("kept_bytes", [1, 12, 17, 61, 80, -1])
    def test_s43_a_torn_tail_is_left_out(self, tmp_path, kept_bytes):
        places = fill(tmp_path)
        _, position, base_offset = places[-1]
        log = log_of(tmp_path)
        end = position + kept_bytes if kept_bytes > 0 else log.segments[-1].size_bytes - 1
        cut(Path(log.segments[-1].log_path), end)
        assert log_end(IO, log_of(tmp_path)) == LogEnd(base_offset, position)

    def test_s05_zeros_behind_the_last_batch_are_left_out(self, tmp_path):
        fill(tmp_path)
        log = log_of(tmp_path)
        path = Path(log.segments[-1].log_path)
        path.write_bytes(path.read_bytes() + b"\0" * 100_000)
        index = Path(log.segments[-1].stem + ".index")
        index.write_bytes(index.read_bytes() + b"\0" * 8_000)
        assert log_end(IO, log_of(tmp_path)) == LogEnd(200, log.segments[-1].size_bytes)

    def test_s43_batches_that_end_in_zeros_are_torn(self, tmp_path):
        places = fill(tmp_path)
        _, position, base_offset = places[-2]
        path = Path(log_of(tmp_path).segments[-1].log_path)
        data = bytearray(path.read_bytes())
        for _, start, _ in places[-2:]:
            size_bytes = 12 + int.from_bytes(data[start + 8 : start + 12], "big")
            data[start + 70 : start + size_bytes] = bytes(size_bytes - 70)
        path.write_bytes(data)
        assert log_end(IO, log_of(tmp_path)) == LogEnd(base_offset, position)

    def test_a_torn_batch_alone_leaves_an_empty_segment(self, tmp_path):
        fill(tmp_path, batches=1)
        path = Path(log_of(tmp_path).segments[0].log_path)
        data = path.read_bytes()
        path.write_bytes(data[:70] + bytes(len(data) - 70))
        assert log_end(IO, log_of(tmp_path)) == LogEnd(0, 0)

    def test_r06_damage_is_no_torn_tail(self, tmp_path):
        places = fill(tmp_path)
        log = log_of(tmp_path)
        damage(Path(log.segments[-1].log_path), places[-1][1] + 70)
        assert log_end(IO, log) == LogEnd(200, log.segments[-1].size_bytes)

    @pytest.mark.parametrize("torn_bytes", [0, 1, 7, 8, 30, 61, 80])
    def test_r04_a_damaged_length_in_front_of_a_torn_tail_is_told(self, tmp_path, torn_bytes):
        places = fill(tmp_path, segment_bytes=1 << 20)
        (_, position, base_offset), (_, last, _) = places[-2:]
        path = Path(log_of(tmp_path).segments[-1].log_path)
        data = bytearray(path.read_bytes()[: last + torn_bytes])
        data[position + 9] ^= 1  # 65,536 bytes more
        path.write_bytes(data)
        for index in tmp_path.rglob("*.*index"):
            index.unlink()
        assert log_end(IO, log_of(tmp_path)) == LogEnd(base_offset + 1, len(data))

    def test_r04_a_damaged_length_in_front_of_what_is_indexed_is_no_torn_tail(self, tmp_path):
        places = fill(tmp_path, segment_bytes=1 << 20)
        log = log_of(tmp_path)
        path = Path(log.segments[-1].log_path)
        for _, position, _ in places[1:]:
            damage(path, position + 8)
        end = log_end(IO, log)
        assert end.position == log.segments[-1].size_bytes
        assert 190 <= end.offset <= 200

    @pytest.mark.parametrize(
        "lie", [b"\x7f\xff\xff\xff\0\0\0\x05", b"\0\0\0\x09\0\0\0\x05", b"\xff" * 8]
    )
    def test_an_index_that_lies_changes_nothing(self, tmp_path, lie):
        fill(tmp_path)
        log = log_of(tmp_path)
        index = Path(log.segments[-1].stem + ".index")
        index.write_bytes(lie * 4)
        assert log_end(IO, log) == LogEnd(200, log.segments[-1].size_bytes)

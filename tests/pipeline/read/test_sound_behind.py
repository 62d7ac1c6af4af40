"""R-04, S-05: what was found behind damage once is not searched again; what damaged headers say."""

from pathlib import Path

from broker_lite.pipeline.files.file_io import Lasting, ReadableFile
from broker_lite.pipeline.read.sound_behind import SoundBehind
from broker_lite.pipeline.read.split import SegmentRange
from tests.pipeline.files.filled import IO, fill, log_of
from tests.pipeline.support import damage


class WatchedFile(Lasting):
    """A small file that notes where each search begins to look for data."""

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self.begins: list[int] = []

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self._file.read_at(position, size_bytes)

    def next_data(self, position: int) -> int:
        self.begins.append(position)
        return self._file.next_data(position)


def test_a_search_is_done_once(tmp_path: Path) -> None:
    places = fill(tmp_path, batches=5, segment_bytes=1 << 20)
    segment = log_of(tmp_path).segments[0]
    second, third = places[1][1], places[2][1]
    with IO.open(segment.log_path) as opened:
        file = WatchedFile(opened)
        behind = SoundBehind(file, SegmentRange(segment, 0, file.size_bytes))
        for begin in (1, 5, second):
            found = behind.find(begin, 0, with_old=False)
            assert found is not None
            assert found.position == second
        assert file.begins == [1]
        found = behind.find(second + 1, 0, with_old=False)
        assert found is not None
        assert found.position == third
        assert behind.find(places[-1][1] + 1, 0, with_old=False) is None
        assert behind.find(places[-1][1] + 2, 0, with_old=False) is None
    assert file.begins == [1, second + 1, places[-1][1] + 1]


def test_s_05_what_follows_and_what_a_damaged_header_says(tmp_path: Path) -> None:
    places = fill(tmp_path, batches=3, segment_bytes=1 << 20)
    segment = log_of(tmp_path).segments[0]
    second = places[1][1]
    damage(Path(segment.log_path), second + 8)  # its length
    with IO.open(segment.log_path) as file:
        behind = SoundBehind(file, SegmentRange(segment, 0, file.size_bytes))
        assert behind.follows(places[2][1], 10)
        assert not behind.follows(places[2][1], 11)
        assert not behind.follows(second, 5)
        assert behind.follows(file.size_bytes, 15)
        assert behind.offsets_at(second) == (5, 10)
        assert behind.offsets_at(file.size_bytes - 7)[0] != 10

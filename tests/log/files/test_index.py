"""S-10 to S-14, S-21: the two sorted indexes, in memory and in their files."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.index import OffsetIndex, TimeIndex


def new_index(path: Path) -> OffsetIndex:
    index = OffsetIndex(str(path), FileCache(4))
    index.create()
    return index


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, 2000), max_size=1300), st.integers(0, 150_000))
def test_s21_memory_and_file_answer_alike(
    tmp_path_factory: pytest.TempPathFactory, keys: set[int], target: int
) -> None:
    """Also with entries on several pages; a key is looked for, and a position."""
    index = new_index(tmp_path_factory.mktemp("i") / "x.index")
    entries = [(key, position * 70) for position, key in enumerate(sorted(keys), start=1)]
    for entry in entries:
        index.append(*entry)
    key = target // 70
    at_most = max((e for e in entries if e[0] <= key), default=None)
    behind = min((e for e in entries if e[1] >= target), default=None)
    start = at_most[1] if at_most is not None else 0
    following = min((e[1] for e in entries if e[0] > key), default=0)
    for is_in_memory in (True, False):
        assert index.find_at_most(key) == at_most
        assert index.positions_around(key) == (start, following if is_in_memory else 0)
        assert index.find_at_or_behind(target) == behind
        assert index.last_entry() == max(entries, default=None)
        index.close()
    index.open_for_append()
    index.open_for_append()
    index.append(3000, 9999)
    index.save()
    data = Path(index.path).read_bytes()
    assert len(data) == index.size_bytes == (len(entries) + 1) * 8
    assert data[-8:] == (3000).to_bytes(4, "big") + (9999).to_bytes(4, "big")


def test_s10_entries_rise(tmp_path: Path) -> None:
    index = new_index(tmp_path / "x.index")
    index.append(5, 70)
    with pytest.raises(ValueError, match="does not come after"):
        index.append(5, 140)
    index.close()
    with pytest.raises(ValueError, match="closed"):
        index.append(6, 140)


def test_s15_a_file_comes_with_the_first_entry_or_at_the_close(tmp_path: Path) -> None:
    indexes = [new_index(tmp_path / name) for name in ("a", "b", "c")]
    for index in indexes:
        assert index.find_at_most(5) is None
        assert index.find_at_or_behind(5) is None
    indexes[0].append(1, 2)
    assert not list(tmp_path.iterdir())
    indexes[0].save()
    indexes[1].close()
    indexes[2].make_file()
    indexes[2].make_file()
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        "a": 8,
        "b": 0,
        "c": 0,
    }
    indexes[1].create()
    assert not (tmp_path / "b").exists()


def test_a_file_that_went_before_anything_was_written_is_made_anew(tmp_path: Path) -> None:
    """A thread may make the file while the first append of the log removes it."""
    path = tmp_path / "x.index"
    index = new_index(path)
    index.make_file()
    path.unlink()
    index.append(1, 70)
    index.close()
    assert path.read_bytes() == bytes((0, 0, 0, 1, 0, 0, 0, 70))
    index.open_for_append()
    index.append(2, 140)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        index.save()


def test_entries_reach_the_file_in_chunks(tmp_path: Path) -> None:
    index = new_index(tmp_path / "x.index")
    for number in range(600):
        index.append(number + 1, number)
    assert Path(index.path).stat().st_size == 512 * 8
    index.flush()
    index.flush()
    assert Path(index.path).stat().st_size == 600 * 8


def test_a_chunk_that_cannot_be_written_is_written_later(tmp_path: Path) -> None:
    index = new_index(tmp_path / "x.index")
    Path(index.path).mkdir()
    for number in range(513):
        index.append(number + 1, number)
    with pytest.raises(OSError, match="Is a directory"):
        index.save()
    Path(index.path).rmdir()
    index.close()
    assert index.entry(512) == (513, 512)
    assert Path(index.path).stat().st_size == 513 * 8


def test_s14_the_time_index_takes_newer_timestamps_only(tmp_path: Path) -> None:
    index = TimeIndex(str(tmp_path / "x.timeindex"), FileCache(4))
    index.create()
    for timestamp, offset in ((-1, 0), (0, 0), (5, 1), (5, 2), (4, 3), (6, 3)):
        index.append_if_newer(timestamp, offset)
    index.close()
    assert [index.entry(i) for i in range(index.count)] == [(0, 0), (5, 1), (6, 3)]
    assert index.find_at_most(-1) is None


def test_f14_the_entry_at_a_position_is_found(tmp_path: Path) -> None:
    """F-14: in memory and in the file, for each position beside and at an entry's."""
    index = new_index(tmp_path / "x.index")
    for number in range(1, 4):
        index.append(number, 100 * number)
    for _ in range(2):
        found = [index.find_at_or_behind(position) for position in (99, 100, 101, 300, 301)]
        assert found == [(1, 100), (1, 100), (2, 200), (3, 300), None]
        index.close()

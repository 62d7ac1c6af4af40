"""F-15, S-54: open files are bounded, and a slice keeps its file open."""

import os
import resource
from contextlib import suppress
from pathlib import Path

import pytest

from broker_lite.log.directory.manager import LogManager
from broker_lite.log.files.file_cache import FileCache
from tests.log.logs import descriptors_left


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    names = [str(tmp_path / str(number)) for number in range(5)]
    for name in names:
        Path(name).write_text(name)
    return names


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_the_least_recently_used_file_is_closed(paths: list[str]) -> None:
    cache = FileCache(2)
    first, second = cache.get(paths[0]), cache.get(paths[1]).fd
    assert cache.get(paths[0]) is first
    third = cache.get(paths[2]).fd
    assert len(cache) == 2
    assert cache.get(paths[0]) is first
    assert second == third or not is_open(second)


def test_an_evicted_file_that_is_held_stays_open(paths: list[str]) -> None:
    cache = FileCache(1)
    held = cache.get(paths[0])
    cache.get(paths[1])
    assert held.read_at(0, 100) == paths[0].encode()
    fd = held.fd
    del held
    assert not is_open(fd)


def test_discard(paths: list[str], tmp_path: Path) -> None:
    cache = FileCache(9)
    for path in paths:
        cache.get(path)
    cache.discard(paths[0])
    cache.discard(paths[0])
    cache.discard_directory(str(tmp_path / "other"))
    assert len(cache) == 4
    cache.discard_directory(str(tmp_path))
    assert len(cache) == 0


def test_create_empties_a_file(paths: list[str]) -> None:
    cache = FileCache(9)
    file = cache.create(paths[0])
    file.write(b"abc", 0)
    assert cache.get(paths[0]) is file
    assert Path(paths[0]).read_bytes() == b"abc"
    with pytest.raises(FileNotFoundError):
        cache.get(paths[0] + "none")


def test_the_cache_gives_way_when_descriptors_run_out(paths: list[str]) -> None:
    cache = FileCache(9)
    cache.get(paths[0])
    taken = []
    with descriptors_left(2):
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        assert cache.get(paths[1]).read_at(0, 1) == b"/"
        assert len(cache) == 1
    for fd in taken:
        os.close(fd)


def test_limits() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FileCache(0)
    assert 16 <= FileCache().open_max <= 16384


@pytest.mark.parametrize(("soft", "open_max"), [(64, 16), (400, 100)])
def test_a_quarter_of_the_descriptors_is_for_the_cache(soft: int, open_max: int) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, limits[1]))
    try:
        assert FileCache().open_max == open_max
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_files_of_answers_that_are_not_sent_count(paths: list[str]) -> None:
    cache = FileCache(4)
    assert cache.lendable_count == 2
    held = [cache.get(path) for path in paths[:3]]
    assert (len(cache), cache.lent_count, cache.lendable_count) == (3, 0, 2)
    cache.get(paths[3])
    cache.get(paths[4])  # those that are held leave the cache, and stay open
    assert (len(cache), cache.lent_count, cache.lendable_count) == (1, 3, 0)
    held.clear()
    assert cache.lent_count == 0
    assert cache.lendable_count == 2


def test_a_file_that_is_removed_while_an_answer_refers_to_it_counts(paths: list[str]) -> None:
    cache = FileCache(4)
    held = cache.get(paths[0])
    cache.discard(paths[0])
    assert cache.lent_count == 1
    assert held.read_at(0, 1) == b"/"
    del held
    assert cache.lent_count == 0


def test_s32_a_file_opened_by_its_name_is_the_one_in_the_cache(paths: list[str]) -> None:
    cache = FileCache(2)
    first, second = Path(paths[0]), Path(paths[1])
    assert cache.named(paths[0]).fd != cache.get(paths[0]).fd
    assert len(cache) == 1
    second.replace(first)
    with pytest.raises(FileNotFoundError, match="replaced by another file"):
        cache.named(paths[0])
    first.unlink()
    with pytest.raises(FileNotFoundError, match="No such file"):
        cache.named(paths[0])


def test_half_of_the_open_files_may_be_in_answers(tmp_path: Path) -> None:
    manager = LogManager(tmp_path, node_id=1, now_ms=lambda: 0, file_cache=FileCache(10))
    assert manager.sent_files_max == 5

"""S-04, S-18, S-51, S-52, S-54, S-65, S-89: segments leave a log."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import SWAP_SUFFIX
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.log.removal import SegmentRemoval
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    append,
    batch_bytes,
    content,
    end_transaction,
    open_log,
)

BATCH_BYTES = len(batch_bytes())
DELAY_MS = 1000
BASES = [f"{base:020d}" for base in range(9)]


class Scene:
    """A log with a batch in each segment, and what removes them; the time is `now_ms`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "t-0"
        self.config = LogConfig(
            segment_bytes=BATCH_BYTES, segment_ms=FOREVER_MS, file_delete_delay_ms=DELAY_MS
        )
        self.now_ms = NOW_MS
        self.cache = FileCache()
        self.removal = SegmentRemoval(self.cache, lambda: self.now_ms)
        self.log = open_log(self.directory, self.config, cache=self.cache)

    def append(self, count: int) -> Log:
        for _ in range(count):
            append(self.log)
        return self.log

    def reopened(self) -> Log:
        """The log as it is after a crash."""
        return open_log(self.directory, self.config, clean=False)

    def names(self, *suffixes: str) -> list[str]:
        return sorted(name for name in os.listdir(self.directory) if name.endswith(suffixes))

    def unlink_due(self, after_ms: int) -> None:
        self.now_ms += after_ms
        assert self.removal.has_due() == (after_ms >= DELAY_MS)
        self.removal.unlink_due()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    assert not made.removal.has_due()


def test_s54_files_are_renamed_at_once_and_unlinked_after_the_delay(scene: Scene) -> None:
    log = scene.append(4)
    read = read_log(log, 0, max_bytes=9999)
    assert not scene.removal.has_due()
    scene.removal.remove_oldest(log, 2)
    suffixes = (".index", ".log", ".timeindex")
    deleted = [base + suffix + ".deleted" for base in BASES[:2] for suffix in suffixes]
    assert scene.names(".deleted") == sorted([*deleted, BASES[1] + ".snapshot.deleted"])
    assert scene.names(".log") == [base + ".log" for base in BASES[2:4]]
    assert scene.names(".snapshot") == [base + ".snapshot" for base in BASES[2:4]]
    scene.unlink_due(DELAY_MS - 1)
    assert len(scene.names(".deleted")) == 7
    scene.unlink_due(DELAY_MS)
    assert not scene.names(".deleted")
    assert content(read)[:BATCH_BYTES][61:] == batch_bytes()[61:]


def test_s52_offsets_epochs_and_waiters_follow(scene: Scene) -> None:
    log = scene.append(2)
    log.become_leader(3)
    scene.append(2)
    woken: list[tuple[int, int]] = []
    log.visibility.add_waiter(
        lambda: woken.append((log.log_start_offset, log.segments.all[0].base_offset))
    )
    scene.removal.remove_oldest(log, 3)
    assert woken == [(3, 3)]
    assert log.epochs.entries == [(3, 3)]
    with pytest.raises(errors.OffsetOutOfRange):
        read_log(log, 2, max_bytes=100)
    assert len(content(read_log(log, 3, max_bytes=9999))) == BATCH_BYTES
    again = scene.reopened()
    assert (again.log_start_offset, again.log_end_offset) == (3, 4)
    assert again.epochs.entries == [(3, 3)]
    assert not scene.names(".deleted")
    scene.unlink_due(DELAY_MS)


@pytest.mark.parametrize("moment", ["roll", "close"])
def test_s65_the_file_of_the_epochs_follows_later(scene: Scene, moment: str) -> None:
    """Until then the old one holds entries that the next load drops."""
    log = scene.append(2)
    log.become_leader(3)
    scene.append(2)
    scene.removal.remove_oldest(log, 3)
    path = scene.directory / "leader-epoch-checkpoint"
    assert path.read_text() == "0\n2\n0 0\n3 2\n"
    if moment == "roll":
        scene.append(1)
    else:
        log.close()
    assert path.read_text() == "0\n1\n3 3\n"
    scene.unlink_due(DELAY_MS)


def test_s51_all_segments(scene: Scene) -> None:
    log = scene.append(3)
    scene.removal.remove_oldest(log, 3)
    assert (log.log_start_offset, log.segments.size_bytes) == (3, 0)
    assert scene.names(".log") == [BASES[3] + ".log"]
    scene.append(2)
    assert [segment.base_offset for segment in log.segments.all] == [3, 4]
    assert scene.reopened().log_end_offset == 5
    scene.unlink_due(DELAY_MS)


def test_s18_producers_are_known_after_their_segments_went(scene: Scene) -> None:
    """The newest snapshot tells them, also after a crash; an open transaction stays open."""
    log = scene.log
    for sequence in range(3):
        append(log, NOW_MS, producer=(7, 0, sequence))
    append(log, NOW_MS, producer=(8, 0, 0), transactional=True)
    scene.append(2)
    scene.removal.remove_oldest(log, 5)
    assert (log.log_start_offset, log.last_stable_offset) == (5, 5)
    again = scene.reopened()
    assert append(again, NOW_MS, producer=(7, 0, 2)).duplicate
    assert append(again, NOW_MS, producer=(7, 0, 3)).base_offset == 6
    assert again.last_stable_offset == 5
    assert end_transaction(again, 8, commit=False) == 7
    assert again.last_stable_offset == 8
    scene.unlink_due(DELAY_MS)


def test_s16_a_transaction_index_goes_with_its_segment(scene: Scene) -> None:
    log = scene.log
    append(log, producer=(8, 0, 0), transactional=True)
    end_transaction(log, 8, commit=False)
    scene.append(1)
    scene.removal.remove_oldest(log, 2)
    assert BASES[1] + ".txnindex.deleted" in scene.names(".deleted")
    scene.unlink_due(DELAY_MS)


def test_an_obstacle_at_a_log_file_stops_it(scene: Scene) -> None:
    """What went before it is gone; the rest stays, and goes the next time."""
    log = scene.append(4)
    obstacle = scene.directory / (BASES[1] + ".log.deleted")
    obstacle.mkdir()
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.remove_oldest(log, 3)
    assert log.log_start_offset == 1
    assert len(content(read_log(log, 1, max_bytes=9999))) == BATCH_BYTES
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.remove_oldest(log, 2)
    assert log.log_start_offset == 1
    obstacle.rmdir()
    scene.removal.remove_oldest(log, 2)
    assert log.log_start_offset == 3
    scene.unlink_due(DELAY_MS)


def test_an_obstacle_beside_it_is_logged(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    log = scene.append(2)
    (scene.directory / (BASES[0] + ".index.deleted")).mkdir()
    scene.removal.remove_oldest(log, 1)
    assert log.log_start_offset == 1
    assert "file not set aside" in caplog.text
    (scene.directory / (BASES[0] + ".index.deleted")).rmdir()
    assert scene.reopened().log_start_offset == 1
    assert not scene.names(BASES[0] + ".index")
    scene.unlink_due(DELAY_MS)


def test_a_file_that_somebody_else_removed(scene: Scene) -> None:
    log = scene.append(2)
    os.unlink(log.segments.all[0].path)
    scene.removal.remove_oldest(log, 1)
    assert log.log_start_offset == 1
    scene.unlink_due(DELAY_MS)


def test_files_that_cannot_be_unlinked_stay(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    log = scene.append(2)
    scene.removal.remove_oldest(log, 1)
    aside = scene.directory / (BASES[0] + ".log.deleted")
    aside.unlink()
    aside.mkdir()
    scene.unlink_due(DELAY_MS)
    assert "files stay until the next start" in caplog.text
    aside.rmdir()


def test_a_directory_that_went_with_its_topic(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    log = scene.append(2)
    scene.removal.remove_oldest(log, 1)
    scene.directory.rename(scene.directory.with_name("gone"))
    scene.unlink_due(DELAY_MS)
    assert not caplog.text


def test_a_thread_takes_some_at_a_time(scene: Scene) -> None:
    log = scene.append(20)
    for _ in range(18):
        scene.removal.remove_oldest(log, 1)
    scene.unlink_due(DELAY_MS)
    assert scene.removal.has_due()
    scene.removal.unlink_due()


def test_s32_a_flush_that_finds_a_removed_segment_goes_on(scene: Scene) -> None:
    """The thread has its list of segments from before."""
    log = scene.append(3)
    segment = log.segments.all[0]
    path = segment.path
    scene.removal.remove_oldest(log, 1)
    segment.flush()  # by its new name
    segment.path = path
    segment.flush()
    segment.is_removed = False
    with pytest.raises(FileNotFoundError):
        segment.flush()
    scene.unlink_due(DELAY_MS)


def test_s54_nothing_is_removed_of_a_deleted_log(scene: Scene) -> None:
    """Its files' names may belong to a new topic."""
    log = scene.append(2)
    log.delete()
    before = scene.names("")
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.remove_oldest(log, 1)
    assert scene.names("") == before


# -- the cleaner


def cleaned(scene: Scene, base_offset: int, sources: int) -> LogSegment:
    """Make one segment of some, as .swap files: the batches as they are."""
    data = b"".join(
        Path(segment.path).read_bytes()
        for segment in scene.log.segments.all
        if base_offset <= segment.base_offset < base_offset + sources
    )
    stem = str(scene.directory / BASES[base_offset])
    for suffix, part in ((".log", data), (".index", b""), (".timeindex", b"")):
        Path(stem + suffix + SWAP_SUFFIX).write_bytes(part)
    segment = LogSegment(
        str(scene.directory), base_offset, scene.cache, created_ms=NOW_MS, size_bytes=len(data)
    )
    segment.forget_max_timestamp()
    return segment


def test_s89_segments_are_replaced(scene: Scene) -> None:
    log = scene.append(6)
    before = read_log(log, 1, max_bytes=100)
    expected = content(before)
    first, second = cleaned(scene, 0, 2), cleaned(scene, 3, 2)
    scene.removal.replace(log, log.segments.all[:2], [first])
    scene.removal.replace(log, log.segments.all[2:4], [second])
    assert [segment.base_offset for segment in log.segments.all] == [0, 2, 3, 5]
    assert scene.names(".log") == [BASES[base] + ".log" for base in (0, 2, 3, 5)]
    assert scene.names(".snapshot") == [BASES[base] + ".snapshot" for base in (2, 3, 5)]
    assert not scene.names(".swap")
    assert content(before) == content(read_log(log, 1, max_bytes=100)) == expected
    offsets = [
        read_log(log, offset, max_bytes=BATCH_BYTES).slice is not None for offset in range(7)
    ]
    assert offsets == [True] * 6 + [False]
    assert log.log_start_offset == 0
    assert scene.reopened().log_end_offset == 6
    scene.unlink_due(DELAY_MS)
    assert not scene.names(".deleted")


def test_s89_a_source_that_keeps_its_name_leaves_the_swap_to_the_next_load(scene: Scene) -> None:
    log = scene.append(4)
    (scene.directory / (BASES[1] + ".log.deleted")).mkdir()
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.replace(log, log.segments.all[:2], [cleaned(scene, 0, 2)])
    assert [segment.base_offset for segment in log.segments.all] == [0, 2, 3]
    assert len(content(read_log(log, 1, max_bytes=BATCH_BYTES))) == BATCH_BYTES
    assert scene.names(".log.swap") == [BASES[0] + ".log.swap"]
    (scene.directory / (BASES[1] + ".log.deleted")).rmdir()
    again = scene.reopened()
    assert [segment.base_offset for segment in again.segments.all] == [0, 2, 3]
    assert again.log_end_offset == 4
    scene.unlink_due(DELAY_MS)


def test_s89_a_swap_that_keeps_its_name_is_served_and_can_go(scene: Scene) -> None:
    log = scene.append(4)
    segment = cleaned(scene, 0, 2)
    (scene.directory / (BASES[0] + ".log")).rename(scene.directory / "kept")
    (scene.directory / (BASES[0] + ".log")).mkdir()
    log.segments.all[0].path = str(scene.directory / "kept")
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.replace(log, log.segments.all[:2], [segment])
    (scene.directory / (BASES[0] + ".log")).rmdir()
    assert len(content(read_log(log, 0, max_bytes=9999))) == 2 * BATCH_BYTES
    scene.removal.remove_oldest(log, 1)
    assert log.log_start_offset == 2
    assert BASES[0] + ".log.deleted" in scene.names(".deleted")
    scene.unlink_due(DELAY_MS)


def test_s89_nothing_is_replaced_in_a_deleted_log(scene: Scene) -> None:
    log = scene.append(3)
    segment = cleaned(scene, 0, 2)
    log.delete()
    with pytest.raises(errors.KafkaStorageError):
        scene.removal.replace(log, log.segments.all[:2], [segment])
    assert len(scene.names(".swap")) == 3

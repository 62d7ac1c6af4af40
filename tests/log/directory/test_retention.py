"""S-50 to S-53, S-90: which segments retention takes, and the check of all logs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.directory.idle import IdleLog, IdleSegment
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.retention import due_segments
from broker_lite.log.read import read_log
from broker_lite.log.removal import REMOVED_AT_A_TIME
from tests.log.logs import FOREVER_MS, NOW_MS, append, batch_bytes, content, segment_bases

ID = bytes(range(1, 17))
BATCH_BYTES = len(batch_bytes())
DAY_MS = 86_400_000
COMPACT = {"cleanup_delete": False, "cleanup_compact": True}


def config(**fields: object) -> LogConfig:
    """Each batch a segment; nothing is too old or too much but by `fields`."""
    settings = {"segment_bytes": BATCH_BYTES, "segment_ms": FOREVER_MS, "retention_ms": -1}
    return LogConfig(**{**settings, **fields})  # type: ignore[arg-type]


def opened(path: Path, now_ms: Callable[[], int] = lambda: NOW_MS) -> LogManager:
    manager = LogManager(path, node_id=1, now_ms=now_ms)
    manager.open()
    return manager


def started(path: Path, partitions: int = 1, **fields: object) -> LogManager:
    manager = opened(path)
    for partition in range(partitions):
        manager.create("t", partition, ID, config(**fields))
    manager.recover()
    return manager


def check(manager: LogManager) -> int:
    """Run one check; give the number of the loop's turns in it."""
    for keys in manager.retention.unread():
        manager.retention.read(keys)
    return len(list(manager.retention.steps()))


def idle(ages_ms: list[int], log_start_offset: int = 0, **fields: object) -> IdleLog:
    """Segments of 100 bytes and 10 offsets; the last is active."""
    segments = [IdleSegment(10 * i, 100, NOW_MS - age) for i, age in enumerate(ages_ms)]
    end = 10 * len(ages_ms)
    return IdleLog(tuple(segments), config(**fields), log_start_offset, end, end)


NEW = [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("log", "count", "reason"),
    [
        pytest.param(idle(NEW), 0, "time", id="S-50: nothing is due"),
        pytest.param(idle(NEW, 9), 0, "time", id="S-50 rule 1: inside the first segment"),
        pytest.param(idle(NEW, 10), 1, "log start", id="S-50 rule 1: up to its end"),
        pytest.param(idle(NEW, 40), 3, "log start", id="S-50 rule 1: the active segment stays"),
        pytest.param(idle(NEW, 20, **COMPACT), 2, "log start", id="S-90 rule 1"),
        pytest.param(
            idle([9, 9, 9], retention_ms=1, retention_bytes=0, **COMPACT),
            0,
            "log start",
            id="S-90: no other rule",
        ),
        pytest.param(
            idle([9, 9, 9], retention_ms=1, cleanup_compact=True), 3, "time", id="S-90 both"
        ),
        pytest.param(idle(NEW, retention_bytes=301), 0, "time", id="S-50 rule 2: not below"),
        pytest.param(idle(NEW, retention_bytes=300), 1, "size", id="S-50 rule 2: exactly"),
        pytest.param(idle(NEW, retention_bytes=299), 1, "size", id="S-50 rule 2: one over"),
        pytest.param(idle(NEW, retention_bytes=0), 4, "size", id="S-51 rule 2: all"),
        pytest.param(idle(NEW, retention_bytes=401), 0, "time", id="S-50 rule 2: no surplus"),
        pytest.param(idle([7, 6, 5, 4], retention_ms=5), 2, "time", id="S-50 rule 3"),
        pytest.param(idle([9, 9], retention_ms=8), 2, "time", id="S-51 rule 3: all"),
        pytest.param(idle([9, -9, 9], retention_ms=8), 1, "time", id="S-50: a future timestamp"),
        pytest.param(
            idle([7, 5, 5, 5], 10, retention_bytes=200, retention_ms=4),
            4,
            "log start",
            id="S-50: all rules, one after the other",
        ),
        pytest.param(
            idle([9, 9, 9], 10, retention_bytes=200, retention_ms=-1),
            1,
            "log start",
            id="S-50: what rule 1 takes does not count for rule 2",
        ),
    ],
)
def test_s50_which_segments_are_due(log: IdleLog, count: int, reason: str) -> None:
    due = due_segments(log, NOW_MS)
    assert due.segment_count == count
    assert not count or due.reason == reason


@pytest.mark.parametrize(("high_watermark", "count"), [(40, 4), (39, 3), (30, 3), (29, 2), (9, 0)])
def test_s50_nothing_at_or_above_the_high_watermark_goes(high_watermark: int, count: int) -> None:
    log = idle([9] * 4, retention_ms=1)._replace(high_watermark=high_watermark)
    assert due_segments(log, NOW_MS).segment_count == count


def test_s50_an_empty_active_segment_stays() -> None:
    log = idle([9, 9], retention_ms=1)
    segments = (log.segments[0], log.segments[1]._replace(size_bytes=0))
    assert due_segments(log._replace(segments=segments), NOW_MS).segment_count == 1
    assert due_segments(log._replace(segments=segments[1:]), NOW_MS).segment_count == 0


# -- the check


def test_s50_time_retention_of_a_log_in_use(tmp_path: Path) -> None:
    manager = started(tmp_path, retention_ms=DAY_MS)
    log = manager.get("t", 0)
    for age_ms in (3 * DAY_MS, 2 * DAY_MS, DAY_MS, 0):
        append(log, NOW_MS - age_ms)
    woken: list[int] = []
    log.visibility.add_waiter(lambda: woken.append(log.log_start_offset))
    check(manager)
    assert (log.log_start_offset, log.log_end_offset, woken) == (2, 4, [2])
    assert segment_bases(tmp_path / "t-0") == [2, 3]
    assert check(manager) == 0
    manager.close(sync=False)


def test_s51_an_active_segment_goes_and_another_is_begun(tmp_path: Path) -> None:
    manager = started(tmp_path, retention_ms=DAY_MS)
    log = manager.get("t", 0)
    for _ in range(3):
        append(log, NOW_MS - 2 * DAY_MS)
    check(manager)
    assert (log.log_start_offset, log.log_end_offset, log.segments.size_bytes) == (3, 3, 0)
    assert segment_bases(tmp_path / "t-0") == [3]
    assert append(log, NOW_MS).base_offset == 3
    manager.close(sync=False)
    again = started(tmp_path)
    assert (again.get("t", 0).log_start_offset, again.get("t", 0).log_end_offset) == (3, 4)
    again.close(sync=False)


def test_s53_what_delete_records_left_goes_with_whole_segments(tmp_path: Path) -> None:
    manager = started(tmp_path, segment_bytes=2 * BATCH_BYTES)
    log = manager.get("t", 0)
    for _ in range(6):
        append(log)
    assert log.delete_records_before(3) == 3
    check(manager)
    assert (log.log_start_offset, segment_bases(tmp_path / "t-0")) == (3, [2, 4])
    assert len(content(read_log(log, 3, max_bytes=9999))) == BATCH_BYTES
    manager.checkpoints.write_log_starts()
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\nt 0 3\n"
    log.delete_records_before(-1)
    check(manager)
    assert (log.log_start_offset, segment_bases(tmp_path / "t-0")) == (6, [4])
    manager.close(sync=False)


def test_s46_a_crash_between_a_deletion_and_the_checkpoint(tmp_path: Path) -> None:
    """The checkpoint names an older offset; what no file tells is as before, as in Kafka."""
    manager = started(tmp_path)
    log = manager.get("t", 0)
    for _ in range(6):
        append(log)
    log.delete_records_before(3)
    manager.checkpoints.write_log_starts()
    manager.update_config("t", 1, config(retention_bytes=2 * BATCH_BYTES))
    check(manager)
    assert log.log_start_offset == 4
    log.delete_records_before(5)
    manager.abandon()
    again = started(tmp_path)
    assert not again.was_clean
    assert (again.get("t", 0).log_start_offset, again.get("t", 0).log_end_offset) == (4, 6)
    assert len(content(read_log(again.get("t", 0), 4, max_bytes=9999))) == BATCH_BYTES
    assert not list((tmp_path / "t-0").glob("*.deleted"))
    again.close(sync=False)


def test_many_segments_go_in_steps(tmp_path: Path) -> None:
    manager = started(tmp_path, retention_bytes=0)
    log = manager.get("t", 0)
    for _ in range(40):
        append(log)
    starts = [log.log_start_offset for _ in manager.retention.steps()]
    assert starts == [*range(REMOVED_AT_A_TIME, 40, REMOVED_AT_A_TIME), 40]
    assert segment_bases(tmp_path / "t-0") == [40]
    manager.close(sync=False)


def test_a_check_of_many_logs_gives_the_loop_its_turn(tmp_path: Path) -> None:
    manager = started(tmp_path, 300)
    assert check(manager) == 2
    manager.close(sync=False)


def restarted(path: Path, partitions: int, **fields: object) -> LogManager:
    """A broker that has not loaded any of the logs that another one left, four segments each."""
    manager = started(path, partitions)
    for partition in range(partitions):
        for age_ms in (9, 6, 3, 0):
            append(manager.get("t", partition), NOW_MS - age_ms)
    manager.close(sync=False)
    return started(path, partitions, **fields)


def test_s50_logs_that_nobody_uses_are_loaded_only_when_they_are_due(tmp_path: Path) -> None:
    manager = restarted(tmp_path, 2, retention_ms=7)
    manager.update_config("t", 1, config(retention_ms=10))
    check(manager)
    assert [log.partition for log in manager.loaded_logs()] == [1]
    assert manager.get("t", 1).log_start_offset == 1
    assert segment_bases(tmp_path / "t-0") == [0, 1, 2, 3]
    assert not list(manager.retention.unread())
    manager.update_config("t", 2, config(retention_bytes=2 * BATCH_BYTES))
    check(manager)
    assert segment_bases(tmp_path / "t-0") == segment_bases(tmp_path / "t-1") == [2, 3]
    manager.close(sync=False)


def test_s53_an_idle_log_whose_start_was_moved(tmp_path: Path) -> None:
    manager = restarted(tmp_path, 1)
    manager.get("t", 0).delete_records_before(2)
    manager.close(sync=False)
    again = started(tmp_path, **COMPACT)
    check(again)
    assert segment_bases(tmp_path / "t-0") == [2, 3]
    again.close(sync=False)


def test_a_directory_that_cannot_be_read_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = restarted(tmp_path, 2, retention_ms=7)
    os.rename(tmp_path / "t-0", tmp_path / "elsewhere")
    check(manager)
    assert "retention did not check topic=t-0" in caplog.text
    assert segment_bases(tmp_path / "t-1") == [1, 2, 3]
    os.rename(tmp_path / "elsewhere", tmp_path / "t-0")
    check(manager)
    assert segment_bases(tmp_path / "t-0") == [1, 2, 3]
    manager.close(sync=False)


def test_one_log_that_fails_does_not_keep_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its oldest file cannot be renamed, as with EIO."""
    manager = restarted(tmp_path, 2, retention_ms=7)
    obstacle = tmp_path / "t-0" / "00000000000000000000.log.deleted"
    manager.get("t", 0)
    obstacle.mkdir()
    check(manager)
    assert "retention failed topic=t-0" in caplog.text
    assert manager.get("t", 0).log_start_offset == 0
    assert manager.get("t", 1).log_start_offset == 1
    obstacle.rmdir()
    check(manager)
    assert manager.get("t", 0).log_start_offset == 1
    manager.close(sync=False)


def test_a_topic_that_is_deleted_and_made_anew_during_a_check(tmp_path: Path) -> None:
    manager = started(tmp_path, 2, retention_bytes=0)
    for partition in range(2):
        for _ in range(20):
            append(manager.get("t", partition))
    steps = manager.retention.steps()
    next(steps)
    for partition in range(2):
        manager.delete("t", partition)
        manager.create("t", partition, bytes(range(2, 18)), config())
        append(manager.get("t", partition))
    assert list(steps) == []
    assert segment_bases(tmp_path / "t-0") == segment_bases(tmp_path / "t-1") == [0]
    manager.close(sync=False)


def test_partitions_that_go_between_finding_and_reading(tmp_path: Path) -> None:
    manager = restarted(tmp_path, 2)
    (keys,) = manager.retention.unread()
    manager.delete("t", 0)
    manager.get("t", 1)
    manager.retention.read(keys)
    assert check(manager) == 0
    manager.close(sync=False)


def test_a_log_that_is_being_cleaned_is_left_alone(tmp_path: Path) -> None:
    manager = started(tmp_path, retention_bytes=0)
    log = manager.get("t", 0)
    append(log)
    log.segments.is_being_cleaned = True
    check(manager)
    assert log.log_start_offset == 0
    log.segments.is_being_cleaned = False
    check(manager)
    assert log.log_start_offset == 1
    manager.close(sync=False)

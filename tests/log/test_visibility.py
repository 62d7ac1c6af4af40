"""What readers see while records are not on disk yet, and who is told when they are."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.read import read_log
from broker_lite.log.replicas import Lag, Replicas
from broker_lite.log.visibility import Visibility
from broker_lite.record.control import EndTransactionMarker
from tests.log.held import Outcome, held_log
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    append,
    content,
    in_the_way,
    open_log,
    put_back,
)
from tests.support.disk import Disk


def test_s32_a_record_is_seen_when_it_is_on_disk(tmp_path: Path) -> None:
    log, flushes = held_log(tmp_path)
    woken: list[int] = []
    log.visibility.add_waiter(lambda: woken.append(log.high_watermark))
    told: list[Outcome] = []
    append(log)
    log.visibility.when_flushed(told.append)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (1, 0, 0)
    assert content(read_log(log, 0, max_bytes=1000)) == b""
    assert (flushes.asked, woken, told) == ([log.visibility], [], [])
    log.flusher.flush_records(1)
    assert not log.visibility.flush_ended(1, None)
    assert (log.high_watermark, log.flusher.recovery_point, woken, told) == (1, 1, [1], [None])
    assert content(read_log(log, 0, max_bytes=1000))
    assert not flushes.commits.held


def test_s32_who_comes_meanwhile_shares_the_next_flush(tmp_path: Path) -> None:
    log, _ = held_log(tmp_path)
    told: list[Outcome] = []
    append(log)
    for _ in range(3):
        append(log)
        log.visibility.when_flushed(told.append)
    log.flusher.flush_records(1)
    assert log.visibility.flush_ended(1, None)  # more is held back
    assert (log.high_watermark, told) == (1, [])
    log.flusher.flush_records(4)
    assert not log.visibility.flush_ended(4, None)
    assert (log.high_watermark, told) == (4, [None, None, None])


def test_s32_unflushed_messages_are_counted_from_the_last_flush(tmp_path: Path) -> None:
    log, flushes = held_log(tmp_path, flush_messages=3)
    seen = []
    for _ in range(2):
        append(log)
        seen.append(log.high_watermark)
    append(log)
    assert (seen, log.high_watermark, len(flushes.asked)) == ([1, 2], 2, 1)
    append(log)  # of itself not due, but not to be seen before the one in front of it
    assert (log.high_watermark, len(flushes.asked)) == (2, 1)
    log.flusher.flush_records(3)
    assert not log.visibility.flush_ended(3, None)
    assert log.high_watermark == 4
    append(log)
    assert log.high_watermark == 5
    append(log)
    assert (log.high_watermark, len(flushes.asked)) == (5, 2)


def test_s32_new_settings_count_from_the_next_append_on(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.update_config(LogConfig(flush_messages=2, segment_ms=FOREVER_MS))
    assert log.flusher.recovery_point == 0
    append(log)
    assert log.flusher.recovery_point == 2
    log.update_config(LogConfig(segment_ms=FOREVER_MS))
    append(log)
    assert (log.flusher.recovery_point, log.high_watermark) == (2, 3)


def test_s32_a_marker_ends_its_transaction_when_it_is_on_disk(tmp_path: Path) -> None:
    """V-64: the last stable offset follows the high watermark."""
    log, _ = held_log(tmp_path, flush_messages=2)
    append(log, producer=(7, 0, 0), transactional=True)
    log.append_control(7, 0, EndTransactionMarker(True, 0), now_ms=NOW_MS)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (2, 1, 0)
    log.flusher.flush_records(2)
    log.visibility.flush_ended(2, None)
    assert (log.high_watermark, log.last_stable_offset) == (2, 2)


def test_s32_without_anybody_who_flushes_the_append_does(tmp_path: Path, disk: Disk) -> None:
    log, flushes = held_log(tmp_path)
    flushes.commits.start = None
    append(log)
    assert (log.flusher.recovery_point, log.high_watermark) == (1, 1)
    disk.refuse("fsync")
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    assert (log.high_watermark, log.flusher.offline_reason is None) == (1, False)


def test_s32_only_an_error_of_the_disk_takes_a_log_offline(tmp_path: Path, disk: Disk) -> None:
    """After any other error of a flush, the next append tries it again."""
    log, flushes = held_log(tmp_path)
    offline: list[Visibility] = []
    flushes.commits.went_offline = offline.append
    append(log)
    log.visibility.flush_ended(1, errors.KafkaStorageError())
    assert (offline, flushes.commits.failures) == ([], 1)
    disk.refuse("fdatasync")
    with pytest.raises(errors.KafkaStorageError) as caught:
        log.flusher.flush_records(1)
    log.visibility.flush_ended(1, caught.value)
    assert (offline, flushes.commits.failures) == ([log.visibility], 2)


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "flushed-by-the-append"])
def test_s32_a_duplicate_of_what_could_not_be_flushed_is_flushed(
    tmp_path: Path, is_served: bool
) -> None:
    """V-58: the producer sends the batch again, and is told that it is there when it is."""
    log, flushes = held_log(tmp_path)
    append(log, producer=(7, 0, 0))
    log.flusher.flush_records(1)
    log.visibility.flush_ended(1, None)
    if not is_served:
        flushes.commits.start = None
    away = tmp_path / "away"
    path = Path(log.segments.active.path)
    in_the_way(path, away)
    if is_served:
        append(log, producer=(7, 0, 1))
        log.visibility.flush_ended(2, errors.KafkaStorageError())
    else:
        with pytest.raises(errors.KafkaStorageError):
            append(log, producer=(7, 0, 1))
    put_back(path, away)
    flushes.asked.clear()
    assert append(log, producer=(7, 0, 0)).duplicate
    assert log.high_watermark == 1  # that one was on disk
    assert append(log, producer=(7, 0, 1)).duplicate
    if is_served:
        assert (flushes.asked, log.visibility in flushes.commits.held) == ([log.visibility], True)
        log.flusher.flush_records(2)
        log.visibility.flush_ended(2, None)
    assert (log.high_watermark, log.flusher.recovery_point) == (2, 2)


def test_s32_who_has_nothing_to_wait_for_goes_on(tmp_path: Path) -> None:
    log, flushes = held_log(tmp_path)
    told: list[Outcome] = []
    log.visibility.when_flushed(told.append)
    woken: list[None] = []

    def waiter() -> None:
        woken.append(None)

    log.visibility.add_waiter(waiter)
    log.visibility.remove_waiter(waiter)
    log.visibility.remove_waiter(waiter)
    flushes.commits.start = None
    append(log)
    assert (told, woken) == ([None], [])


def test_c50_readers_wait_for_replicas(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    woken: list[int] = []
    log.visibility.add_waiter(lambda: woken.append(log.high_watermark))
    log.visibility.replicas = replicas = Replicas([2], 1, lambda: 0, lambda: None)
    replicas.fall_behind(2, Lag(is_frozen=True))
    append(log)
    assert (log.log_end_offset, log.high_watermark, woken) == (2, 1, [1])
    assert content(read_log(log, 1, max_bytes=1000)) == b""
    replicas.catch_up(2)
    log.visibility.look_at_replicas()
    assert (log.high_watermark, woken) == (2, [1, 2])


def test_c50_a_flush_and_a_replica_are_waited_for(tmp_path: Path) -> None:
    """S-32: the callers that wait for the disk do not wait for the replica."""
    log, _ = held_log(tmp_path)
    log.visibility.replicas = replicas = Replicas([2], 0, lambda: 0, lambda: None)
    replicas.fall_behind(2, Lag(is_frozen=True))
    append(log)
    told: list[Outcome] = []
    log.visibility.when_flushed(told.append)
    replicas.catch_up(2)
    log.visibility.look_at_replicas()
    assert (log.high_watermark, told) == (0, [])
    replicas.fall_behind(2, Lag(is_frozen=True), 0)
    log.flusher.flush_records(1)
    assert not log.visibility.flush_ended(1, None)
    assert (log.high_watermark, told) == (0, [None])
    log.visibility.when_flushed(told.append)
    assert told == [None, None]
    replicas.catch_up(2)
    log.visibility.look_at_replicas()
    assert log.high_watermark == 1


def test_c50_what_could_not_be_flushed_is_not_shown_by_a_replica(tmp_path: Path) -> None:
    log, _ = held_log(tmp_path)
    log.visibility.replicas = replicas = Replicas([2], 0, lambda: 0, lambda: None)
    replicas.fall_behind(2, Lag(is_frozen=True))
    append(log)
    assert not log.visibility.flush_ended(1, errors.KafkaStorageError())
    replicas.catch_up(2)
    log.visibility.look_at_replicas()
    told: list[Outcome] = []
    log.visibility.when_flushed(told.append)
    assert (log.high_watermark, [type(each) for each in told]) == (0, [errors.KafkaStorageError])


def test_c52_a_new_leader_knows_an_older_high_watermark(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.visibility.go_back(0)
    assert log.high_watermark == 0
    log.visibility.go_back(1)
    assert log.high_watermark == 0
    log.visibility.look_at_replicas()
    assert log.high_watermark == 1

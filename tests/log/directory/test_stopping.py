"""S-47: a stop is clean when every log could be put down and what changed is on disk."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.stopping import flush_each, make_durable, put_down
from tests.log.directory.test_manager import started
from tests.log.logs import FOREVER_MS, append, open_log
from tests.support.disk import Disk


def test_s47_only_logs_that_changed_are_flushed(tmp_path: Path, disk: Disk) -> None:
    used, unused = open_log(tmp_path / "used"), open_log(tmp_path / "unused")
    append(used)
    assert put_down([used, unused]) == [used, unused]
    make_durable([used, unused])
    assert (used.flusher.recovery_point, unused.flusher.recovery_point) == (1, 0)
    disk.refuse("fsync")
    make_durable([used, unused])
    append(used)
    with pytest.raises(errors.KafkaStorageError):
        make_durable([used, unused])


def test_s31_a_log_that_is_deleted_meanwhile_needs_no_flush(tmp_path: Path) -> None:
    deleted, broken = open_log(tmp_path / "deleted"), open_log(tmp_path / "broken")
    for log in (deleted, broken):
        append(log)
    deleted.delete()
    flush_each([(deleted, 1)])
    assert deleted.flusher.recovery_point == 0
    broken.segments.active.mark_deleted()
    with pytest.raises(errors.KafkaStorageError):
        flush_each([(deleted, 1), (broken, 1)])


def test_s47_the_snapshot_of_a_clean_stop_is_on_disk(tmp_path: Path, disk: Disk) -> None:
    """S-45: without it, a machine that loses power after a clean stop forgets the producers."""
    log = open_log(tmp_path, LogConfig(flush_messages=1, segment_ms=FOREVER_MS))
    append(log, producer=(5, 0, 0))
    assert log.flusher.recovery_point == 1
    synced = disk.watch()
    make_durable(put_down([log]))
    assert synced == [str(tmp_path / "00000000000000000001.snapshot"), str(tmp_path)]


def test_s47_many_dirty_logs_are_made_durable_at_once(tmp_path: Path, disk: Disk) -> None:
    """S-33, S-47: the recovery points are the log end offsets all the same."""
    synced: list[str] = []
    disk.answer("sync", lambda: synced.append("all"))
    for count, expected in ((65, ["all"]), (64, ["all"])):
        manager = started(tmp_path, *range(65))
        for partition in range(count):
            append(manager.get("t", partition))
        manager.close()
        assert synced == expected
    points = (tmp_path / "recovery-point-offset-checkpoint").read_text().splitlines()
    assert set(points[2:]) == {f"t {n} {1 if n == 64 else 2}" for n in range(65)}

"""S-01, S-02, S-40, S-44, S-47, S-54, S-70, S-75: a data directory over its life."""

import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.upkeep import flush_due
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.read import read_log
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    append,
    batch_bytes,
    content,
    descriptors_left,
    files,
    in_the_way,
    put_back,
)

ID = bytes(range(1, 17))
OTHER_ID = bytes(16)[:-1] + b"\x01"


def opened(path: Path, **options: object) -> LogManager:
    manager = LogManager(path, node_id=1, now_ms=lambda: NOW_MS, **options)  # type: ignore[arg-type]
    manager.open()
    return manager


def started(path: Path, *partitions: int, **options: object) -> LogManager:
    manager = opened(path, **options)
    for partition in partitions:
        manager.create("t", partition, ID)
    manager.recover()
    return manager


def test_tv67_files_of_a_clean_stop(tmp_path: Path) -> None:
    """S-01, S-33, S-47, S-70, S-75, S-77, TV-67, V-23."""
    manager = started(tmp_path, 0, 1)
    for _ in range(3):
        append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(2)
    manager.close()
    manager.close()
    found = {name for name in os.listdir(tmp_path) if (tmp_path / name).is_file()}
    assert found == {
        ".kafka_cleanshutdown",
        ".lock",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n2\nt 0 3\nt 1 0\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\nt 0 2\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 3\nt 1 0\n"
    metadata = (tmp_path / "t-0" / "partition.metadata").read_text()
    assert metadata == "version: 0\ntopic_id: AQIDBAUGBwgJCgsMDQ4PEA"


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_restores_everything(tmp_path: Path, clean: bool) -> None:
    """S-40, S-44: clean loads at first use, unclean at recover()."""
    manager = started(tmp_path, 0)
    for _ in range(3):
        append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(1)
    cluster_id = manager.cluster_id
    manager.close()
    if not clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
    again = started(tmp_path, 0, cluster_id=cluster_id)
    assert again.was_clean == clean
    assert len(again.loaded_logs()) == (not clean)
    log = again.get("t", 0)
    assert again.get("t", 0) is log
    assert (log.log_start_offset, log.log_end_offset) == (1, 3)
    assert len(content(read_log(log, 1, max_bytes=9999))) == 2 * len(batch_bytes())
    again.checkpoint()
    again.close()
    assert opened(tmp_path).was_clean


def test_a_killed_process_leaves_an_unclean_directory(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from tests.log.directory.test_manager import started, append\n"
        "manager = started(Path(sys.argv[1]), 0)\n"
        "for _ in range(100):\n    append(manager.get('t', 0))\n"
        "os._exit(9)\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.run(arguments, check=False, cwd=Path(__file__).parents[3]).returncode == 9
    manager = started(tmp_path, 0)
    assert not manager.was_clean
    assert manager.get("t", 0).log_end_offset == 100
    manager.close()


def test_s40_an_unreadable_checkpoint_counts_as_none(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.close()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        (tmp_path / name).write_text("0\n9\n")
    again = started(tmp_path, 0)
    assert again.get("t", 0).log_end_offset == 1
    again.close()


def test_s70_a_log_that_no_checkpoint_named_stays_one_with_records(tmp_path: Path) -> None:
    """After clean stops between which nobody used it, too."""
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.close()
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n9\n")
    for _ in range(2):
        started(tmp_path, 0).close()
    again = started(tmp_path, 0)
    assert again.get("t", 0).log_end_offset == 1
    again.close()


def test_unknown_and_deleted_partitions(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    for call in (manager.get, manager.delete, manager.size_bytes):
        with pytest.raises(errors.UnknownTopicOrPartition):
            call("t", 1)
    woken: list[int] = []
    log = manager.get("t", 0)
    log.visibility.add_waiter(lambda: woken.append(1))
    append(log)
    read = read_log(log, 0, max_bytes=100)
    manager.delete("t", 0)
    assert woken == [1, 1]
    assert len(content(read)) == len(batch_bytes())
    manager.chores.work()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("t-")]
    manager.create("t", 0, OTHER_ID)
    assert append(manager.get("t", 0)).base_offset == 0
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    manager.create("t", 1, OTHER_ID)
    manager.delete("t", 1)
    manager.close()


def test_s02_what_is_left_at_the_next_start(tmp_path: Path) -> None:
    """S-02: deleted directories go; those of unknown partitions are set aside, not deleted."""
    manager = started(tmp_path, 0, 1)
    append(manager.get("t", 1))
    manager.close()
    hexadecimal = "0123456789abcdef" * 2
    for name in (f"t-5.{hexadecimal}-delete", f"t-6.{hexadecimal}-stray", "unrelated"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    again = opened(tmp_path)
    again.create("t", 0, ID)
    assert list(again.unclaimed()) == [("t", 1, ID)]
    again.recover()
    assert list(again.unclaimed()) == []
    again.chores.work()
    assert not again.chores
    names = {name for name in os.listdir(tmp_path) if (tmp_path / name).is_dir()}
    stray = next(name for name in names if name.startswith("t-1."))
    assert stray.endswith("-stray")
    assert (tmp_path / stray / "00000000000000000000.log").stat().st_size == len(batch_bytes())
    assert names == {stray, f"t-6.{hexadecimal}-stray", "unrelated", "t-0"}
    again.close()


def test_s75_a_directory_of_an_older_topic_of_that_name_is_set_aside(tmp_path: Path) -> None:
    manager = started(tmp_path, 0, 1)
    for _ in range(2):
        append(manager.get("t", 0))
    manager.get("t", 0).delete_records_before(1)
    manager.close()
    (tmp_path / "t-1" / "partition.metadata").write_text("nonsense")
    again = opened(tmp_path)
    again.chores.deleted_ids = {ID}
    for partition in (0, 1):
        again.create("t", partition, OTHER_ID)
    assert [again.get("t", each).log_end_offset for each in (0, 1)] == [0, 0]
    assert len([name for name in os.listdir(tmp_path) if name.endswith("-stray")]) == 1
    again.close()


def test_directories_that_cannot_be_made_or_loaded(tmp_path: Path) -> None:
    manager = started(tmp_path)
    (tmp_path / "t-0").touch()
    with pytest.raises(errors.KafkaStorageError):
        manager.create("t", 0, ID)
    (tmp_path / "t-0").unlink()
    manager.create("t", 0, ID)
    (tmp_path / "t-0" / "partition.metadata").unlink()
    (tmp_path / "t-0").rmdir()
    assert manager.size_bytes("t", 0) == 0
    assert append(manager.get("t", 0)).last_offset == 0  # made anew at first use
    assert (tmp_path / "t-0" / "partition.metadata").exists()
    manager.close()
    again = started(tmp_path, 0)
    shutil.rmtree(tmp_path / "t-0")
    with pytest.raises(errors.KafkaStorageError):
        again.size_bytes("t", 0)
    again.close()


def test_v72_one_bad_partition_does_not_stop_the_others(tmp_path: Path) -> None:
    """S-47: the stop is not marked clean while a log could not be loaded or put down."""
    manager = started(tmp_path, 0, 1)
    for partition in (0, 1):
        append(manager.get("t", partition))
    manager.close()
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").unlink()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").mkdir()
    again = started(tmp_path, 0, 1)
    assert [log.partition for log in again.loaded_logs()] == [1]
    with pytest.raises(errors.KafkaStorageError):
        again.get("t", 0)
    again.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").rmdir()
    again = started(tmp_path, 0, 1)
    append(again.get("t", 0))
    (tmp_path / "t-0" / "00000000000000000002.snapshot").mkdir()
    again.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_stop_on_a_full_disk_is_not_clean(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0), producer=(5, 0, 0))
    (tmp_path / "recovery-point-offset-checkpoint.tmp").mkdir()
    (tmp_path / "t-0" / "00000000000000000001.snapshot").mkdir()
    with pytest.raises(errors.KafkaStorageError):
        manager.checkpoint()
    manager.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    # of the log that cannot be closed and of the directory: a line each, which says why
    lines = caplog.text.splitlines()
    assert [line.partition("reason=[Errno ")[1] for line in lines] == ["reason=[Errno "] * 2


def test_the_metadata_log_is_a_log_of_its_own(tmp_path: Path) -> None:
    """S-40: it is no partition, and in no checkpoint."""
    manager = started(tmp_path, 0)
    log = manager.open_metadata_log(LogConfig(segment_bytes=200))
    assert manager.open_metadata_log() is log
    log.become_leader(1)
    log.append_batch(batch_bytes(), now_ms=NOW_MS)
    manager.close()
    assert "__cluster_metadata" not in (tmp_path / "recovery-point-offset-checkpoint").read_text()
    for name in (".kafka_cleanshutdown", "nothing"):
        (tmp_path / name).unlink(missing_ok=True)
        again = opened(tmp_path)
        assert list(again.unclaimed()) == [("t", 0, ID)]
        log = again.open_metadata_log()
        assert (log.log_end_offset, log.leader_epoch) == (1, 1)
        again.close()


@pytest.mark.parametrize(
    ("node_id", "cluster_id"), [(2, None), (1, "another")], ids=["node", "cluster"]
)
def test_s76_another_nodes_directory(tmp_path: Path, node_id: int, cluster_id: str | None) -> None:
    opened(tmp_path).close()
    manager = LogManager(tmp_path, node_id=node_id, cluster_id=cluster_id, now_ms=lambda: NOW_MS)
    with pytest.raises(errors.SettingsError, match="belongs to"):
        manager.open()
    opened(tmp_path).close()  # the lock was given back


def test_s78_a_directory_in_use(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    with pytest.raises(errors.SettingsError, match="in use"):
        opened(tmp_path)
    manager.close()


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.SettingsError, match="file"):
        opened(tmp_path / "file")


def test_settings_reach_the_logs_of_a_topic(tmp_path: Path) -> None:
    manager = started(tmp_path, 0, 1)
    manager.create("other", 0, OTHER_ID)
    manager.get("t", 0)
    manager.update_config("t", 3, LogConfig(segment_bytes=100))
    for topic, partition, size in (("t", 0, 100), ("t", 1, 100), ("other", 0, 1 << 30)):
        assert manager.get(topic, partition).config.segment_bytes == size
    manager.close()


def test_size_bytes_needs_no_load(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    size = manager.size_bytes("t", 0)
    manager.close()
    again = started(tmp_path, 0)
    assert again.size_bytes("t", 0) == size == len(batch_bytes())
    assert again.loaded_logs() == []
    again.close(sync=False)


def test_s31_a_checkpoint_flushes_rolled_segments(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    manager.create("t", 0, ID, LogConfig(segment_bytes=150, segment_ms=FOREVER_MS))
    for _ in range(5):
        append(manager.get("t", 0))
    manager.checkpoint()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 4\n"
    manager.close()


def test_v72_one_log_that_cannot_be_flushed_does_not_stop_the_others(tmp_path: Path) -> None:
    """S-32, S-33: the checkpoint is written, with what is known to be on disk of each."""
    manager = opened(tmp_path)
    config = LogConfig(segment_bytes=150, segment_ms=FOREVER_MS, flush_ms=1000)
    for partition in range(3):
        manager.create("t", partition, ID, config)
        for _ in range(3):
            append(manager.get("t", partition))
    broken = Path(manager.get("t", 1).segments.all[0].path)
    in_the_way(broken, tmp_path / "away")
    with pytest.raises(errors.KafkaStorageError):
        manager.checkpoint()
    text = (tmp_path / "recovery-point-offset-checkpoint").read_text()
    assert text == "0\n3\nt 0 2\nt 1 0\nt 2 2\n"
    with pytest.raises(errors.KafkaStorageError):
        flush_due(manager, NOW_MS + 1000)
    assert [log.flusher.recovery_point for log in manager.loaded_logs()] == [3, 0, 3]
    put_back(broken, tmp_path / "away")
    flush_due(manager, NOW_MS + 1000)
    assert manager.get("t", 1).flusher.recovery_point == 3
    manager.close()


def test_open_files_are_bounded(tmp_path: Path) -> None:
    """3,000 partitions, all written to, read from and loaded again, with 250 descriptors."""
    with descriptors_left(250):
        cache = FileCache(64)
        manager = started(tmp_path, *range(3000), file_cache=cache)
        held = []
        for _ in range(2):
            for partition in range(3000):
                log = manager.get("t", partition)
                append(log)
                if partition % 50 == 0:
                    held.append(read_log(log, 0, max_bytes=100))
        # what is held is open, too
        assert len(cache) == 16
        assert len(held) - 64 < cache.lent_count <= len(held)
        assert all(len(content(read)) >= len(batch_bytes()) for read in held)
        held.clear()
        manager.close(sync=False)
        again = started(tmp_path, *range(3000), file_cache=cache)
        assert {again.get("t", p).log_end_offset for p in range(0, 3000, 7)} == {2}
        again.close(sync=False)
        assert len(cache) == 0


def test_a_partition_that_is_not_in_use_is_small(tmp_path: Path) -> None:
    """At most 2 KB each."""
    manager = started(tmp_path, *range(500))
    manager.close(sync=False)
    assert files(tmp_path / "t-0").keys() == {"partition.metadata"}
    tracemalloc.start()
    again = started(tmp_path, *range(500))
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size_bytes / 500 < 1000
    again.close(sync=False)


def test_what_is_abandoned_can_be_opened_at_once(tmp_path: Path) -> None:
    manager = started(tmp_path, 0)
    append(manager.get("t", 0))
    manager.abandon()
    again = opened(tmp_path)
    assert not again.was_clean
    again.close()
    manager.close()

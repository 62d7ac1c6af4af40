"""S-76, S-77, S-78: identity, clean mark and lock of a data directory."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import (
    DirectoryLock,
    claim_identity,
    erase,
    leave_clean_mark,
    new_id,
    take_clean_mark,
)
from tests.support.disk import Disk


def test_s78_one_lock_at_a_time(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(SettingsError, match="in use by another process"):
        DirectoryLock(tmp_path)
    lock.release()
    DirectoryLock(tmp_path).release()


def test_s78_the_lock_is_the_one_that_kafka_takes(tmp_path: Path) -> None:
    """Java's FileLock is fcntl's; another process sees it."""
    lock = DirectoryLock(tmp_path)
    script = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'r+')\n"
        "try:\n    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except OSError:\n    sys.exit(7)\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / ".lock")]
    assert subprocess.run(arguments, check=False).returncode == 7
    lock.release()
    assert subprocess.run(arguments, check=False).returncode == 0


def test_s78_a_lock_of_another_program(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SettingsError, match="in use"):
            DirectoryLock(tmp_path)


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        DirectoryLock(tmp_path / "none")


def test_s76_made_once(tmp_path: Path) -> None:
    made = claim_identity(tmp_path, node_id=3, cluster_id=None)
    assert len(made.cluster_id) == len(made.directory_id) == 22
    assert claim_identity(tmp_path, node_id=3, cluster_id=None) == made
    assert claim_identity(tmp_path, node_id=3, cluster_id=made.cluster_id) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version=1\nnode.id=2\n", "belongs to node 2"),
        ("version=1\nnode.id=3\ncluster.id=other\n", "belongs to cluster other"),
        ("version=2\nnode.id=3\n", "unknown version '2'"),
        ("version=1\n", "no node id"),
    ],
)
def test_s76_directories_of_others(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(SettingsError, match=message):
        claim_identity(tmp_path, node_id=3, cluster_id="mine")
    assert (tmp_path / "meta.properties").read_text() == text


@pytest.mark.parametrize(
    ("text", "cluster_id"),
    [("broker.id=3\n", "mine"), ("version=1\nnode.id=3\ncluster.id=mine\n", None)],
)
def test_s76_what_is_missing_is_added(tmp_path: Path, text: str, cluster_id: str | None) -> None:
    (tmp_path / "meta.properties").write_text(text)
    meta = claim_identity(tmp_path, node_id=3, cluster_id=cluster_id)
    assert meta.cluster_id == "mine"
    assert claim_identity(tmp_path, node_id=3, cluster_id=None) == meta


def test_new_ids_are_no_options() -> None:
    ids = {new_id() for _ in range(300)}
    assert len(ids) == 300
    assert not any(text.startswith("-") for text in ids)


def test_s77_the_mark_counts_once(tmp_path: Path) -> None:
    leave_clean_mark(tmp_path, 3149)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":3149}'
    assert take_clean_mark(tmp_path)
    assert not take_clean_mark(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "is_clean"),
    [
        (b'{"version":0,"brokerEpoch":7}', True),
        (b"", True),  # of a Kafka before 3.7
        (b"{}", False),
        (b"{", False),
        (b"7", False),
        (b"\xff", False),
    ],
)
def test_s77_a_mark_that_no_stop_wrote_does_not_count(
    tmp_path: Path, data: bytes, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """S-40: recovery costs time and no record."""
    (tmp_path / ".kafka_cleanshutdown").write_bytes(data)
    assert take_clean_mark(tmp_path) is is_clean
    assert os.listdir(tmp_path) == []
    assert ["mark of a clean stop ignored" in line for line in caplog.messages] == (
        [] if is_clean else [True]
    )


@pytest.mark.parametrize("names", [(), ("t-0",), ("__cluster_metadata-0",)])
def test_s76_a_new_identity_of_a_directory_with_logs_is_told(
    tmp_path: Path, names: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    meta = claim_identity(tmp_path, node_id=1, cluster_id=None)
    assert len(caplog.messages) == len(names)
    assert (meta.cluster_id in caplog.text) is bool(names)


def test_s77_the_mark_is_gone_for_good(tmp_path: Path, disk: Disk) -> None:
    """S-40: a mark that comes back after a loss of power would hide what was not written."""
    leave_clean_mark(tmp_path, 7)
    synced = disk.watch()
    assert take_clean_mark(tmp_path)
    assert synced == [str(tmp_path)]


def test_erasing_leaves_what_is_not_of_partitions(tmp_path: Path) -> None:
    meta = claim_identity(tmp_path, node_id=1, cluster_id=None)
    leave_clean_mark(tmp_path, 1)
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    for name in ("t-0", f"t-1.{'0a' * 16}-delete", "__cluster_metadata-0", "notes", "t"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / "list.txt").touch()
    erase(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["list.txt", "meta.properties", "notes", "t"]
    assert claim_identity(tmp_path, node_id=1, cluster_id=None) == meta


def test_s_78_a_directory_without_permission_tells_for_whom(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    user = os.geteuid()
    if user == 0:  # to whom everything is permitted
        os.seteuid(12345)
    told = f"data directory {tmp_path}: Permission denied for {os.geteuid()}:{os.getegid()}"
    try:
        with pytest.raises(SettingsError) as error:
            DirectoryLock(tmp_path)
    finally:
        os.seteuid(user)
    assert str(error.value) == told


def test_s78_the_lock_is_no_link_to_another_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="lock: It is a symbolic link"):
        DirectoryLock(tmp_path / "data")
    assert not (tmp_path / "elsewhere").exists()

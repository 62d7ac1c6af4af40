"""S-15, S-18, S-42 to S-46: loading a directory after a clean stop, and odd ones."""

import os
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log import timestamps
from broker_lite.log.config import LogConfig
from broker_lite.log.read import read_log
from tests.log.logs import (
    FOREVER_MS,
    NOW_MS,
    STEM,
    T0,
    append,
    batch_bytes,
    content,
    end_transaction,
    files,
    open_log,
    segment_bases,
    vector,
)

SMALL = LogConfig(segment_bytes=150, index_interval_bytes=0, segment_ms=FOREVER_MS)


def snapshots(directory: Path) -> list[int]:
    return [int(path.stem) for path in sorted(directory.glob("*.snapshot"))]


def test_a_clean_restart_changes_nothing(tmp_path: Path) -> None:
    """S-44, S-47: no walk, recovery point = log end offset, the same files when closed again."""
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(5):
        append(log, T0 + sequence, producer=(5, 0, sequence))
    log.close()
    before = files(tmp_path)
    again = open_log(tmp_path, SMALL, now_ms=T0)
    assert (again.log_end_offset, again.flusher.recovery_point) == (5, 5)
    assert again.producer_state.describe() == log.producer_state.describe()
    assert timestamps.max_timestamp_offset(again) == (T0 + 4, 4, 0)
    again.close()
    assert files(tmp_path) == before
    append(open_log(tmp_path, SMALL, now_ms=T0), producer=(5, 0, 5))
    assert segment_bases(tmp_path) == [0, 2, 4]


def test_a_new_log_is_empty(tmp_path: Path) -> None:
    """S-46: no segment, so an empty one; S-18: no snapshot at 0."""
    log = open_log(tmp_path)
    log.close()
    assert files(tmp_path) == {
        f"{STEM}.index": b"",
        f"{STEM}.log": b"",
        f"{STEM}.timeindex": b"",
        "leader-epoch-checkpoint": b"0\n1\n0 0\n",
    }


@pytest.mark.parametrize("clean", [True, False])
def test_s46_a_log_that_ends_below_its_start_begins_anew(tmp_path: Path, clean: bool) -> None:
    log = open_log(tmp_path, SMALL)
    for _ in range(3):
        append(log)
    log.close()
    again = open_log(tmp_path, SMALL, clean=clean, log_start_offset=7)
    assert (again.log_start_offset, again.log_end_offset) == (7, 7)
    assert segment_bases(tmp_path) == [7]
    assert append(again).base_offset == 7


def test_s46_the_log_start_is_that_of_the_checkpoint(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for _ in range(3):
        append(log)
    log.close()
    again = open_log(tmp_path, SMALL, log_start_offset=1)
    assert again.log_start_offset == 1
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n0 1\n"
    (tmp_path / f"{STEM}.log").unlink()
    assert open_log(tmp_path, SMALL, log_start_offset=1).log_start_offset == 2


def test_s42_offsets_count_from_the_base_of_their_segment(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """31 bits above it are within; a segment whose base is large is no reason for recovery."""
    base = 3 << 30
    log = open_log(tmp_path, log_start_offset=base)
    append(log)
    log.close()
    caplog.clear()
    again = open_log(tmp_path, log_start_offset=base, recovery_point=base + 1)
    assert (again.log_start_offset, again.log_end_offset, caplog.messages) == (base, base + 1, [])


def test_s42_index_files_without_a_log_are_deleted(tmp_path: Path) -> None:
    for suffix in ("index", "timeindex", "txnindex"):
        (tmp_path / f"00000000000000000009.{suffix}").write_bytes(b"x")
    open_log(tmp_path)
    assert segment_bases(tmp_path) == [0]
    assert not list(tmp_path.glob("*9.*"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("2.index", None, id="S-15 no .index"),
        pytest.param("2.timeindex", None, id="S-15 no .timeindex"),
        pytest.param("2.txnindex", bytes(34), id="S-15 .txnindex of other offsets"),
        pytest.param("2.txnindex", b"\x09" * 34, id="S-16 .txnindex of a newer version"),
        pytest.param("4.index", bytes(8), id="S-12 an index that was never cut"),
        pytest.param("4.index", b"\0\0\0\1\0\1\0\0", id="S-44 an index beyond the log"),
        pytest.param("4.index", b"\0\0\0\1\0\0\0\x8c", id="S-44 an index of the log's end"),
        pytest.param("4.log", b"", id="S-44 cut log under an index"),
    ],
)
def test_s15_what_cannot_be_trusted_is_recovered(
    tmp_path: Path, name: str, data: bytes | None
) -> None:
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(6):
        append(log, T0 + sequence, producer=(5, 0, sequence))
    log.close()
    before = files(tmp_path)
    name = name.rjust(20 + len(name) - 1, "0")
    if data is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(data)
    again = open_log(tmp_path, SMALL, now_ms=T0)
    assert again.log_end_offset == (4 if name.endswith("4.log") else 6)
    assert content(read_log(again, 3, max_bytes=999)) == content(read_log(log, 3, max_bytes=999))
    again.close()
    if not name.endswith(("4.log", "timeindex")):
        assert files(tmp_path) == before


def test_s44_a_batch_of_no_size_behind_the_last_entry_is_cut(tmp_path: Path) -> None:
    """S-20, S-44: a clean mark does not make a length below 14 readable; recovery ends there."""
    log = open_log(tmp_path, SMALL)
    for _ in range(6):
        append(log)
    log.close()
    path = tmp_path / "00000000000000000004.log"
    data = bytearray(path.read_bytes())
    last = len(data) // 2
    data[last + 8 : last + 12] = (13).to_bytes(4, "big")
    path.write_bytes(data)
    again = open_log(tmp_path, SMALL)
    assert again.log_end_offset == 5
    assert path.read_bytes() == bytes(data[:last])
    assert append(again).base_offset == 5


def test_s44_what_is_behind_a_cut_segment_is_gone(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for _ in range(6):
        append(log)
    bases = segment_bases(tmp_path)
    assert len(bases) > 2
    log.close()
    path = tmp_path / f"{bases[1]:020}.log"
    path.write_bytes(path.read_bytes()[:-1])
    again = open_log(tmp_path, SMALL, clean=False)
    assert segment_bases(tmp_path) == bases[:2]
    assert again.log_end_offset == bases[2] - 1
    assert append(again).base_offset == bases[2] - 1


def test_s45_state_comes_from_the_newest_snapshot_that_is_whole(tmp_path: Path) -> None:
    """S-17, S-45: a damaged one is deleted, the older one and the batches after it are used.

    As in Kafka the last two segments, and the end, get theirs anew.
    """
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(5):
        append(log, producer=(5, 0, sequence))
    log.close()
    assert snapshots(tmp_path) == [2, 4, 5]
    for damaged in ([5], [5, 4], [5, 4, 2]):
        for offset in damaged:
            (tmp_path / f"{offset:020d}.snapshot").write_bytes(vector("TV-66")[:-1])
        again = open_log(tmp_path, SMALL, now_ms=T0)
        assert again.producer_state.describe() == log.producer_state.describe()
        again.close()
        assert snapshots(tmp_path) == [2, 4, 5]


def test_s45_no_snapshot_and_a_clean_stop_mean_no_producers(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(5):
        append(log, producer=(5, 0, sequence))
    log.close()
    for offset in snapshots(tmp_path):
        (tmp_path / f"{offset:020d}.snapshot").unlink()
    assert open_log(tmp_path, SMALL, now_ms=T0).producer_state.describe() == []


def test_s45_without_snapshots_a_recovered_log_still_knows_its_producers(tmp_path: Path) -> None:
    """S-15, S-45: a clean stop, but an index is missing, so the segments before it are replayed."""
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(5):
        append(log, producer=(5 + sequence, 0, 0))
    log.close()
    for path in [*tmp_path.glob("*.snapshot"), tmp_path / "00000000000000000004.index"]:
        path.unlink()
    again = open_log(tmp_path, SMALL, now_ms=T0)
    assert [entry.producer_id for entry in again.producer_state] == [5, 6, 7, 8, 9]


def test_s18_stray_snapshots_go(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    for _ in range(6):
        append(log)
    log.close()
    for offset in (1, 3, 5, 9):
        (tmp_path / f"{offset:020d}.snapshot").write_bytes(vector("TV-66"))
    open_log(tmp_path, SMALL)
    assert snapshots(tmp_path) == [2, 4, 6]


def test_s43_an_open_transaction_survives(tmp_path: Path) -> None:
    """TV-65, V-64: the last stable offset and the end marker's entry are right after a restart."""
    log = open_log(tmp_path, SMALL, now_ms=T0)
    for sequence in range(3):
        append(log, producer=(8, 0, sequence), transactional=True)
    log.close()
    again = open_log(tmp_path, SMALL, now_ms=T0)
    assert again.last_stable_offset == 0
    end_transaction(again, 8, commit=False, now_ms=T0)
    assert again.last_stable_offset == 4
    read = read_log(again, 0, max_bytes=1, isolation_level=1)
    assert read.aborted_transactions == [(8, 0, 3, 4)]


def test_bytes_behind_the_last_batch_of_a_clean_log_are_cut(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    log.close()
    for tail in (b"abc", bytes(40), batch_bytes()[:-1]):
        with Path(log.segments.active.path).open("ab") as file:
            file.write(tail)
        assert open_log(tmp_path).segments.size_bytes == len(batch_bytes())
        assert os.stat(log.segments.active.path).st_size == len(batch_bytes())


def test_a_directory_that_cannot_be_read(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    (tmp_path / "leader-epoch-checkpoint").unlink()
    (tmp_path / "leader-epoch-checkpoint").mkdir()
    with pytest.raises(errors.KafkaStorageError):
        open_log(tmp_path)
    with pytest.raises(errors.KafkaStorageError):
        log.become_leader(2)
    with pytest.raises(errors.KafkaStorageError):
        append(log)
    (tmp_path / "leader-epoch-checkpoint").rmdir()
    assert append(log, now_ms=NOW_MS).base_offset == 1
    assert log.leader_epoch == 2

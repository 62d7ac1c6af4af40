"""S-43, S-44, S-46: what an unclean stop leaves is cut, rebuilt, and equal to what was appended."""

import os
import random
import shutil
import struct
import zlib
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.log.recovery.recover_segment import read_batches
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
)

CONFIG = LogConfig(index_interval_bytes=150, segment_bytes=2000, segment_ms=FOREVER_MS)


def legacy_message(magic: int, offset: int) -> bytes:
    timestamp = struct.pack(">q", T0 + offset) if magic else b""
    content = bytes([magic, 0]) + timestamp + struct.pack(">ii1s", -1, 1, b"v")
    return struct.pack(">qiI", offset, len(content) + 4, zlib.crc32(content)) + content


def write_at_random(log: Log, seed: int, count: int) -> None:
    """Plain, idempotent and transactional batches, and the ends of transactions."""
    rng = random.Random(seed)
    sequences: dict[int, int] = {}
    for number in range(count):
        producer_id = rng.choice([-1, 7, 8, 9])
        if producer_id in {8, 9} and rng.random() < 0.3:
            end_transaction(log, producer_id, commit=rng.random() < 0.5, now_ms=T0 + number)
        sequence = sequences.get(producer_id, 0)
        size = rng.randint(1, 3)
        append(
            log,
            *[T0 + number * 10 + rng.randint(-30, 30) for _ in range(size)],
            producer=(producer_id, 0, sequence) if producer_id > 0 else (-1, -1, -1),
            transactional=producer_id in {8, 9},
            codec=rng.choice([0, 1]),
        )
        sequences[producer_id] = sequence + size


@pytest.mark.parametrize("seed", range(5))
def test_s43_rebuilt_files_equal_the_original_ones(tmp_path: Path, seed: int) -> None:
    """S-13, S-18, S-43, S-45: one batch per append, so indexes and snapshots are the same."""
    log = open_log(tmp_path / "p", CONFIG, now_ms=T0)
    write_at_random(log, seed, 120)
    log.close()
    expected = files(tmp_path / "p")
    for suffix in ("index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint"):
        for path in (tmp_path / "p").glob(f"*{suffix}"):
            path.unlink()
    again = open_log(tmp_path / "p", CONFIG, clean=False, now_ms=T0)
    assert again.log_end_offset == log.log_end_offset
    assert again.last_stable_offset == log.last_stable_offset
    assert again.producer_state.describe() == log.producer_state.describe()
    again.close()
    recovered = files(tmp_path / "p")
    assert recovered == expected


def test_s43_the_time_index_has_the_largest_timestamp_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    for number in range(3):
        append(log, T0 + number)
    again = open_log(tmp_path, CONFIG, clean=False, now_ms=T0)
    assert again.segments.active.time_index.last_entry() == (T0 + 2, 2)


def test_s44_recovery_begins_at_the_recovery_point(tmp_path: Path) -> None:
    """S-44, S-18: segments below it are not walked, their state comes from the snapshot.

    S-15: their indexes are looked at when they are used, here for a transaction.
    """
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    write_at_random(log, 1, 120)
    log.close()
    expected = files(tmp_path)
    middle = segment_bases(tmp_path)[2]
    index_path = tmp_path / f"{STEM}.index"
    index_path.write_bytes(b"\xff" * 8)
    last = tmp_path / f"{segment_bases(tmp_path)[-1]:020d}.index"
    last.write_bytes(b"\xff" * 8)
    (tmp_path / f"{log.log_end_offset:020d}.snapshot").write_bytes(b"of an earlier crash")
    again = open_log(tmp_path, CONFIG, clean=False, recovery_point=middle + 1, now_ms=T0)
    assert again.flusher.recovery_point == middle + 1
    again.close()
    found = files(tmp_path)
    assert (
        found.pop(index_path.name) == b""
    )  # one that was made anew, with an entry each 4096 bytes
    for name in (index_path.name, f"{STEM}.timeindex"):
        expected.pop(name)
        found.pop(name, None)
    assert found == expected


def test_s33_the_recovery_point_is_never_above_the_end(tmp_path: Path) -> None:
    """A machine that lost power may have lost what a checkpoint names."""
    log = open_log(tmp_path, CONFIG)
    for _ in range(2):
        append(log)
    again = open_log(tmp_path, CONFIG, clean=False, recovery_point=99)
    assert again.flusher.recovery_point == 2
    append(again)
    again.flush()
    assert again.flusher.recovery_point == 3


def test_torn_tails_of_every_length(tmp_path: Path) -> None:
    """S-43 step 4, R-04: a last batch that is there in part is cut; the log goes on."""
    log = open_log(tmp_path / "p", CONFIG)
    for _ in range(2):
        append(log)
    log.close()
    whole = batch_bytes()
    for length in range(1, len(whole) + 1):
        directory = tmp_path / str(length)
        shutil.copytree(tmp_path / "p", directory)
        with (directory / f"{STEM}.log").open("r+b") as file:
            file.truncate(len(whole) + length)
        again = open_log(directory, CONFIG, clean=False)
        complete = length == len(whole)
        assert again.log_end_offset == 1 + complete
        assert again.segments.size_bytes == len(whole) * (1 + complete)
        assert append(again).base_offset == 1 + complete


@pytest.mark.parametrize("position", [8, 11, 17, 40, 69], ids="byte {}".format)
def test_s43_a_damaged_batch_ends_the_log(tmp_path: Path, position: int) -> None:
    log = open_log(tmp_path, CONFIG)
    for _ in range(3):
        append(log)
    path = Path(log.segments.active.path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3 + position] ^= 0x7D
    path.write_bytes(data)
    again = open_log(tmp_path, CONFIG, clean=False)
    assert again.log_end_offset == 1
    assert again.segments.size_bytes == len(batch_bytes())


def test_s44_a_cut_segment_ends_the_log(tmp_path: Path) -> None:
    """S-44: all later segments are deleted, with their indexes and snapshots."""
    log = open_log(tmp_path, LogConfig(segment_bytes=150, segment_ms=FOREVER_MS))
    for _ in range(6):
        append(log)
    assert segment_bases(tmp_path) == [0, 2, 4]
    with (tmp_path / "00000000000000000002.log").open("r+b") as file:
        file.truncate(100)
    again = open_log(tmp_path, clean=False)
    assert (again.log_end_offset, segment_bases(tmp_path)) == (3, [0, 2])
    assert sorted(path.name for path in tmp_path.glob("*4.*")) == []
    assert append(again).base_offset == 3


def test_s45_producers_of_what_was_cut_are_unknown(tmp_path: Path) -> None:
    """S-45: a batch that is sent again must be stored, not called a duplicate of what is gone."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log, producer=(5, 0, 0))
    log.roll(T0)
    for sequence in (1, 2):
        append(log, producer=(5, 0, sequence))
    path = Path(log.segments.active.path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8] = bytes(8)
    path.write_bytes(data)
    again = open_log(tmp_path, CONFIG, clean=False, now_ms=T0)
    assert (again.log_end_offset, again.producer_state.describe()[0].last_sequence) == (2, 1)
    assert append(again, producer=(5, 0, 2)) == (2, 2, -1, 0, False)


@pytest.mark.parametrize(
    ("start", "with_snapshot", "known"),
    [(0, True, [5, 6]), (2, True, [5, 6]), (1, False, [6]), (2, False, [6]), (3, True, [])],
)
def test_s45_producers_below_the_log_start_are_unknown(
    tmp_path: Path, start: int, with_snapshot: bool, known: list[int]
) -> None:
    """S-45: as in Kafka, only a snapshot above the log start counts, and batches from there on."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log, producer=(5, 0, 0))
    append(log, T0, T0, producer=(6, 0, 0))
    log.roll(T0)
    append(log)
    if not with_snapshot:
        (tmp_path / "00000000000000000003.snapshot").unlink()
    again = open_log(
        tmp_path, CONFIG, clean=False, recovery_point=3, log_start_offset=start, now_ms=T0
    )
    assert [entry.producer_id for entry in again.producer_state] == known


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_s44_offsets_that_do_not_rise_end_the_log(tmp_path: Path, magic: int) -> None:
    """Kafka keeps such a batch, or empties the segment when its index happens to notice."""
    batch = legacy_message(magic, 0) if magic < 2 else batch_bytes()
    (tmp_path / f"{STEM}.log").write_bytes(batch * 3)
    again = open_log(tmp_path, CONFIG, clean=False)
    assert (again.log_end_offset, again.segments.size_bytes) == (1, len(batch))


def test_s43_an_offset_that_does_not_fit_the_segment_ends_it(tmp_path: Path) -> None:
    """The checksum does not cover the base offset."""
    log = open_log(tmp_path, CONFIG)
    for _ in range(3):
        append(log)
    path = Path(log.segments.active.path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] = 1
    path.write_bytes(data)
    assert open_log(tmp_path, CONFIG, clean=False).log_end_offset == 1


@pytest.mark.parametrize("magic", [0, 1])
def test_s43_old_formats_are_recovered(tmp_path: Path, magic: int) -> None:
    """R-61: each by its own checksum; S-14: a timestamp only where there is one."""
    messages = [legacy_message(magic, offset) for offset in (0, 1, 5, 6, 7, 8)]
    damaged = bytearray(messages[4])
    damaged[-1] ^= 1
    path = tmp_path / f"{STEM}.log"
    path.write_bytes(b"".join([*messages[:4], bytes(damaged), messages[5]]))
    config = LogConfig(index_interval_bytes=0)
    log = open_log(tmp_path, config, clean=False)
    assert path.read_bytes() == b"".join(messages[:4])
    assert (log.log_end_offset, log.segments.active.max_timestamp) == (7, T0 + 6 if magic else -1)
    assert log.segments.active.offset_index.count == 3
    assert log.producer_state.describe() == []
    assert content(read_log(log, 3, max_bytes=1)) == messages[2]
    assert log.segments.active.find(6) == (3 * len(messages[0]), len(messages[0]))


@pytest.mark.parametrize(
    ("magic", "length"), [(1, 21), (200, 30)], ids=["R-60 no room for its timestamp", "R-02"]
)
def test_s43_what_no_format_can_be_is_cut(tmp_path: Path, magic: int, length: int) -> None:
    content = bytes([magic]) + bytes(length - 5)
    message = bytes(8) + length.to_bytes(4, "big") + zlib.crc32(content).to_bytes(4, "big")
    (tmp_path / f"{STEM}.log").write_bytes(message + content + bytes(magic == 1))
    assert open_log(tmp_path, CONFIG, clean=False).segments.size_bytes == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_r02_old_formats_are_of_no_use_for_the_brokers_own_state(
    tmp_path: Path, magic: int
) -> None:
    (tmp_path / f"{STEM}.log").write_bytes(batch_bytes() + legacy_message(magic, 4))
    log = open_log(tmp_path, CONFIG, clean=False)
    with pytest.raises(errors.KafkaStorageError, match=f"format {magic}"):
        list(read_batches(log.segments.active, 0))
    log.segments.active.file().cut(len(batch_bytes()))
    assert [batch.base_offset for batch in read_batches(log.segments.active, 0)] == [0]


def test_batches_larger_than_the_read_buffer(tmp_path: Path) -> None:
    config = LogConfig(index_interval_bytes=0)
    log = open_log(tmp_path, config)
    for size in (10, 1 << 21, 10, 1 << 20, 10):
        append(log, value=b"x" * size)
    log.close()
    expected = files(tmp_path)
    again = open_log(tmp_path, config, clean=False)
    assert again.log_end_offset == 5
    again.close()
    snapshot = f"{5:020}.snapshot"  # as after every recovery (S-43)
    assert files(tmp_path).keys() - expected.keys() == {snapshot}
    assert {name: data for name, data in files(tmp_path).items() if name != snapshot} == expected


def test_s33_a_crash_after_the_flush_loses_nothing(tmp_path: Path) -> None:
    """S-32, S-43: the log is used on without close, as by a process that was killed."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    write_at_random(log, 3, 50)
    log.flush()
    point = log.flusher.recovery_point
    again = open_log(tmp_path, CONFIG, clean=False, recovery_point=point, now_ms=T0)
    assert again.log_end_offset == log.log_end_offset
    assert again.producer_state.describe() == log.producer_state.describe()
    first = read_log(log, 0, max_bytes=1 << 20)
    assert content(read_log(again, 0, max_bytes=1 << 20)) == content(first)
    os.unlink(log.segments.active.path)
    assert again.roll(NOW_MS) is again.segments.active


def test_s17_a_control_batch_of_another_kind_ends_no_transaction(tmp_path: Path) -> None:
    """S-43: nor does a marker of a producer without one."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log, producer=(8, 0, 0), transactional=True)
    end_transaction(log, 8, commit=True, now_ms=T0)
    end_transaction(log, 8, commit=False, now_ms=T0)
    again = open_log(tmp_path, CONFIG, clean=False, now_ms=T0)
    assert again.last_stable_offset == again.log_end_offset == 3
    assert not again.segments.active.transaction_index.exists


@pytest.mark.parametrize(
    ("position", "count"), [pytest.param(-1, 0, id="S-43 torn"), pytest.param(1, 2, id="S-43")]
)
def test_s43_the_log_says_how_many_sound_batches_are_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, position: int, count: int
) -> None:
    """Kafka cuts at the first bad batch, whatever is behind it."""
    log = open_log(tmp_path / "p", LogConfig(), now_ms=T0)
    ends = []
    for _ in range(4):
        append(log, T0)
        ends.append(log.segments.all[-1].size_bytes)
    log.close()
    path = tmp_path / "p" / f"{STEM}.log"
    data = bytearray(path.read_bytes())
    if position < 0:
        del data[ends[-2] + 40 :]
    else:
        data[ends[position] - 1] ^= 1
    path.write_bytes(data)
    open_log(tmp_path / "p", LogConfig(), clean=False, now_ms=T0).close()
    (line,) = [one.getMessage() for one in caplog.records if "segment cut" in one.getMessage()]
    assert line.endswith(f"sound_batches_cut={count}")

"""S-15, S-16: a wrong index of aborted transactions has its segment recovered."""

from pathlib import Path

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.files.txn_index import ENTRY
from broker_lite.log.files.txn_index_checks import is_true
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from tests.log.logs import FOREVER_MS, STEM, T0, append, end_transaction, open_log

CONFIG = LogConfig(segment_ms=FOREVER_MS)
PATH = f"{STEM}.txnindex"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Producer 8 aborts from 2 to 3, while 9 has its transaction open from 1 on and aborts at 4."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log)
    append(log, producer=(9, 0, 0), transactional=True)
    append(log, producer=(8, 0, 0), transactional=True)
    end_transaction(log, 8, commit=False, now_ms=T0)
    end_transaction(log, 9, commit=False, now_ms=T0)
    append(log)
    log.close()
    return tmp_path


def aborted(log: Log) -> list[tuple[int, int, int, int]] | None:
    return read_log(log, 0, max_bytes=99, isolation_level=1).aborted_transactions  # type: ignore[return-value]


RIGHT = [(8, 2, 3, 1), (9, 1, 4, 5)]


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param(RIGHT, id="right"),
        pytest.param([(7, 2, 3, 1), RIGHT[1]], id="another producer"),
        pytest.param([(8, 1, 3, 1), RIGHT[1]], id="another producer's first offset"),
        pytest.param([(8, 0, 3, 1), RIGHT[1]], id="a first offset of no producer"),
        pytest.param([(8, 2, 2, 1), RIGHT[1]], id="no marker"),
        pytest.param([(8, 2, 3, 5), RIGHT[1]], id="a stable offset behind the marker"),
        pytest.param([(8, 2, 3, -1), RIGHT[1]], id="a stable offset below 0"),
        pytest.param([(8, 5, 3, 1), RIGHT[1]], id="a first offset behind the last"),
        pytest.param([RIGHT[0], (9, 1, 9, 5)], id="a marker behind the end"),
        pytest.param(RIGHT[::-1], id="not rising"),
    ],
)
def test_s15_a_wrong_entry_is_found(
    directory: Path, entries: list[tuple[int, int, int, int]], caplog: pytest.LogCaptureFixture
) -> None:
    (directory / PATH).write_bytes(b"".join(ENTRY.pack(0, *entry) for entry in entries))
    log = open_log(directory, CONFIG, now_ms=T0)
    assert aborted(log) == RIGHT
    assert log.last_stable_offset == log.log_end_offset == 6
    assert ("recovered for its indexes" in caplog.text) == (entries != RIGHT)


def test_s16_a_part_of_an_entry_is_no_index(directory: Path) -> None:
    path = directory / PATH
    path.write_bytes(path.read_bytes()[:-1])
    assert aborted(open_log(directory, CONFIG, now_ms=T0)) == RIGHT


def test_s86_a_transaction_whose_first_batch_was_cleaned_away_is_right(directory: Path) -> None:
    log = open_log(directory, CONFIG, now_ms=T0)
    position, size_bytes = log.segments.active.find(2) or (0, 0)
    log.close()
    path = directory / f"{STEM}.log"
    data = path.read_bytes()
    path.write_bytes(data[:position] + data[position + size_bytes :])
    assert aborted(open_log(directory, CONFIG, now_ms=T0)) == RIGHT


def test_s52_a_transaction_that_began_below_the_log_is_right(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log, producer=(8, 0, 0), transactional=True)
    log.roll(T0)
    end_transaction(log, 8, commit=False, now_ms=T0)
    append(log)
    log.close()
    for path in tmp_path.glob(f"{STEM}.*"):
        path.unlink()
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    assert read_log(log, 1, max_bytes=9, isolation_level=1).aborted_transactions == [(8, 0, 1, 2)]


def test_s15_a_damaged_log_is_no_proof(directory: Path) -> None:
    """The batch of a marker cannot be found: the segment is recovered, and ends before that."""
    path = directory / f"{STEM}.log"
    data = bytearray(path.read_bytes())
    size_bytes = 12 + int.from_bytes(data[8:12], "big")
    data[size_bytes + 8 : size_bytes + 12] = bytes(4)
    path.write_bytes(data)
    assert open_log(directory, CONFIG, now_ms=T0).log_end_offset == 1


def test_r02_a_message_of_an_old_format_is_no_marker(tmp_path: Path) -> None:
    message = bytes(8) + (14).to_bytes(4, "big") + bytes(14)
    (tmp_path / f"{STEM}.log").write_bytes(message)
    (tmp_path / f"{STEM}.index").touch()
    (tmp_path / PATH).write_bytes(ENTRY.pack(0, 8, 0, 0, 1))
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    assert not log.segments.all[0].transaction_index.exists


def test_s16_no_index_is_right(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    append(log)
    assert not log.segments.active.transaction_index.exists
    assert is_true(log.segments.all, 0)

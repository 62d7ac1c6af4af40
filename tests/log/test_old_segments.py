"""Segments of an old Kafka: messages of magic 0 and 1 and wrappers, with v2 batches behind them."""

import os
from pathlib import Path

import pytest

from broker_lite.log import timestamps
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.walk import walk
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from tests.log.logs import STEM, T0, append, open_log

MAGIC_0 = (0, 1)
PLAIN = (2, 3)
GZIP_WRAPPER = (4, 5, 8)  # a cleaner took some
LZ4_WRAPPER_OF_MAGIC_0 = (9, 10)
APPEND_TIME_WRAPPER = (11, 12)


def message_set(
    magic: int, offsets: tuple[int, ...], *, codec: int = 0, append_time_ms: int | None = None
) -> bytes:
    builder = LegacySetBuilder(magic, codec=codec, log_append_time_ms=append_time_ms)
    for offset in offsets:
        builder.append(offset, T0 + offset, b"k%d" % offset, b"v")
    return builder.build()


OLD = (
    message_set(0, MAGIC_0),
    message_set(1, PLAIN),
    message_set(1, GZIP_WRAPPER, codec=1),
    message_set(0, LZ4_WRAPPER_OF_MAGIC_0, codec=3),
    message_set(1, APPEND_TIME_WRAPPER, codec=2, append_time_ms=T0 + 100),
)
STARTS = [sum(map(len, OLD[:index])) for index in range(len(OLD))]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Offsets 0 to 12 of the old segment and 13 of today, recovered after a crash."""
    (tmp_path / f"{STEM}.log").write_bytes(b"".join(OLD))
    log = open_log(tmp_path, clean=False)
    assert log.log_end_offset == 13
    append(log, T0 + 50)
    return log


def start_of(log: Log, offset: int) -> int:
    found = read_log(log, offset, max_bytes=1 << 20).slice
    assert found is not None
    return found.position


def test_f10_s20_a_read_begins_with_the_set_that_holds_the_offset(log: Log) -> None:
    half = len(message_set(0, (0,)))
    assert [start_of(log, offset) for offset in range(14)] == [
        *(0, half),
        *(STARTS[1], STARTS[1] + len(message_set(1, (2,)))),
        *([STARTS[2]] * 5),
        *([STARTS[3]] * 2),
        *([STARTS[4]] * 2),
        sum(map(len, OLD)),
    ]


def test_f10_the_bytes_are_given_as_they_are(log: Log) -> None:
    found = read_log(log, 0, max_bytes=1 << 20).slice
    assert found is not None
    data = os.pread(found.fd, found.size_bytes, found.position)
    assert data.startswith(b"".join(OLD))


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        pytest.param(T0, (T0 + 2, 2), id="magic 0 has none"),
        pytest.param(T0 + 3, (T0 + 3, 3), id="plain"),
        pytest.param(T0 + 5, (T0 + 5, 5), id="in a wrapper"),
        pytest.param(T0 + 6, (T0 + 8, 8), id="behind a gap"),
        pytest.param(T0 + 9, (T0 + 100, 11), id="append time, of all"),
    ],
)
def test_s23_f72_offsets_by_timestamp(log: Log, timestamp: int, expected: tuple[int, int]) -> None:
    found = timestamps.offset_for_timestamp(log, timestamp)
    assert found is not None
    assert found == (*expected, -1)


def test_s23_nothing_is_as_late(log: Log) -> None:
    assert timestamps.offset_for_timestamp(log, T0 + 101) is None


def test_s24_the_largest_timestamp_is_that_of_an_old_record(log: Log) -> None:
    assert timestamps.max_timestamp_offset(log) == (T0 + 100, 11, -1)


def test_r60_a_message_of_magic_1_may_lack_room_for_its_timestamp(tmp_path: Path) -> None:
    short = bytearray(message_set(0, (0,))[:26])
    short[16], short[8:12] = 1, (14).to_bytes(4, "big")
    path = tmp_path / "segment.log"
    path.write_bytes(bytes(short) + message_set(1, PLAIN))
    places = walk(OpenFile(str(path)), 0, path.stat().st_size)
    assert [place.max_timestamp for place in places] == [-1, T0 + 2, T0 + 3]

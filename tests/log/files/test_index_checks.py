"""S-12, S-15: an index that is missing, short, oversized or wrong is made anew, never believed."""

import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log import timestamps
from broker_lite.log.config import LogConfig
from broker_lite.log.files.index_checks import INDEX_INTERVAL_BYTES, first_timestamp
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from tests.log.logs import (
    FOREVER_MS,
    STEM,
    T0,
    append,
    batches_of,
    content,
    end_transaction,
    open_log,
)

CONFIG = LogConfig(index_interval_bytes=0, segment_bytes=20_000, segment_ms=FOREVER_MS)
COUNT = 24
LARGE = b"x" * 1500
INDEX, TIMES = f"{STEM}.index", f"{STEM}.timeindex"


def answers(log: Log) -> list[object]:
    """What readers are told who do not depend on how many entries an index has."""
    found: list[object] = [read_log(log, offset, max_bytes=1).slice for offset in range(COUNT)]
    found = [(part.position, part.size_bytes) for part in found]  # type: ignore[attr-defined]
    found += [timestamps.offset_for_timestamp(log, T0 + 10 * moment) for moment in range(-1, COUNT)]
    found += [timestamps.max_timestamp_offset(log), log.segments.all[0].largest_timestamp()]
    for offset in range(COUNT):
        # More than that one may be told where an index has fewer entries (F-14).
        aborted = read_log(log, offset, max_bytes=1, isolation_level=1).aborted_transactions
        found.append(any(entry.first_offset <= offset for entry in aborted or ()))
    return found


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, list[object]]:
    """Two segments with an aborted transaction in each, put down cleanly, and what is in them."""
    log = open_log(tmp_path, CONFIG, now_ms=T0)
    for number in range(COUNT - 2):
        producer = (8, 0, number // 4) if number % 4 == 1 else (-1, -1, -1)
        transactional = producer[0] > 0
        append(log, T0 + 10 * number, producer=producer, transactional=transactional, value=LARGE)
        if number in {9, 17}:
            end_transaction(log, 8, commit=False, now_ms=T0 + 10 * number)
    log.close()
    assert len(log.segments.all) == 2
    expected = answers(open_log(tmp_path, CONFIG, now_ms=T0))
    return tmp_path, expected


def entries(path: Path, layout: str) -> list[tuple[int, int]]:
    return list(struct.iter_unpack(layout, path.read_bytes()))


def put(path: Path, layout: str, pairs: list[tuple[int, int]], tail: bytes = b"") -> None:
    path.write_bytes(b"".join(struct.pack(layout, *pair) for pair in pairs) + tail)


Change = Callable[[list[tuple[int, int]]], list[tuple[int, int]]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(INDEX, lambda e: [*e, (0, 0), (0, 0)], id="S-12 never cut"),
        pytest.param(INDEX, lambda e: e[:3], id="short"),
        pytest.param(INDEX, lambda _: [], id="empty"),
        pytest.param(INDEX, lambda e: [(k, p + 1) for k, p in e], id="inside of batches"),
        pytest.param(INDEX, lambda e: [(k, p + 3200) for k, p in e[:-3]], id="batches too late"),
        pytest.param(INDEX, lambda e: [*e[:-1], (e[-1][0], 1 << 30)], id="behind the end"),
        pytest.param(INDEX, lambda e: [*e[:-1], (e[-1][0], -5)], id="before the start"),
        pytest.param(INDEX, lambda e: e[::-1], id="not rising"),
        pytest.param(TIMES, lambda e: [*e, (0, 0)], id="S-12 times never cut"),
        pytest.param(TIMES, lambda e: e[:3], id="times short"),
        pytest.param(TIMES, lambda _: [], id="times empty"),
        pytest.param(TIMES, lambda e: [(t + 1, o) for t, o in e], id="times of no batch"),
        pytest.param(TIMES, lambda e: [*e[:-1], (e[-1][0], 1 << 20)], id="times behind the end"),
        pytest.param(TIMES, lambda e: [(e[0][0] - 1, e[5][1]), *e[6:]], id="a time too early"),
    ],
)  # fmt: skip
def test_s15_a_wrong_index_is_made_anew(
    written: tuple[Path, list[object]], name: str, change: Change
) -> None:
    directory, expected = written
    layout = ">ii" if name == INDEX else ">qi"
    put(directory / name, layout, change(entries(directory / name, layout)))
    log = open_log(directory, CONFIG, now_ms=T0)
    assert answers(log) == expected
    log.close()
    assert answers(open_log(directory, CONFIG, now_ms=T0)) == expected


@pytest.mark.parametrize("name", [INDEX, TIMES])
def test_s15_a_part_of_an_entry_is_not_left_on_purpose(
    written: tuple[Path, list[object]], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory, expected = written
    path = directory / name
    path.write_bytes(path.read_bytes()[:-3])
    assert answers(open_log(directory, CONFIG, now_ms=T0)) == expected
    assert caplog.messages == [
        f"indexes made anew path={directory / STEM}.log reason=they do not fit the batches"
    ]
    positions = [0, *(position for _, position in entries(directory / INDEX, ">ii"))]
    assert all(two - one > INDEX_INTERVAL_BYTES for one, two in pairwise(positions))


def test_s15_the_bound_of_a_read_is_looked_at(written: tuple[Path, list[object]]) -> None:
    """F-14: one that is too low would leave aborted transactions out."""
    directory, expected = written
    path = directory / INDEX
    found = entries(path, ">ii")
    found[5] = (found[5][0] - 1, found[5][1])
    found[4] = (found[4][0] - 1, found[4][1])
    put(path, ">ii", found)
    log = open_log(directory, CONFIG, now_ms=T0)
    bound = log.segments.all[0].offset_behind(found[5][1])
    assert bound is not None
    assert bound > found[5][0]
    assert answers(log) == expected


@pytest.fixture
def damaged(written: tuple[Path, list[object]]) -> Callable[[int, bytes], Path]:
    """Writes into the header of a batch of the first segment, which has no transactions then."""
    directory, _ = written
    (directory / f"{STEM}.txnindex").unlink()
    path = directory / f"{STEM}.log"
    starts = [0]
    for data in batches_of(path.read_bytes()):
        starts.append(starts[-1] + len(data))

    def write(number: int, data: bytes) -> Path:
        with path.open("r+b") as file:
            file.seek(starts[number] + (8 if len(data) == 4 else 0))
            file.write(data)
        return directory

    return write


LENGTHS = [b"\0\0\0\5", b"\xff\xff\xff\xff", b"\x7f\0\0\0", b"\0\0\0\x40"]


@pytest.mark.parametrize("length", LENGTHS[:3])
def test_s15_the_index_of_a_damaged_log_stays(
    damaged: Callable[[int, bytes], Path], length: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It leads to what is behind the damage, as in Kafka; an error or a wrong checksum tells it."""
    directory = damaged(3, length)
    before = (directory / INDEX).read_bytes()
    log = open_log(directory, CONFIG, now_ms=T0)
    for offset in (3, 3, 4):
        with suppress(errors.BrokerError):
            read_log(log, offset, max_bytes=1)
    assert "segment is damaged" in caplog.text
    assert (directory / INDEX).read_bytes() == before
    whole = batches_of((directory / f"{STEM}.log").read_bytes()[-1571:])
    assert content(read_log(log, log.segments.all[1].base_offset - 1, max_bytes=1)) in whole
    assert log.segments.all[0].largest_timestamp() > T0 + 30


def test_s44_an_offset_out_of_order_is_a_damaged_log(damaged: Callable[[int, bytes], Path]) -> None:
    directory = damaged(5, bytes(8))
    (directory / INDEX).write_bytes(b"")
    (directory / TIMES).write_bytes(b"")
    log = open_log(directory, CONFIG, now_ms=T0)
    assert log.segments.all[0].offset_index.count == 0
    assert read_log(log, 2, max_bytes=1).slice is not None
    assert log.segments.all[0].largest_timestamp() > 0
    assert log.segments.all[0].is_trusted


@pytest.mark.parametrize("length", LENGTHS)
def test_s24_the_batch_of_the_largest_timestamp_is_damaged(
    damaged: Callable[[int, bytes], Path], length: bytes
) -> None:
    directory = damaged(0, length)
    times = entries(directory / TIMES, ">qi")
    put(directory / TIMES, ">qi", [(times[-1][0], 0)])
    log = open_log(directory, CONFIG, now_ms=T0)
    assert log.segments.all[0].largest_timestamp() == times[-1][0]
    put(directory / INDEX, ">ii", [])
    log = open_log(directory, CONFIG, now_ms=T0)
    assert log.segments.all[0].largest_timestamp() == times[-1][0]


def test_s24_an_entry_of_both_indexes_leads_to_the_damaged_batch(
    damaged: Callable[[int, bytes], Path],
) -> None:
    directory = damaged(5, LENGTHS[0])
    times = entries(directory / TIMES, ">qi")
    put(directory / TIMES, ">qi", [(times[-1][0], 5)])
    log = open_log(directory, CONFIG, now_ms=T0)
    assert log.segments.all[0].largest_timestamp() == times[-1][0]


def test_s15_the_last_entry_is_looked_at_first(damaged: Callable[[int, bytes], Path]) -> None:
    directory = damaged(0, bytes(8))  # as it was
    for position in (5, 1 << 30):
        found = entries(directory / INDEX, ">ii")
        put(directory / INDEX, ">ii", [*found[:-1], (found[-1][0], position)][-1:])
        log = open_log(directory, CONFIG, now_ms=T0)
        assert log.segments.all[0].largest_timestamp() >= T0 + 90
        assert log.segments.all[0].offset_index.count < len(found) or position == 1 << 30


def test_s15_the_indexes_of_the_active_segment_stay_open(tmp_path: Path) -> None:
    """S-14: without timestamps there is no entry."""
    for timestamp in (T0, -1):
        log = open_log(tmp_path / str(timestamp), CONFIG, now_ms=T0)
        for _ in range(4):
            append(log, timestamp)
        log.close()
        path = tmp_path / str(timestamp) / TIMES
        path.write_bytes(path.read_bytes()[:-3])
        log = open_log(tmp_path / str(timestamp), CONFIG, now_ms=T0)
        assert log.segments.active.max_timestamp == timestamp
        append(log, T0 + 1)
        log.close()
        assert entries(path, ">qi")[-1] == (T0 + 1, 4)


def test_s30_a_damaged_first_batch_has_no_timestamp(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert first_timestamp(log.segments.active) == -1
    append(log, T0)
    assert first_timestamp(log.segments.active) == T0
    with (tmp_path / f"{STEM}.log").open("r+b") as file:
        file.seek(8)
        file.write(bytes(4))
    assert first_timestamp(log.segments.active) == -1


@pytest.mark.parametrize("length", [*LENGTHS, b"\x80\0\0\0"])
def test_s30_the_first_batch_of_the_active_segment_is_damaged(
    tmp_path: Path, length: bytes
) -> None:
    """After a clean stop what is behind the last entry of the index is looked at only."""
    config = LogConfig(index_interval_bytes=0, segment_ms=FOREVER_MS)
    log = open_log(tmp_path, config, now_ms=T0)
    for _ in range(4):
        append(log)
    log.close()
    with (tmp_path / f"{STEM}.log").open("r+b") as file:
        file.seek(8)
        file.write(length)
    log = open_log(tmp_path, config, now_ms=T0)
    assert log.log_end_offset == 4
    assert append(log).base_offset == 4


def test_s44_an_offset_that_falls_behind_the_last_entry(tmp_path: Path) -> None:
    """Such an end is none: the segment is recovered."""
    config = LogConfig(index_interval_bytes=1000, segment_ms=FOREVER_MS)
    log = open_log(tmp_path, config, now_ms=T0)
    for _ in range(4):
        append(log)
    log.close()
    path = tmp_path / f"{STEM}.log"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 4] + data)
    assert open_log(tmp_path, config, now_ms=T0).log_end_offset == 1


def test_s14_the_timestamps_of_old_formats_are_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """R-60."""
    body = bytes([1, 0]) + struct.pack(">qii", T0, -1, -1)
    message = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    (tmp_path / f"{STEM}.log").write_bytes(message)
    put(tmp_path / INDEX, ">ii", [])
    put(tmp_path / TIMES, ">qi", [(T0, 0)])
    assert open_log(tmp_path, CONFIG, now_ms=T0).segments.active.max_timestamp == T0
    assert caplog.messages == []

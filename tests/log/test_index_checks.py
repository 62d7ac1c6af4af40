"""S-12, S-15: an index that is missing, short, oversized or wrong is made anew, never believed."""

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.config import LogConfig
from broker_lite.log.index_checks import INDEX_INTERVAL_BYTES
from broker_lite.log.log import Log
from tests.log.logs import FOREVER_MS, STEM, T0, append, content, end_transaction, open_log

CONFIG = LogConfig(index_interval_bytes=0, segment_bytes=20_000, segment_ms=FOREVER_MS)
COUNT = 24
LARGE = b"x" * 1500
INDEX, TIMES = f"{STEM}.index", f"{STEM}.timeindex"


def answers(log: Log) -> list[object]:
    """What readers are told who do not depend on how many entries an index has."""
    found: list[object] = [log.read(offset, max_bytes=1).slice for offset in range(COUNT)]
    found = [(part.position, part.size_bytes) for part in found]  # type: ignore[attr-defined]
    found += [log.offset_for_timestamp(T0 + 10 * moment) for moment in range(-1, COUNT)]
    found += [log.max_timestamp_offset(), log.segments[0].largest_timestamp()]
    for offset in range(COUNT):
        # More than that one may be told where an index has fewer entries (F-14).
        aborted = log.read(offset, max_bytes=1, isolation_level=1).aborted_transactions
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
    assert len(log.segments) == 2
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
    bound = log.segments[0].offset_behind(found[5][1])
    assert bound is not None
    assert bound > found[5][0]
    assert answers(log) == expected


def test_s15_what_cannot_be_read_is_left_out_of_an_index(
    written: tuple[Path, list[object]], caplog: pytest.LogCaptureFixture
) -> None:
    """S-44: records that were damaged after a clean stop: what is before them is served."""
    directory, _ = written
    path = directory / f"{STEM}.log"
    data = bytearray(path.read_bytes())
    size = 12 + int.from_bytes(data[8:12], "big")
    for damaged in (b"\0\0\0\5", b"\xff\xff\xff\xff"):
        data[size * 3 + 8 : size * 3 + 12] = damaged
        path.write_bytes(data)
        (directory / INDEX).write_bytes(b"\0\0\0\1")
        (directory / f"{STEM}.txnindex").unlink(
            missing_ok=True
        )  # its check would have it recovered
        log = open_log(directory, CONFIG, now_ms=T0)
        assert content(log.read(1, max_bytes=1)) == bytes(data[size : size * 2])
        assert log.segments[0].largest_timestamp() <= T0 + 30
        with pytest.raises(errors.BrokerError):
            log.read(5, max_bytes=1)
    assert "segment is damaged" in caplog.text

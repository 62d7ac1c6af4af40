"""The newest offsets of the dirty part: S-82."""

from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage, InvalidRecord
from broker_lite.log.cleaner.eligibility import find_cleanable
from broker_lite.log.cleaner.job import CleaningJob, begin_job
from broker_lite.log.cleaner.offset_map import MapLimits, OffsetMap
from broker_lite.log.cleaner.pace import CleaningStopped, Pace
from tests.log.batches import batch as raw_batch
from tests.log.cleaner.cleaning import LIMITS, CleanedLog
from tests.log.logs import end_transaction, validated


def job_of(given: CleanedLog, checkpoint: int | None = None) -> CleaningJob:
    found = find_cleanable(given.log, checkpoint, given.now_ms)
    return begin_job(
        given.log,
        first_dirty=found.first_dirty,
        end_offset=found.end_offset,
        now_ms=given.now_ms,
        pace=Pace(float("inf"), lambda: 0),
    )


def filled(
    given: CleanedLog, checkpoint: int | None = None, limits: MapLimits = LIMITS
) -> OffsetMap:
    job = job_of(given, checkpoint)
    found = OffsetMap(limits, 1000)
    found.fill(job)
    return found


def offset_of(found: OffsetMap, key: str) -> int:
    return found.keys.get(memoryview(key.encode()), 0, len(key))


def test_the_newest_offsets_s82(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"), ("b", "1"), (None, "1"))
    given.append(("a", "2"), codec=4)
    given.roll()
    given.append(("b", None))
    given.roll()
    given.append(("c", "1"))
    found = filled(given)
    assert [offset_of(found, key) for key in "abc"] == [3, 4, -1]
    assert (found.latest_offset, found.keys.count) == (4, 2)
    found = filled(given, 4)
    assert [offset_of(found, key) for key in "ab"] == [-1, 4]


def test_it_begins_inside_of_a_segment_s82(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.append(("b", "1"), ("c", "1"))
    given.roll()
    given.append(("d", "1"))
    found = filled(given, 2)
    assert [offset_of(found, key) for key in "abc"] == [-1, -1, 2]


def test_gaps_at_the_end_of_a_segment_are_passed_over_s82(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.append((None, "1"))
    given.roll()
    given.append(("a", "2"))
    given.roll()
    given.append(("b", "1"))
    assert given.clean() == 3
    assert filled(given, 0).latest_offset == 2


def test_aborted_batches_and_markers_are_passed_over_s82(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"), producer=(7, 0, 0), transactional=True)
    end_transaction(given.log, 7, commit=False)
    given.append(("b", "1"), producer=(7, 0, 1), transactional=True)
    given.roll()
    end_transaction(given.log, 7, commit=True)
    given.append(("c", "1"), producer=(7, 0, 2), transactional=True)
    end_transaction(given.log, 7, commit=False)  # told by the active segment's index
    given.roll()
    given.append(("z", "1"))
    found = filled(given)
    assert [offset_of(found, key) for key in "abc"] == [-1, 2, -1]
    assert found.latest_offset == 5


def test_a_full_map_ends_at_a_record_s82(tmp_path: Path) -> None:
    """As Kafka's: what was put last is covered, though the batch goes on."""
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.append(("b", "1"), ("a", "2"), ("c", "1"), ("d", "1"))
    given.roll()
    given.append(("z", "1"))
    found = filled(given, limits=MapLimits(24 * 4, 0.75))
    assert (found.keys_max, found.latest_offset) == (3, 3)
    assert [offset_of(found, key) for key in "abcd"] == [2, 1, 3, -1]


def test_there_is_always_room_for_a_key_s82() -> None:
    assert OffsetMap(MapLimits(0, 0.9), 10).keys_max == 1
    assert MapLimits(134_217_728, 0.9).keys_max == 5033164  # as Kafka's by default


def test_an_empty_batch_has_no_keys_r16(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"), producer=(7, 0, 0))
    given.roll()
    given.append(("a", "2"))
    given.roll()
    given.append(("b", "1"))
    assert given.clean() == 2
    assert given.batches()[0].record_count == 0
    found = filled(given, 0)
    assert (offset_of(found, "a"), found.latest_offset) == (1, 1)


def test_nothing_dirty(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    assert filled(given).latest_offset == -1


def test_a_damaged_batch_is_an_error_s91(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.roll()
    given.append(("b", "1"))
    path = Path(given.log.segments.all[0].path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptMessage, match="no valid batch at position 0"):
        filled(given)


def test_records_that_cannot_be_read_are_an_error_s91(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.log.append(validated(raw_batch(b"\x02")), now_ms=given.now_ms)
    given.roll()
    given.append(("b", "1"))
    with pytest.raises(InvalidRecord):
        filled(given)


def test_it_can_be_stopped(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.roll()
    job = job_of(given)
    job.pace.stop()
    with pytest.raises(CleaningStopped):
        OffsetMap(LIMITS, 10).fill(job)


def test_the_map_grows_with_its_keys_s82(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    count = 40_000
    for first in range(0, count, 1000):
        given.append(*((str(number), "v") for number in range(first, first + 1000)))
    given.append(("7", "w"))
    given.roll()
    given.append(("end", "v"))
    job = job_of(given)
    found = OffsetMap(MapLimits(1 << 24, 0.9), count)
    before = found.keys.slots
    found.fill(job)
    assert (found.keys.slots > before, found.keys.count) == (True, count)
    assert [offset_of(found, key) for key in ("0", "7", "39999")] == [0, count, count - 1]

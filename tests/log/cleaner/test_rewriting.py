"""What is left of segments, and what stands beside it: S-84 to S-88."""

import os
from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage
from broker_lite.log import timestamps
from broker_lite.record.control import EndTransactionMarker
from tests.log.cleaner.cleaning import RETENTION_MS, CleanedLog, config
from tests.log.logs import T0, batch_bytes, end_transaction


def test_s_92_a_compaction_observed(tmp_path: Path) -> None:
    """S-82, S-84, S-85, S-87: the same as what a real broker left."""
    given = CleanedLog(tmp_path)
    given.append(("k", "1"), producer=(4000, 0, 0))
    given.roll()
    given.append(("a", "1"), ("b", "1"))
    given.roll()
    for pair in (("k", "2"), ("a", None), ("b", "2"), ("z", "1")):
        given.append(pair)
    given.roll()
    given.append(("z", "2"))
    given.append(("y", "1"))
    before = given.batch_bytes()
    assert given.clean() == 7
    found = given.batches()
    assert [(b.base_offset, b.record_count, b.attributes) for b in found] == [
        (0, 0, 0),
        (3, 1, 0),
        (4, 1, 0x40),
        (5, 1, 0),
        (6, 1, 0),
        (7, 1, 0),
        (8, 1, 0),
    ]
    assert given.batch_bytes()[1] == before[2]
    assert found[2].base_timestamp == given.now_ms + RETENTION_MS
    assert found[2].crc_is_valid()
    given.append(("x", "1"))
    given.append(("x", "2"))
    given.roll()
    given.append(("x", "3"))
    given.now_ms += RETENTION_MS
    assert given.clean() == 11
    assert [b.base_offset for b in given.batches()] == [0, 3, 5, 7, 8, 10, 11]


def test_all_codecs_s88(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    for codec in range(5):
        given.append(("old", "1"), (f"key {codec}", "2"), codec=codec)
    given.append(("old", "2"), ("whole", "1"), codec=4)
    given.roll()
    given.append(("end", "1"))
    before = given.batch_bytes()
    given.clean()
    expected = [(2 * codec + 1, f"key {codec}", "2") for codec in range(5)]
    assert given.records()[:5] == expected
    assert given.batch_bytes()[5] == before[5]  # of which all stays
    assert [batch.codec for batch in given.batches()[:6]] == [0, 1, 2, 3, 4, 4]


def test_transactions_s86(tmp_path: Path) -> None:
    """Aborted data goes at once, its marker with the horizon, and its index entry with its data."""
    given = CleanedLog(tmp_path)
    given.append(("a", "1"), producer=(7, 0, 0), transactional=True)
    end_transaction(given.log, 7, commit=True)
    given.append(("b", "1"), producer=(7, 0, 1), transactional=True)
    end_transaction(given.log, 7, commit=False)
    given.append(("x", "1"), producer=(7, 0, 2))
    given.roll()
    for value in "123":
        given.append(("z", value))
        given.roll()
    given.append(("z", "4"))
    given.clean()
    assert [batch.base_offset for batch in given.batches()][:4] == [0, 1, 3, 4]
    assert [e.first_offset for e in given.log.segments.all[0].transaction_index.entries()] == [2]
    assert f"{0:020d}.txnindex" in given.files()
    assert not given.batches()[2].has_delete_horizon

    given.roll()
    given.append(("z", "5"))
    given.clean()  # the data is gone: the marker gets its horizon, the index has no entry
    marker = next(batch for batch in given.batches() if batch.base_offset == 3)
    assert marker.delete_horizon_ms == given.now_ms + RETENTION_MS
    assert given.log.segments.all[0].transaction_index.entries() == []
    assert f"{0:020d}.txnindex" not in given.files()

    given.roll()
    given.append(("z", "6"))
    given.now_ms += RETENTION_MS
    given.clean()
    assert 3 not in [batch.base_offset for batch in given.batches()]
    assert given.records()[0] == (0, "a", "1")  # committed data stays with its marker


def test_the_last_batch_of_a_round_stays_s87(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.append((None, "1"))
    given.roll()
    given.append(("a", "2"))
    given.clean()
    assert [(b.base_offset, b.record_count) for b in given.batches()] == [(0, 1), (1, 0), (2, 1)]


def test_segments_become_one_with_indexes_s83_s88(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path, config(index_interval_bytes=0))
    for number in range(6):
        given.append((f"key {number}", "v"), timestamp=T0 + number)
        if number % 2:
            given.roll()
    given.append(("key 0", "w"))
    given.clean()
    assert [one.base_offset for one in given.log.segments.all] == [0, 6]
    first = given.log.segments.all[0]
    size = first.size_bytes // 6
    assert [first.offset_index.entry(i) for i in range(5)] == [
        (i + 1, size * (i + 1)) for i in range(5)
    ]
    assert first.max_timestamp_entry() == (T0 + 5, 5)
    assert first.time_index.last_entry() == (T0 + 5, 5)
    assert timestamps.offset_for_timestamp(given.log, T0 + 3).offset == 3  # type: ignore[union-attr]


def test_a_limit_of_size_makes_groups_s83(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path, config(segment_bytes=160))
    for number in range(5):
        given.append((f"{number}", "v"))
        given.roll()
    given.append(("end", "v"))
    given.clean()
    assert [one.base_offset for one in given.log.segments.all] == [0, 2, 4, 5]


def test_the_age_of_the_file_stays_s89(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.roll()
    given.append(("a", "2"))
    os.utime(given.log.segments.all[0].path, ns=(10**18, 10**18))
    given.clean()
    assert given.log.segments.all[0].modified_ms() == 10**12


def test_a_damaged_batch_changes_nothing_s91(tmp_path: Path) -> None:
    """Damage that comes between the two passes; what was written is removed."""
    given = CleanedLog(tmp_path)
    given.append(("a", "1"))
    given.roll()
    given.append(("b", "1"))
    before = given.files()
    cleaning = given.begin()
    cleaning.gather()
    path = Path(given.log.segments.all[0].path)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptMessage):
        cleaning.rewrite_next()
    given.cleaner.done(cleaning)
    assert given.files() == before
    assert given.cleaner.checkpoint.get(("topic", 0)) is None


def test_a_batch_larger_than_what_is_read_at_once_s88(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.log.append_batch(batch_bytes(T0, value=b"v" * (3 << 20)), now_ms=given.now_ms)
    given.append(("a", "1"))
    given.roll()
    given.append(("b", "1"))
    given.clean()
    assert [len(data) > 3 << 20 for data in given.batch_bytes()] == [True, False, False]


def test_a_marker_of_a_producer_without_data_s87(tmp_path: Path) -> None:
    given = CleanedLog(tmp_path)
    given.log.append_control(9, 5, EndTransactionMarker(True, 0), now_ms=given.now_ms)
    for value in "123":
        given.append(("a", value))
        given.roll()
    given.append(("b", "1"))
    given.clean()
    given.now_ms += RETENTION_MS
    given.roll()
    given.append(("b", "2"))
    given.clean()
    first = given.batches()[0]
    assert (first.base_offset, first.record_count, first.is_control) == (0, 0, True)

"""Finds records of a split: the same ones whatever is passed over, and damage is told.

Also tests: broker_lite.pipeline.matching.current_batch.
"""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.counted_files import CountedFileIO
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.matching.conditions import EVERY_RECORD, Conditions
from broker_lite.pipeline.matching.found_records import RecordFinder
from broker_lite.pipeline.read.corruption import Corruption, CorruptLog, raise_corruption
from broker_lite.record.codecs.compression import Codec
from tests.pipeline.reading import options
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)

BATCHES = 6
EACH = 50


def finder(
    root: Path,
    conditions: Conditions = EVERY_RECORD,
    *,
    first_offset: int = 0,
    end_offset: int = 1 << 62,
    damages: list[Corruption] | None = None,
    **given: str,
) -> RecordFinder:
    split = whole_split(root, first_offset=first_offset, end_offset=end_offset)
    on_corrupt = raise_corruption if damages is None else damages.append
    return RecordFinder(LocalFileIO(), split, options(**given), conditions, on_corrupt)


def offsets(one: RecordFinder) -> list[int]:
    return [record.offset for found in one.find() for record in found.records]


def filled(root: Path, codec: int = 0) -> None:
    with Partition(root) as partition:
        for number in range(BATCHES):
            partition.append(numbered(EACH, first=number * EACH), codec=codec)


@pytest.mark.parametrize("codec", Codec)
def test_keys_and_texts(tmp_path: Path, codec: Codec) -> None:
    filled(tmp_path, codec)
    wanted = Conditions(keys=frozenset([b"key-000070", b"key-000299"]))
    assert offsets(finder(tmp_path, wanted)) == [70, 299]
    many = Conditions(keys=frozenset(b"key-%06d" % number for number in range(95, 105)))
    assert offsets(finder(tmp_path, many)) == [*range(95, 105)]
    assert offsets(finder(tmp_path, Conditions(texts=(b"00000123",)))) == [123]
    assert offsets(finder(tmp_path)) == [*range(BATCHES * EACH)]


def test_only_the_offsets_of_the_split(tmp_path: Path) -> None:
    filled(tmp_path)
    one = finder(tmp_path, first_offset=60, end_offset=130)
    assert one.passed_offset == 60
    assert offsets(one) == [*range(60, 130)]
    assert one.passed_offset == 130


def test_times(tmp_path: Path) -> None:
    filled(tmp_path)
    assert offsets(finder(tmp_path, Conditions(from_ms=T0 + 90, until_ms=T0 + 110))) == [
        *range(90, 110)
    ]
    with Partition(tmp_path / "stamped") as partition:
        for time in (T0 + 2, T0 + 1, T0 + 3):
            partition.append(numbered(2), log_append_time_ms=time)
    wanted = Conditions(from_ms=T0 + 2, until_ms=T0 + 3)
    assert offsets(finder(tmp_path / "stamped", wanted)) == [0, 1]


def test_f14_aborted_records_and_markers_are_left_out(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for producer_id, commit in ((7, True), (8, False)):
            partition.append(numbered(2), producer_id=producer_id, is_transactional=True)
            partition.end_transaction(producer_id, commit=commit)
        partition.append(numbered(1))
    assert offsets(finder(tmp_path)) == [0, 1, 3, 4, 6]
    assert offsets(finder(tmp_path, isolationLevel="read_committed")) == [0, 1, 6]


def test_r65_old_messages_are_batches_of_today(tmp_path: Path) -> None:
    stamped = 8
    messages = [
        legacy_message(0, b"a", None, magic=0),
        legacy_message(1, b"b", b"B", timestamp_ms=T0 + 1),
        legacy_wrapper(
            3, [legacy_message(0, b"c", b"C"), legacy_message(1, b"d", b"D")], attributes=stamped
        ),
    ]
    write_segment(tmp_path, b"".join(messages))
    found = [
        (record.offset, record.timestamp, record.key, record.value, batch.is_log_append_time)
        for batch, records in finder(tmp_path).find()
        for record in records
    ]
    assert found == [
        (0, -1, b"a", None, False),
        (1, T0 + 1, b"b", b"B", False),
        (2, T0, b"c", b"C", True),
        (3, T0, b"d", b"D", True),
    ]
    assert offsets(finder(tmp_path, Conditions(keys=frozenset([b"d"])))) == [3]


def test_damage_is_told_and_costs_its_batch(tmp_path: Path) -> None:
    filled(tmp_path)
    path = next((tmp_path / "topic-0").glob("*.log"))
    damage(path, path.stat().st_size // 2 + 100)
    damages: list[Corruption] = []
    found = offsets(finder(tmp_path, damages=damages))
    assert len(found) == (BATCHES - 1) * EACH
    assert [each.rule for each in damages] == ["R-06"]
    with pytest.raises(CorruptLog):
        offsets(finder(tmp_path))


@pytest.mark.parametrize("conditions", [EVERY_RECORD, Conditions(keys=frozenset([b"key-000003"]))])
def test_r37_records_that_cannot_be_decoded(tmp_path: Path, conditions: Conditions) -> None:
    """Without checksums, the records themselves have to be sound."""
    with Partition(tmp_path) as partition:
        partition.append(numbered(4))
    path = next((tmp_path / "topic-0").glob("*.log"))
    damage(path, 61, 0x3F)  # the length of the first record
    damages: list[Corruption] = []
    assert offsets(finder(tmp_path, conditions, damages=damages, checkCrc="false")) == []
    assert [each.rule for each in damages] == ["R-37"]


@pytest.mark.parametrize("first", [b"truncated", b""])
def test_r82_streams_that_do_not_end(tmp_path: Path, first: bytes) -> None:
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(first, b"x" * 1000)], codec=Codec.ZSTD)
    path = next((tmp_path / "topic-0").glob("*.log"))
    damage(path, path.stat().st_size - 6)
    damages: list[Corruption] = []
    wanted = Conditions(texts=(b"x" * 10,))
    assert offsets(finder(tmp_path, wanted, damages=damages, checkCrc="false")) in ([], [0])


def test_the_bytes_that_are_read_are_counted(tmp_path: Path) -> None:
    filled(tmp_path)
    counted = CountedFileIO(LocalFileIO())
    split = whole_split(tmp_path)
    one = RecordFinder(counted, split, options(), EVERY_RECORD, raise_corruption)
    assert len(offsets(one)) == BATCHES * EACH
    assert counted.counted_bytes == split.size_bytes

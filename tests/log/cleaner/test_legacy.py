"""What is left of messages of magic 0 and 1: S-82, S-84, R-90."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from broker_lite.errors import UnknownServerError
from broker_lite.log.cleaner.legacy import LegacyRound, compacted_legacy, note_legacy_keys
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.records import iterate_records
from tests.log.cleaner.cleaning import RETENTION_MS, CleanedLog
from tests.log.logs import T0

Row = tuple[int, bytes | None, bytes | None]
HORIZON_MS = T0 + 10**9
ROWS: tuple[Row, ...] = ((10, b"a", b"0"), (11, b"b", None), (12, b"a", b"2"), (13, None, b"3"))


def message(
    rows: Iterable[Row] = ROWS, *, magic: int = 1, codec: int = 1, append_time: int | None = None
) -> LegacyMessage:
    builder = LegacySetBuilder(magic, codec=codec, log_append_time_ms=append_time)
    for offset, key, value in rows:
        builder.append(offset, T0 + offset if magic else -1, key, value)
    return viewed(builder.build())


def viewed(data: bytes | memoryview) -> LegacyMessage:
    return LegacyMessage(memoryview(data), 0, len(data))


def new_keys() -> KeyMap:
    return KeyMap(memoryview(bytearray(24 * 16)).cast("Q"), 1, 2)


def round_of(*, latest: int = 100, keeps_null: bool = True, end_offset: int = 100) -> LegacyRound:
    keys = new_keys()
    assert note_legacy_keys(iterate_legacy(message()), keys, 10, 0) == (12, False)
    return LegacyRound(keys, latest, keeps_null, end_offset, HORIZON_MS)


def left(found: bytes | None) -> RecordBatch:
    assert found is not None
    batch = RecordBatch(memoryview(found), 0, len(found))
    assert batch.crc_is_valid()
    return batch


def offsets(batch: RecordBatch) -> list[int]:
    return [record.offset for record in iterate_records(batch)]


def test_keys_go_into_the_map_s82() -> None:
    keys = new_keys()
    assert note_legacy_keys(iterate_legacy(message()), keys, 1, 11) == (11, True)
    assert keys.get(memoryview(b"b"), 0, 1) == 11
    assert keys.get(memoryview(b"a"), 0, 1) == -1


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_what_stays_becomes_a_v2_batch_s84_r90_r92(magic: int, codec: int) -> None:
    """As Kafka 4.3.1 writes it, not by the rule of 3.x, which keeps the magic."""
    given = message(ROWS if codec else ROWS[2:3], magic=magic, codec=codec)
    found = left(compacted_legacy(given, round_of()))
    assert (found.magic, found.codec, found.is_log_append_time) == (2, codec, False)
    assert (found.leader_epoch, found.producer_id, found.base_sequence) == (-1, -1, -1)
    expected = [(11, b"b", None), (12, b"a", b"2")][-found.record_count :]
    times = [T0 + offset if magic else -1 for offset, _, _ in expected]
    records = list(iterate_records(found))
    assert [(r.offset, r.key, r.value) for r in records] == expected
    assert [r.timestamp for r in records] == times
    assert (found.base_offset, found.last_offset) == (expected[0][0], 12)
    assert found.max_timestamp == times[-1]
    assert found.delete_horizon_ms == (HORIZON_MS if codec else None)  # of the tombstone


def test_tombstones_go_with_the_age_of_their_segment_s84() -> None:
    assert offsets(left(compacted_legacy(message(), round_of(keeps_null=False)))) == [12]


def test_log_append_time_stays_r90() -> None:
    found = left(compacted_legacy(message(append_time=T0 + 99), round_of()))
    assert (found.is_log_append_time, found.max_timestamp) == (True, T0 + 99)


def test_what_was_not_looked_at_stays_s84() -> None:
    assert offsets(left(compacted_legacy(message(), round_of(latest=9)))) == [10, 11, 12, 13]


def test_nothing_is_left_s84_s87() -> None:
    given = message([(10, b"a", b"0")], codec=0)
    assert compacted_legacy(given, round_of()) is None
    with pytest.raises(UnknownServerError, match="only supported for magic v2"):
        compacted_legacy(given, round_of(end_offset=11))


def test_a_log_of_old_messages_is_compacted_s82_s84(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    directory.mkdir()
    plain = b"".join(
        bytes(message([(offset, b"k%d" % (offset % 3), b"v")], codec=0).buffer)
        for offset in range(6)
    )
    given = plain + bytes(message([(6, b"k0", b"v"), (7, None, b"v"), (8, b"x", b"v")]).buffer)
    (directory / f"{0:020d}.log").write_bytes(given)
    cleaned = CleanedLog(tmp_path)
    cleaned.log = cleaned.reopened()
    cleaned.roll()
    cleaned.append(("end", "1"))
    assert cleaned.clean() == 9
    found = cleaned.batches()
    assert [offset for batch in found for offset in offsets(batch)] == [4, 5, 6, 8, 9]
    assert cleaned.log.segments.all[0].max_timestamp == T0 + 8


def test_tombstones_go_when_the_clean_part_is_so_much_younger_s84(tmp_path: Path) -> None:
    """By the ages of the files: that of the last clean one minus delete.retention.ms."""
    directory = tmp_path / "topic-0"
    directory.mkdir()
    for offset in range(2):
        one = message([(offset, b"k%d" % offset, None)], codec=0)
        (directory / f"{offset:020d}.log").write_bytes(one.buffer)
    given = CleanedLog(tmp_path)
    given.log = given.reopened()
    given.roll()
    given.append(("z", "1"))
    given.roll()
    given.append(("end", "1"))
    for offset, seconds in ((0, 100), (1, 100 + RETENTION_MS // 1000), (2, 999)):
        path = given.log.segments.holding(offset).path
        os.utime(path, (seconds, seconds))
    given.cleaner.checkpoint.note(("topic", 0), 2)
    given.clean()
    log_bytes = Path(given.log.segments.all[0].path).read_bytes()
    assert log_bytes[:8] == (1).to_bytes(8, "big")  # the first one went

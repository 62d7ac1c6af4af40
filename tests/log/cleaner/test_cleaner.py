"""Which log is next, and what becomes of one that fails: S-81, S-91."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage, KafkaStorageError
from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.cleaner.eligibility import Cleanable
from broker_lite.log.directory.idle import IdleSegment
from broker_lite.log.directory.partitions import Partition
from tests.log.cleaner.cleaning import KEY, CleanedLog, config


def dirty(data_dir: Path) -> CleanedLog:
    given = CleanedLog(data_dir)
    given.append(("a", "1"))
    given.roll()
    given.append(("a", "2"))
    return given


def found(given: CleanedLog) -> list[Cleanable]:
    return [one for one in given.cleaner.candidates() if one is not None]


def test_s_81_logs_that_are_due(tmp_path: Path) -> None:
    given = dirty(tmp_path)
    (one,) = found(given)
    assert (one.log, one.first_dirty, one.end_offset) == (given.log, 0, 1)
    assert given.clean() == 1
    assert found(given) == []
    assert given.cleaner.checkpoint.get(KEY) == 1
    assert given.cleaner.checkpoint.has_changed


def test_other_logs_are_not_looked_at(tmp_path: Path) -> None:
    given = dirty(tmp_path)
    given.log.segments.is_being_cleaned = True
    assert found(given) == []
    given.log.segments.is_being_cleaned = False
    given.log.flusher.offline_reason = OSError("gone")
    assert found(given) == []
    given.log.flusher.offline_reason = None
    given.partition.config = config(cleanup_compact=False)
    assert found(given) == []


def test_a_log_that_nobody_uses_is_loaded_when_there_is_something_to_clean(tmp_path: Path) -> None:
    given = dirty(tmp_path)
    given.partition.log = None
    assert found(given) == []  # not read yet
    given.partition.idle = (IdleSegment(0, 70, 0),)
    assert found(given) == []
    given.partition.idle = (IdleSegment(0, 70, 0), IdleSegment(1, 70, 0))
    assert len(found(given)) == 1
    given.partition.is_clean = False  # it is offline
    assert found(given) == []


def test_the_loop_has_its_turn_among_many_logs(tmp_path: Path) -> None:
    given = dirty(tmp_path)
    for number in range(200):
        given.partitions["other", number] = Partition(config(cleanup_compact=False))
    turns: Iterator[Cleanable | None] = given.cleaner.candidates()
    next(turns)
    del given.partitions["other", 3]  # deleted meanwhile
    assert sum(one is None for one in turns) == 3


@pytest.mark.parametrize("error", [KafkaStorageError("the disk"), ZeroDivisionError("a bug")])
def test_a_log_that_cannot_be_loaded_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    given = dirty(tmp_path)

    def load(topic: str, partition: int) -> None:
        raise error

    given.cleaner = Cleaner(
        tmp_path,
        given.partitions,
        given.removal,
        load=load,  # type: ignore[arg-type]
        now_ms=lambda: given.now_ms,
    )
    assert found(given) == []
    assert "cleaner did not check topic=topic-0" in caplog.text
    assert str(error) in caplog.text


def test_a_checkpoint_behind_the_log_is_written_anew_s80(tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 99\n")
    given = dirty(tmp_path)
    assert [one.first_dirty for one in found(given)] == [0]
    assert given.cleaner.checkpoint.get(KEY) == 0


def test_s_91_a_damaged_log_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = dirty(tmp_path)
    given.cleaner.failed(given.log, KafkaStorageError("full"))
    given.cleaner.failed(given.log, OSError("full"))
    assert len(found(given)) == 1  # tried again
    given.cleaner.failed(given.log, CorruptMessage("damaged"))
    assert found(given) == []
    assert "is_final=True reason=damaged" in caplog.text
    given.log = given.partition.log = CleanedLog(tmp_path).log  # made anew
    assert len(found(given)) == 1


def test_a_log_that_is_deleted_does_not_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = dirty(tmp_path)
    (one,) = found(given)
    assert given.cleaner.is_still_due(one)
    given.log.delete()
    assert not given.cleaner.is_still_due(one)
    given.cleaner.failed(given.log, OSError("gone"))
    assert caplog.text == ""


def test_s89_nothing_is_written_for_a_log_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    """A new topic of the same name may have its directory."""
    given = dirty(tmp_path)
    cleaning = given.begin()
    cleaning.gather()
    given.log.delete()
    before = given.files()
    with pytest.raises(KafkaStorageError):
        cleaning.rewrite_next()
    assert given.files() == before


def test_what_was_not_finished_is_not_noted_s82(tmp_path: Path) -> None:
    given = dirty(tmp_path)
    cleaning = given.begin()
    cleaning.gather()
    given.cleaner.done(cleaning)
    assert given.cleaner.checkpoint.get(KEY) is None
    assert not given.log.segments.is_being_cleaned
    assert cleaning.rewrite_next() is None

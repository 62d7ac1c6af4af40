"""S-32: somebody deletes, moves or replaces a file under the running broker."""

from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite import errors
from tests.log.logs import NOW_MS, append, open_log


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.with_suffix(".copy").write_bytes(path.read_bytes())
    path.with_suffix(".copy").replace(path)


def moved(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))


LOST_WAYS = pytest.mark.parametrize("lose", [deleted, replaced, moved])


@LOST_WAYS
@pytest.mark.parametrize("is_rolled", [False, True])
def test_s32_a_file_that_somebody_took_away_is_noticed(
    tmp_path: Path,
    lose: Callable[[Path], None],
    is_rolled: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was acknowledged would be gone at the next start: no more of that."""
    log = open_log(tmp_path)
    append(log)
    path = Path(log.active.path)
    if is_rolled:
        log.roll(NOW_MS)
        append(log)
        path.unlink()
    else:
        lose(path)
    with pytest.raises(errors.KafkaStorageError):
        log.flush(log.active.base_offset)  # as the checkpoint does, without the active segment
    assert [each.split()[:2] for each in caplog.messages] == [["partition", "offline"]]
    assert str(path) in caplog.text
    with pytest.raises(errors.KafkaStorageError):
        append(log)


@LOST_WAYS
def test_s32_nothing_is_acknowledged_that_the_next_start_does_not_find(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    log = open_log(tmp_path)
    append(log)
    lose(Path(log.active.path))
    append(log)
    with pytest.raises(errors.KafkaStorageError):
        log.flush_records(2)
    assert log.recovery_point == 0


def test_s54_the_file_of_a_deleted_log_is_not_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(tmp_path)
    append(log)
    Path(log.active.path).unlink()
    log.delete()
    with pytest.raises(errors.KafkaStorageError):
        log.flush()
    assert caplog.messages == []

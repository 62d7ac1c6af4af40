"""S-60, S-65: when the file of the leader epochs is written, and when it is on disk."""

from pathlib import Path

import pytest

from broker_lite import errors
from broker_lite.log.epoch_file import EpochFile
from broker_lite.log.files.leader_epochs import FILE_NAME, EpochEntry, LeaderEpochCache
from tests.support.disk import Disk


def test_s60_a_new_file_is_made_at_once_and_replaced_later(tmp_path: Path, disk: Disk) -> None:
    """A batch has to wait for the first one: no second name, no rename."""
    epochs = LeaderEpochCache([(0, 0)])
    epoch_file = EpochFile(epochs, is_new=True)
    disk.refuse("replace")
    epoch_file.save(str(tmp_path))
    assert (tmp_path / FILE_NAME).read_text() == "0\n1\n0 0\n"
    with pytest.raises(errors.KafkaStorageError):
        epoch_file.save(str(tmp_path))
    disk.mend()
    epochs.assign(1, 5)
    epoch_file.save(str(tmp_path))
    assert (tmp_path / FILE_NAME).read_text() == "0\n2\n0 0\n1 5\n"


def test_s65_a_stale_file_is_stale_until_it_is_written(tmp_path: Path) -> None:
    epoch_file = EpochFile(LeaderEpochCache([(0, 0)]))
    epoch_file.is_stale = True
    with pytest.raises(errors.KafkaStorageError):
        epoch_file.save(str(tmp_path / "none"))
    assert epoch_file.is_stale
    epoch_file.save(str(tmp_path))
    assert not epoch_file.is_stale


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        pytest.param(0, 9, [(0, 0), (3, 5)], id="S-46 nothing is outside"),
        pytest.param(0, 5, [(0, 0)], id="S-65 from the end"),
        pytest.param(6, 9, [(3, 6)], id="S-65 from the start"),
    ],
)
def test_s65_epochs_outside_of_a_loaded_log_go(
    tmp_path: Path, start: int, end: int, left: list[tuple[int, int]]
) -> None:
    saved = [EpochEntry(0, 0), EpochEntry(3, 5)]
    epochs = LeaderEpochCache(saved)
    EpochFile(epochs).fit(str(tmp_path), start, end, saved)
    assert epochs.entries == left
    assert (tmp_path / FILE_NAME).exists() == (left != saved)


def test_s32_each_state_of_the_file_is_synced_once(tmp_path: Path, disk: Disk) -> None:
    epoch_file = EpochFile(LeaderEpochCache([(0, 0)]), is_new=True)
    synced = disk.watch()
    epoch_file.sync(str(tmp_path))  # there is no file yet
    assert synced == []
    epoch_file.save(str(tmp_path))
    for _ in range(2):
        epoch_file.sync(str(tmp_path))
    assert synced == [str(tmp_path / FILE_NAME), str(tmp_path)]
    epoch_file.save(str(tmp_path))
    epoch_file.sync(str(tmp_path))
    assert len(synced) == 4

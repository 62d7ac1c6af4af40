"""S-17, S-18: the newest snapshot that can be read tells the producers."""

from pathlib import Path

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.producer_snapshots import newest_producers
from tests.pipeline.support import Partition, damage, numbered


def test_s_45_the_newest_readable_one_up_to_an_offset(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for producer_id in (1, 2, 3):
            partition.append(numbered(2), producer_id=producer_id)
            partition.log.segments.take_snapshot(
                partition.log.log_end_offset, partition.log.producer_state
            )
    directory = str(partition.directory)
    assert list(newest_producers(LocalFileIO(), directory, 6)) == [1, 2, 3]
    assert list(newest_producers(LocalFileIO(), directory, 5)) == [1, 2]
    assert newest_producers(LocalFileIO(), directory, 1) == {}
    damage(partition.directory / f"{4:020d}.snapshot", 20)
    assert list(newest_producers(LocalFileIO(), directory, 5)) == [1]

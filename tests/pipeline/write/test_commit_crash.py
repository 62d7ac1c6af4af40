"""S-41 to S-44: a driver that is killed at any step of a commit leaves a log that recovers."""

import shutil
from pathlib import Path

from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.log_writer import Placement
from tests.pipeline.support import T0, Partition, numbered
from tests.pipeline.write.test_restamp import batches
from tests.pipeline.write_support import stage


class Watched(LocalFileIO):
    """Files of which a copy is kept as they are in front of each rename."""

    __slots__ = ("copies", "root")

    def __init__(self, root: Path, copies: Path) -> None:
        self.root = root
        self.copies = copies

    def rename(self, old: str, new: str) -> None:  # type: ignore[explicit-override]
        """See FileIO."""
        shutil.copytree(self.root, self.copies / f"{len(list(self.copies.iterdir())):03d}")
        super().rename(old, new)


def recovered_end(directory: Path) -> int:
    """The log end offset after an unclean start, which trusts what is below offset 3 only."""
    request = LoadRequest("topic", 0, str(directory), LogConfig(), 3, None, is_clean=False)
    log = load_log(request, FileCache(), now_ms=T0)
    log.close()
    return log.log_end_offset


def test_every_step_leaves_a_beginning_of_what_was_written(tmp_path: Path) -> None:
    root, copies = tmp_path / "logs", tmp_path / "copies"
    copies.mkdir()
    with Partition(root) as partition:
        partition.append(numbered(3))
    staged = []
    for tag in ("a", "b", "c"):
        placement = Placement(str(root), "topic", 0, f"job-{tag}", is_relative=True)
        staged += stage(placement, numbered(4))
    commit(Watched(root, copies), str(root), staged)
    found = [recovered_end(path / "topic-0") for path in [*sorted(copies.iterdir()), root]]
    assert len(found) > 10
    assert found == sorted(found)
    assert set(found) == {3, 7, 11, 15}
    for path in copies.iterdir():
        names = [file.name for file in (path / "topic-0").iterdir()]
        assert not [name for name in names if name.endswith(".deleted")]
        logs = sorted((path / "topic-0").glob("*.log"))
        offsets = [batch.base_offset for log in logs for batch in batches(log)]
        assert offsets == [0, 3, 7, 11][: len(offsets)]

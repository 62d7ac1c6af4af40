from pathlib import Path

import pytest

from broker_lite.pipeline.files.pinned_files import PinnedFiles
from tests.pipeline.stream_support import IO


def test_files_and_listings_stay_as_they_were(tmp_path: Path) -> None:
    names = ["0.log", "0.txnindex"]
    for name in names:
        (tmp_path / name).write_bytes(b"before")
    with PinnedFiles(IO) as files:
        listing = files.list(str(tmp_path))
        for name in names:
            files.open(str(tmp_path / name))
            (tmp_path / name).unlink()
        (tmp_path / "0.log").write_bytes(b"what came after")
        assert files.list(str(tmp_path)) == listing
        for name in names:
            with files.open(str(tmp_path / name)) as file:
                assert file.size_bytes == 6
                assert file.read_at(0, 100) == b"before"
            assert file.read_at(3, 2) == b"or"  # the end of a with closes nothing
    with (
        pytest.raises(OSError, match="Bad file descriptor"),
        files.open(str(tmp_path / "0.log")) as file,
    ):
        file.read_at(0, 1)


def test_an_index_of_transactions_needs_no_descriptor(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.txnindex") for number in range(3)]
    for path in paths:
        Path(path).write_bytes(b"entry")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with PinnedFiles(IO) as files:
        for path in paths:
            files.open(path)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_is_not_there_is_looked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    with PinnedFiles(IO) as files:
        with pytest.raises(FileNotFoundError):
            files.open(str(path))
        path.write_bytes(b"x")
        assert files.open(str(path)).size_bytes == 1

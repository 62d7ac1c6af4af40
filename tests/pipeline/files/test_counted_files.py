"""A FileIO that counts does everything that the other one does."""

from pathlib import Path

from broker_lite.pipeline.files.counted_files import CountedFileIO
from broker_lite.pipeline.files.file_io import LocalFileIO, read_whole


def test_it_counts_and_passes_everything_on(tmp_path: Path) -> None:
    io = CountedFileIO(LocalFileIO())
    directory, path = str(tmp_path / "d"), str(tmp_path / "d" / "f")
    io.make_directory(directory)
    with io.create(path) as file:
        file.write(b"\0" * 10 + b"data")
    io.sync(path)
    assert io.counted_bytes == 0
    assert read_whole(io, path) == b"\0" * 10 + b"data"
    assert io.counted_bytes == 14
    with io.open(path) as opened:
        assert opened.read_at(12, 10) == b"ta"
        assert opened.next_data(0) in range(11)
        assert opened.size_bytes == 14
    assert io.counted_bytes == 16
    assert io.read_bytes == LocalFileIO().read_bytes
    assert CountedFileIO(LocalFileIO(), 1000).read_bytes == 1000
    assert [info.name for info in io.list(directory)] == ["f"]
    assert io.size(path) == 14
    io.rename(path, path + "2")
    assert not io.exists(path)
    io.delete(path + "2")
    assert io.list(directory) == []

import pickle

import fsspec
import pytest

from broker_lite.pipeline.files.arrow_files import ArrowFileIO
from broker_lite.pipeline.files.file_io import FileInfo, FileIO, LocalFileIO, join
from broker_lite.pipeline.files.open_file_io import open_file_io


@pytest.fixture(params=["local", "file", "arrow", "fsspec"])
def storage(request, tmp_path):
    """A FileIO of each kind with an empty directory of its own."""
    match request.param:
        case "local":
            yield open_file_io(str(tmp_path))
        case "file":
            yield open_file_io(tmp_path.as_uri())
        case "arrow":
            from pyarrow import fs

            yield ArrowFileIO(fs.LocalFileSystem()), str(tmp_path)
        case "fsspec":
            yield open_file_io("memory://logs")
            memory = fsspec.filesystem("memory")
            if memory.exists("/logs"):
                memory.rm("/logs", recursive=True)


def write(io: FileIO, path: str, data: bytes) -> None:
    with io.create(path) as file:
        file.write(data)


def test_what_is_written_is_read(storage):
    io, root = storage
    directory = join(root, "a", "b")
    io.make_directory(directory)
    io.make_directory(directory)
    path = join(directory, "file")
    write(io, path, b"0123456789")
    with io.open(path) as file:
        assert file.size_bytes == 10
        assert file.read_at(3, 4) == b"3456"
        assert file.read_at(8, 4) == b"89"
        assert file.read_at(10, 4) == b""
        assert file.read_at(99, 4) == b""
    assert io.size(path) == 10
    io.sync(path)
    io.sync(directory)


def test_a_directory_is_listed_by_name(storage):
    io, root = storage
    io.make_directory(join(root, "d"))
    write(io, join(root, "d", "inner"), b"x")
    write(io, join(root, "c"), b"123")
    write(io, join(root, "e"), b"")
    assert io.list(root) == [
        FileInfo("c", 3, False),
        FileInfo("d", 0, True),
        FileInfo("e", 0, False),
    ]


def test_a_file_is_no_directory(storage):
    io, root = storage
    io.make_directory(root)
    write(io, join(root, "file"), b"")
    with pytest.raises(NotADirectoryError):
        io.list(join(root, "file"))


def test_what_is_not_there(storage):
    io, root = storage
    missing = join(root, "missing")
    assert not io.exists(missing)
    for function in (io.list, io.size, io.open, io.delete):
        with pytest.raises(FileNotFoundError):
            function(missing)


def test_a_file_is_renamed_over_another_one_and_removed(storage):
    io, root = storage
    io.make_directory(root)
    old, new = join(root, "old"), join(root, "new")
    write(io, old, b"new content")
    write(io, new, b"old content")
    io.rename(old, new)
    assert not io.exists(old)
    with io.open(new) as file:
        assert file.read_at(0, 99) == b"new content"
    io.delete(new)
    assert not io.exists(new)


def test_it_can_be_pickled(storage):
    io, root = storage
    io.make_directory(root)
    write(io, join(root, "file"), b"abc")
    assert pickle.loads(pickle.dumps(io)).size(join(root, "file")) == 3


def test_an_entry_that_leads_nowhere_is_left_out(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "file").touch()
    assert LocalFileIO().list(str(tmp_path)) == [FileInfo("file", 0, False)]


def test_a_descriptor_is_closed(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    with LocalFileIO().open(str(tmp_path / "file")) as file:
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read_at(0, 1)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("a", "b"), "a/b"),
        (("/", "b"), "/b"),
        (("a/", "b/", "c"), "a/b/c"),
        (("", "b"), "b"),
        (("x://a", "b"), "x://a/b"),
    ],
)
def test_join(parts, path):
    assert join(*parts) == path

"""A log directory that is written to: whose it is, and that nobody else uses it meanwhile.

It is either plain, with partitions and nothing else, or a broker's data directory, told by its
meta.properties. The latter is written to only between a clean stop and the next start, and only
into partitions that the broker made: any other would be set aside as stray.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import DirectoryLock, take_clean_mark
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    HIGH_WATERMARK_FILE,
    META_PROPERTIES_FILE,
    RECOVERY_POINT_FILE,
    format_offsets,
    parse_offsets,
    read_file,
    replace_file,
)
from broker_lite.log.files.names import (
    DELETED_SUFFIX,
    parse_partition_directory,
    parse_segment_file,
)
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO, join


class WriteRefused(ValueError):
    """A log directory must not be written to; the text is one line for a person."""


@contextmanager
def locked(io: FileIO, root: str) -> Iterator[None]:
    """Keep brokers and other commits out of a local log directory; make it if it is missing.

    Storage that is not local has no locks: there, who writes takes care.

    Raises:
        WriteRefused: another process uses it.

    See: S-78 (FileLock).
    """
    if not isinstance(io, LocalFileIO):
        yield
        return
    io.make_directory(root)
    try:
        lock = DirectoryLock(Path(root))
    except SettingsError as error:
        raise WriteRefused(str(error)) from error
    try:
        yield
    finally:
        lock.release()


def refuse_unusable(io: FileIO, root: str) -> None:
    """Look whether a log directory can be written to.

    Raises:
        WriteRefused: it is the directory of one partition; or that of a broker, and not local or
            not cleanly stopped.

    See: S-44, S-77 (CleanShutdownFileHandler).
    """
    if not io.exists(root):
        return
    if any(parse_segment_file(info.name) is not None for info in io.list(root)):
        raise WriteRefused(f"{root} is the directory of a partition; its parent is to be named")
    if not is_data_directory(io, root):
        return
    if not isinstance(io, LocalFileIO):
        raise WriteRefused(f"data directory {root} of a broker can be written to locally only")
    if not io.exists(join(root, CLEAN_SHUTDOWN_FILE)):
        raise WriteRefused(
            f"data directory {root} was not left by a clean stop: start and stop its broker first"
        )


def is_data_directory(io: FileIO, root: str) -> bool:
    """Tell a broker's data directory from a plain one.

    See: S-76 (MetaPropertiesEnsemble).
    """
    return io.exists(join(root, META_PROPERTIES_FILE))


def refuse_unknown_partition(io: FileIO, root: str, directory: str) -> None:
    """Look whether a partition's directory is one that the broker of a data directory made.

    Raises:
        WriteRefused: it is not there.

    See: S-96.
    """
    if is_data_directory(io, root) and not io.exists(directory):
        name = directory.rpartition("/")[2]
        raise WriteRefused(
            f"data directory {root} has no partition {name}: create its topic on the broker first"
        )


@contextmanager
def unclean_meanwhile(root: Path) -> Iterator[None]:
    """Take the mark of a clean stop away, and put it back when all went well.

    See: S-40, S-77 (CleanShutdownFileHandler).
    """
    mark = root / CLEAN_SHUTDOWN_FILE
    text = read_file(mark) or ""
    take_clean_mark(root)
    yield
    replace_file(mark, text)


def note_ends(root: Path, ends: Mapping[tuple[str, int], int]) -> None:
    """Let the checkpoints of a data directory name new log ends, which are on disk.

    Raises:
        CorruptCheckpoint: a checkpoint cannot be read.
        OSError: it cannot be replaced.

    See: S-33, S-70 (LogManager.checkpointLogRecoveryOffsets).
    """
    for name in (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE):
        offsets = parse_offsets(read_file(root / name) or "")
        replace_file(root / name, format_offsets({**offsets, **ends}))


def sweep(io: FileIO, root: str, job: str) -> int:
    """Remove the staged files of a job that were not committed; give their number.

    Args:
        io: of the root.
        root: the log directory.
        job: what the tags of its attempts begin with.
    """
    count = 0
    for info in io.list(root) if io.exists(root) else ():
        if not info.is_directory or parse_partition_directory(info.name) is None:
            continue
        directory = join(root, info.name)
        for file in io.list(directory):
            if f".{job}" in file.name and file.name.endswith(DELETED_SUFFIX):
                io.delete(join(directory, file.name))
                count += 1
    return count

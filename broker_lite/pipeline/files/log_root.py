"""Guards a log directory that a job writes to: the lock, and the rules for broker directories.

A plain directory has partitions and nothing else; a broker's data directory has meta.properties,
too. A job writes to a broker's directory only between a clean stop and the next start, and only
into partitions that the broker created: it would set others aside as stray.
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
    """A log directory must not be written to; the text is one line for the user."""


@contextmanager
def locked(io: FileIO, root: str) -> Iterator[None]:
    """Keep brokers and other commits out of a local log directory; make it if it is missing.

    Other storage has no locks: there, the user must see to it that only one job writes.

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
    """Refuse a log directory that must not be written to.

    Raises:
        WriteRefused: it is the directory of one partition; or that of a broker, and not local or
            not cleanly stopped.

    See: S-44, S-77 (CleanShutdownFileHandler).
    """
    if not io.exists(root):
        return
    if any(parse_segment_file(info.name) is not None for info in io.list(root)):
        raise WriteRefused(f"{root} is the directory of a partition; name its parent")
    if not is_data_directory(io, root):
        return
    if not isinstance(io, LocalFileIO):
        raise WriteRefused(
            f"data directory {root} of a broker: only a local path can be written to"
        )
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
    """Refuse a partition that the broker of a data directory did not create.

    Raises:
        WriteRefused: the partition's directory is missing.

    See: S-96.
    """
    if is_data_directory(io, root) and not io.exists(directory):
        name = directory.rpartition("/")[2]
        raise WriteRefused(
            f"data directory {root} has no partition {name}: create its topic on the broker first"
        )


@contextmanager
def unclean_meanwhile(root: Path) -> Iterator[None]:
    """Remove the mark of a clean stop, and put it back if the block succeeds.

    See: S-40, S-77 (CleanShutdownFileHandler).
    """
    mark = root / CLEAN_SHUTDOWN_FILE
    text = read_file(mark) or ""
    take_clean_mark(root)
    yield
    replace_file(mark, text)


def note_ends(root: Path, ends: Mapping[tuple[str, int], int]) -> None:
    """Write new log ends, which are flushed, to the checkpoints of a data directory.

    Raises:
        CorruptCheckpoint: a checkpoint cannot be read.
        OSError: it cannot be replaced.

    See: S-33, S-70 (LogManager.checkpointLogRecoveryOffsets).
    """
    for name in (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE):
        offsets = parse_offsets(read_file(root / name) or "")
        replace_file(root / name, format_offsets({**offsets, **ends}))


def sweep(io: FileIO, root: str, job: str) -> int:
    """Remove the staged files of a job that were not committed; return how many.

    Args:
        io: of the root.
        root: the log directory.
        job: the prefix of its attempts' tags.
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

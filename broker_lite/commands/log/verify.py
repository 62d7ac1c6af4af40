"""`broker-lite log verify`: check logs for damage; exit code 0 if they are sound, else 1.

A broker may use the directory meanwhile, which its lock shows; the command takes no lock.
"""

import argparse
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from broker_lite.commands.log.metadata import read_metadata
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.commands.shared.verification_text import add_verification_flags, tell
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import LOCK_FILE
from broker_lite.pipeline.audit.local import LocalVerifier
from broker_lite.pipeline.files.file_io import LocalFileIO, ReadableFile
from broker_lite.pipeline.files.layout import LayoutError, find_partitions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("path", type=Path, help="a data directory, or a partition's directory")
    parser.add_argument("--topics", metavar="NAME,...", default="", help="check only these topics")
    add_verification_flags(parser, live="a broker is writing, even if the lock is free")


def run(options: argparse.Namespace) -> int:
    """Verify, and print the result."""
    root = str(options.path.absolute())
    is_wanted = wanted_topics(options.topics)
    io = WatchedFileIO()

    def wanted(topic: str, _partition: int) -> bool:
        return is_wanted(topic)

    try:
        logs = find_partitions(io, root, wanted)
    except LayoutError as error:
        raise SettingsError(str(error)) from error
    total_bytes = sum(part.size_bytes for log in logs.values() for part in log.segments)
    with ProgressBar("verify", total_bytes) as bar:
        io.watch(bar)
        verification = LocalVerifier(
            root,
            wanted,
            is_deep=options.deep,
            is_live=options.live or is_in_use(options.path) or is_in_use(options.path.parent),
            is_compacted=options.compacted,
            is_cleaned=_cleaned_topics(options.path),
            io=io,
        ).verify()
    return tell(verification, options)


def _cleaned_topics(path: Path) -> Callable[[str], bool]:
    """Find the compacted topics in the metadata; internal topics are compacted, too."""
    image = read_metadata(path) or read_metadata(path.absolute().parent) or MetadataImage()
    names = {
        topic.name
        for topic in image.topics.values()
        if topic.is_internal or "compact" in topic.overrides.get("cleanup.policy", "")
    }
    return names.__contains__


def is_in_use(directory: Path) -> bool:
    """Tell whether another process holds the lock of a data directory.

    It takes a shared lock for a moment, which is allowed to readers.

    See: S-78.
    """
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # without the file, nobody can hold its lock
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def wanted_topics(text: str) -> Callable[[str], bool]:
    """Parse --topics: return a function that takes a topic; without names, every topic passes."""
    names = {name for name in text.split(",") if name}
    return lambda topic: not names or topic in names


class WatchedFileIO(LocalFileIO):
    """Local files whose reads move a progress bar."""

    __slots__ = ("_bar",)

    def __init__(self) -> None:
        self._bar: ProgressBar | None = None

    def watch(self, bar: ProgressBar) -> None:
        """Report reads to a progress bar from now on."""
        self._bar = bar

    def open(self, path: str) -> ReadableFile:  # type: ignore[explicit-override]
        """See FileIO."""
        file = super().open(path)
        return (
            file
            if self._bar is None or not path.endswith(".log")
            else _Watched(file, path, self._bar)
        )


class _Watched:
    """A file that reports reads to a progress bar."""

    __slots__ = ("_bar", "_file", "_name")

    def __init__(self, file: ReadableFile, path: str, bar: ProgressBar) -> None:
        self._file = file
        self._name = "/".join(path.rsplit("/", 2)[1:])
        self._bar = bar

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = self._file.read_at(position, size_bytes)
        self._bar.add(len(data), self._name)
        return data

    def next_data(self, position: int) -> int:
        return self._file.next_data(position)

    def __enter__(self) -> "_Watched":
        self._file.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._file.__exit__(None, None, None)

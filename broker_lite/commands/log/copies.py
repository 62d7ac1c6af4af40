"""Copies partitions and recovers each copy as after a crash: checks batches, rebuilds indexes.

See: S-43, S-75, S-97.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.stopping import make_durable, put_down
from broker_lite.log.files.checkpoints import (
    PARTITION_METADATA_FILE,
    CorruptCheckpoint,
    format_partition_metadata,
    stored_offsets,
)
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.names import (
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    parse_segment_file,
    partition_directory,
)
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.files.layout import INDEX_SUFFIXES

_COPIED: Final = {LOG_SUFFIX, SNAPSHOT_SUFFIX, *INDEX_SUFFIXES}
_COPY_BYTES: Final = 4 << 20
_TRIES: Final = 5


class SourcePartition(NamedTuple):
    """A partition to copy; log_start_offset is from a checkpoint, None without one."""

    directory: Path
    log_start_offset: int | None


class SourceTopic(NamedTuple):
    """A topic to copy, with all of its partitions in order."""

    name: str
    topic_id: bytes
    overrides: Mapping[str, str]
    partitions: tuple[SourcePartition, ...]


class Copied(NamedTuple):
    """A partition that was copied and loaded.

    Attributes:
        cut_bytes: size of the end that could not be recovered and was left out.
    """

    directory: Path
    leader_epoch: int
    log_start_offset: int
    end_offset: int
    producer_id_end: int
    cut_bytes: int


class Copier:
    """Copies topics into a directory.

    Args:
        staging: an existing directory.
        may_cut: leave out the end of a log from the first damage on; else damage is an error.
        now_ms: the time.
    """

    def __init__(self, staging: Path, *, may_cut: bool, now_ms: int) -> None:
        self._staging = staging
        self._may_cut = may_cut
        self._now_ms = now_ms
        self._cache = FileCache()

    def copy(self, topic: SourceTopic, bar: ProgressBar) -> list[Copied]:
        """Copy the partitions of a topic.

        Raises:
            KafkaStorageError: a log is damaged, or cannot be written.
            OSError: something cannot be read or written.
        """
        found = []
        for number, partition in enumerate(topic.partitions):
            target = self._staging / partition_directory(topic.name, number)
            size_bytes = _copy_partition(partition.directory, target, bar)
            metadata = format_partition_metadata(topic.topic_id)
            (target / PARTITION_METADATA_FILE).write_text(metadata)
            found.append(self._load(topic.name, number, partition, target, size_bytes))
        return found

    def _load(
        self, name: str, number: int, source: SourcePartition, target: Path, size_bytes: int
    ) -> Copied:
        request = LoadRequest(
            name,
            number,
            str(target),
            LogConfig(),
            log_start_offset=source.log_start_offset,
            is_clean=False,
        )
        log = load_log(request, self._cache, now_ms=self._now_ms)
        cut_bytes = size_bytes - log.segments.size_bytes
        if cut_bytes and not self._may_cut:
            close_durably(log)
            raise KafkaStorageError(
                f"{source.directory}: {cut_bytes} bytes from offset {log.log_end_offset} on are not"
                " sound batches; see log verify for details; --cut leaves them out"
            )
        copied = Copied(
            target,
            max(log.epochs.latest_epoch, 0),
            log.log_start_offset,
            log.log_end_offset,
            max((entry.producer_id for entry in log.producer_state), default=-1) + 1,
            cut_bytes,
        )
        close_durably(log)
        return copied


def close_durably(log: Log) -> None:
    """Close and flush a log as a clean stop does.

    Raises:
        KafkaStorageError: it cannot be written.
    """
    if put_down([log]) != [log]:
        raise KafkaStorageError(f"{log.directory} cannot be written")
    make_durable([log])


def read_offsets(path: Path) -> dict[tuple[str, int], int]:
    """Read a checkpoint; empty if there is no file.

    Raises:
        KafkaStorageError: the file is damaged.

    See: S-70.
    """
    try:
        return stored_offsets(path)
    except CorruptCheckpoint as error:
        raise KafkaStorageError(f"{path}: {error}") from error


def size_bytes_of(directory: Path) -> int:
    """Return the size of a partition's files to copy."""
    return sum(path.stat().st_size for path in _files(directory))


def _files(directory: Path) -> list[Path]:
    """List the files to copy.

    Indexes are among them, because recovery cuts a segment without one as if it were the last.
    """
    found = []
    for path in directory.iterdir():
        parsed = parse_segment_file(path.name)
        if path.name == EPOCH_FILE or (parsed is not None and parsed[1] in _COPIED):
            found.append(path)
    return sorted(found)


def _copy_partition(source: Path, target: Path, bar: ProgressBar) -> int:
    """Copy the files of a partition, again if a broker removes segments meanwhile.

    Returns:
        The size of the .log files.

    Raises:
        FileNotFoundError: files vanished during every attempt.
    """
    for number in range(_TRIES):
        target.mkdir()
        try:
            paths = _files(source)
            for path in paths:
                _copy_file(path, target / path.name, bar)
        except FileNotFoundError:
            shutil.rmtree(target)
            if number == _TRIES - 1:
                raise
        else:
            break
    return sum((target / p.name).stat().st_size for p in paths if p.name.endswith(LOG_SUFFIX))


def _copy_file(source: Path, target: Path, bar: ProgressBar) -> None:
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        while data := reader.read(_COPY_BYTES):
            writer.write(data)
            bar.add(len(data), f"{source.parent.name}/{source.name}")

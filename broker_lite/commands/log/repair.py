"""`broker-lite log repair`: recover every segment, as a broker's start does after a crash.

Each log is read from its beginning and cut in front of the first damaged batch; later segments are
removed. Indexes, epochs and producer states are rebuilt. `--dry-run` changes nothing and prints
what would be cut.

A directory with another topic id than the metadata log is reported, and is offline in a broker.
`--topic-ids adopt` gives it the id of the metadata log, so that its records are served;
`--topic-ids put-aside` renames it to *-stray, so that an empty partition replaces it.

See: S-43, S-44 (LogLoader).
"""

import argparse
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from broker_lite.commands.log.files import base_offset_of, log_paths
from broker_lite.commands.log.sources import read_meta
from broker_lite.commands.log.topic_ids import CHOICES, differences, settle
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.control.clock import Clock
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.recovery_progress import RecoveryProgress
from broker_lite.log.files.batch_reader import SegmentOverflow, read_valid
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_FILE,
    RECOVERY_POINT_FILE,
    CorruptCheckpoint,
    format_offsets,
    replace_file,
    stored_offsets,
)
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import parse_partition_directory
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.recovery.load_watch import LoadStopped
from broker_lite.settings import Settings

_THREADS: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("data_dir", type=Path, metavar="DATA_DIR")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be changed, and change nothing"
    )
    parser.add_argument(
        "--topic-ids",
        choices=CHOICES,
        help="directories with another topic id than the metadata log: serve them, or set aside",
    )


def run(options: argparse.Namespace) -> int:
    """Repair, and print what was done; return 1 if a log could not be repaired."""
    data_dir: Path = options.data_dir
    meta = read_meta(data_dir)
    if meta is None:
        raise SettingsError(f"{data_dir} is no data directory: it has no meta.properties")
    if options.dry_run:
        return _tell_only(data_dir)
    lock = DirectoryLock(data_dir)
    try:  # from here on, the directory counts as left by a crash, even if this is interrupted
        for name in (CLEAN_SHUTDOWN_FILE, RECOVERY_POINT_FILE):
            (data_dir / name).unlink(missing_ok=True)
        settled = settle(data_dir, options.topic_ids) if options.topic_ids else []
        wrong = [one.told() for one in differences(data_dir)]
    finally:
        lock.release()
    manager = LogManager(data_dir, node_id=meta.node_id, now_ms=Clock().now_ms)
    manager.open()
    with _stop_asked() as is_stopping, _told() as told:
        try:
            partitions = _recover(manager, is_stopping)
        except LoadStopped:
            manager.abandon()
            raise KeyboardInterrupt from None
        except BaseException:
            manager.abandon()
            raise
        told += _mend_cleaner_checkpoint(data_dir, manager)
        failed = [key for key in partitions if key in manager.offline]
        manager.close()
    changes = len(told) + len(settled)
    print(*settled, *wrong, *told, f"{len(partitions)} partitions, {changes} changes", sep="\n")
    return 1 if failed or wrong else 0


def _recover(manager: LogManager, is_stopping: Callable[[], bool]) -> list[tuple[str, int]]:
    """Recover every log of a directory; return their names.

    Raises:
        LoadStopped: Ctrl-C was pressed.
        KafkaStorageError: the metadata log cannot be read.
    """
    image = MetadataImage()
    for records in MetadataLog.open(manager).replay():
        image.apply(records)
    configs = TopicConfigs(Settings())
    partitions = []
    for topic, partition, topic_id in list(manager.unclaimed()):
        known = image.topics.get(topic)
        config = configs.log_config(known) if known is not None else None
        is_led = known is not None and partition < known.partition_count
        epoch = known.partitions[partition].leader_epoch if known is not None and is_led else 0
        # a log whose topic is gone is repaired, too; the broker's start sets it aside
        manager.create(topic, partition, topic_id or b"", config, leader_epoch=epoch)
        partitions.append((topic, partition))
    progress = RecoveryProgress(Clock().monotonic_ms)
    try:
        manager.recover(threads=_THREADS, is_stopping=is_stopping, progress=progress)
    finally:
        progress.clear()
    return partitions


def _mend_cleaner_checkpoint(data_dir: Path, manager: LogManager) -> list[str]:
    """Remove logs that now end below their cleaner checkpoint from it, so that they are cleaned.

    See: S-82 (LogCleanerManager.cleanableOffsets).
    """
    path = data_dir / CLEANER_FILE
    ends = {(log.topic, log.partition): log.log_end_offset for log in manager.loaded_logs()}
    try:
        offsets = stored_offsets(path)
    except CorruptCheckpoint as error:
        replace_file(path, format_offsets({}))
        return [f"{path}: {error}; replaced by an empty one"]
    kept = {key: offset for key, offset in offsets.items() if offset <= ends.get(key, offset)}
    if kept == offsets:
        return []
    replace_file(path, format_offsets(kept))
    return [f"{path}: removed {len(offsets) - len(kept)} logs that end below it"]


# -- dry run


def _tell_only(data_dir: Path) -> int:
    lock = DirectoryLock(data_dir)
    try:
        directories = sorted(
            path
            for path in data_dir.iterdir()
            if path.is_dir() and parse_partition_directory(path.name) is not None
        )
        total_bytes = sum(path.stat().st_size for one in directories for path in log_paths(one))
        count = 0
        with ProgressBar("repair", total_bytes) as bar:
            lines = [line for one in directories for line in _cuts(one, bar)]
        lines += [one.told() for one in differences(data_dir)]
        count = len(directories)
    finally:
        lock.release()
    print(*lines, f"{count} partitions, {len(lines)} would be changed", sep="\n")
    return 0


def _cuts(directory: Path, bar: ProgressBar) -> Iterator[str]:
    """Yield where a log would be split or cut."""
    paths = log_paths(directory)
    cache = FileCache(1)
    for number, path in enumerate(paths):
        base_offset, size_bytes = base_offset_of(path), path.stat().st_size
        segment = LogSegment(
            str(directory), base_offset, cache, created_ms=0, size_bytes=size_bytes
        )
        limit = base_offset_of(paths[number + 1]) if number + 1 < len(paths) else None
        valid_bytes, end_offset = 0, base_offset
        try:
            for batch in read_valid(segment, limit=limit, tell=bar.add):
                valid_bytes += batch.size_bytes
                end_offset = batch.last_offset + 1
        except SegmentOverflow as overflow:
            yield f"{path}: split at {overflow.position}, offset {overflow.first_offset}"
            continue
        if valid_bytes < size_bytes:
            gone = len(paths) - number - 1
            text = f"; {gone} later segments are removed" if gone else ""
            yield (
                f"{path}: cut at {valid_bytes}, {size_bytes - valid_bytes} bytes from offset"
                f" {end_offset} on{text}"
            )
            return


# -- Ctrl-C, and the lines to print


@contextmanager
def _stop_asked() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed; recovery asks between two reads."""
    is_asked = False

    def take(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked
        is_asked = True

    before = signal.signal(signal.SIGINT, take)
    try:
        yield lambda: is_asked
    finally:
        signal.signal(signal.SIGINT, before)


class _Lines(logging.Handler):
    """Collects the warnings of the log room."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:  # type: ignore[explicit-override]
        self.lines.append(record.getMessage())


@contextmanager
def _told() -> Iterator[list[str]]:
    room = logging.getLogger("broker_lite.log")
    handler = _Lines()
    propagated = room.propagate
    room.addHandler(handler)
    room.propagate = False
    try:
        yield handler.lines
    finally:
        room.removeHandler(handler)
        room.propagate = propagated

"""Checks of the small files beside the segments, each on its own.

Checks that compare a file with the batches (offset checkpoints, the snapshots of segments) are in
whole.py.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from broker_lite.control.metadata.metadata_snapshot import is_snapshot, snapshot_batches
from broker_lite.errors import BrokerError
from broker_lite.log.files.checkpoints import (
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    CorruptCheckpoint,
    parse_meta_properties,
    parse_partition_metadata,
)
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, parse_segment_file
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot
from broker_lite.pipeline.audit.task import Finding
from broker_lite.pipeline.files.file_io import FileIO, join, read_whole
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.wire import DecodeError

_QUORUM_STATE_FILE: Final = "quorum-state"


def judge_identity(io: FileIO, directory: str) -> Iterator[Finding]:
    """Check meta.properties; a directory without it belongs to no broker, which is fine.

    See: S-76.
    """
    path = join(directory, META_PROPERTIES_FILE)
    if io.exists(path):
        yield from _judge_text(io, path, "S-76")


def judge_beside(io: FileIO, log: PartitionLog, end_offset: int) -> Iterator[Finding]:
    """Check the files that lie beside the segments of a partition.

    Args:
        io: opens the partition's files.
        log: the partition.
        end_offset: the offset after its last batch.

    See: S-17, S-18, S-60, S-75, S-97.
    """
    names = {info.name for info in io.list(log.directory) if not info.is_directory}
    for name, rule in ((PARTITION_METADATA_FILE, "S-75"), (_QUORUM_STATE_FILE, "S-76")):
        if name in names:
            yield from _judge_text(io, join(log.directory, name), rule)
    if EPOCH_FILE in names:
        yield from _judge_epochs(io, join(log.directory, EPOCH_FILE), end_offset)
    yield from _judge_snapshots(io, log, names, end_offset)
    for name in sorted(filter(is_snapshot, names)):
        yield from _judge_metadata_snapshot(io, join(log.directory, name))


def _judge_text(io: FileIO, path: str, rule: str) -> Iterator[Finding]:
    try:
        text = _text(io, path)
        if path.endswith(META_PROPERTIES_FILE):
            parse_meta_properties(text)
        elif path.endswith(PARTITION_METADATA_FILE):
            parse_partition_metadata(text)
        else:
            json.loads(text)
    except FileNotFoundError:
        return  # deleted since it was listed
    except ValueError as error:
        yield Finding(path, -1, rule, " ".join(str(error).split()))


def _judge_epochs(io: FileIO, path: str, end_offset: int) -> Iterator[Finding]:
    try:
        entries = LeaderEpochCache.from_text(_text(io, path)).entries
    except FileNotFoundError:
        return
    except ValueError as error:
        yield Finding(path, -1, "S-60", str(error))
        return
    if entries and entries[-1].start_offset > end_offset:
        epoch, offset = entries[-1]
        text = f"epoch {epoch} begins at {offset}, behind the end {end_offset} of the log"
        yield Finding(path, -1, "S-60", text)


def _judge_snapshots(
    io: FileIO, log: PartitionLog, names: Iterable[str], end_offset: int
) -> Iterator[Finding]:
    """Check the snapshots that belong to no segment, such as the one of a clean stop."""
    bases = {segment.base_offset for segment in log.segments}
    for name in sorted(names):
        parsed = parse_segment_file(name)
        if parsed is None or parsed[1] != SNAPSHOT_SUFFIX or parsed[0] in bases:
            continue
        path = join(log.directory, name)
        try:
            decode_snapshot(read_whole(io, path))
        except FileNotFoundError:
            continue
        except CorruptSnapshot as error:
            yield Finding(path, -1, "S-17", str(error))
        else:
            if parsed[0] > end_offset:
                yield Finding(path, -1, "S-18", f"it is behind the end {end_offset} of the log")


def _judge_metadata_snapshot(io: FileIO, path: str) -> Iterator[Finding]:
    """Decode a metadata snapshot as a broker's start does."""
    try:
        for _ in snapshot_batches(read_whole(io, path)):
            continue
    except FileNotFoundError:
        return
    except (BrokerError, DecodeError) as error:
        yield Finding(path, -1, "S-97", " ".join(str(error).split()))


def _text(io: FileIO, path: str) -> str:
    data = read_whole(io, path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint("it is not text") from error

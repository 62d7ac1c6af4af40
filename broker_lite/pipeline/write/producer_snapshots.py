"""Reads the producer snapshots of logs that get new segments."""

import logging

from broker_lite.log.files.names import SNAPSHOT_SUFFIX, parse_segment_file, segment_stem
from broker_lite.log.producers.entry import ProducerEntry
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot
from broker_lite.pipeline.files.file_io import FileIO, read_whole

logger = logging.getLogger("broker_lite.pipeline")

Producers = dict[int, ProducerEntry]


def newest_producers(io: FileIO, directory: str, end_offset: int) -> Producers:
    """Read the newest readable snapshot of a closed log, up to an offset.

    See: S-17, S-18, S-45 (ProducerStateManager.loadFromSnapshot).
    """
    names = (parse_segment_file(info.name) for info in io.list(directory))
    offsets = [name[0] for name in names if name is not None and name[1] == SNAPSHOT_SUFFIX]
    for offset in sorted((one for one in offsets if one <= end_offset), reverse=True):
        path = segment_stem(directory, offset) + SNAPSHOT_SUFFIX
        data = read_whole(io, path)
        try:
            return producers_of(data)
        except CorruptSnapshot as error:
            logger.warning("snapshot passed over path=%s reason=%s", path, error)
    return {}


def producers_of(snapshot: bytes) -> Producers:
    """Decode a snapshot.

    Raises:
        CorruptSnapshot: it cannot be read.
    """
    return {entry.producer_id: entry for entry in decode_snapshot(snapshot)}

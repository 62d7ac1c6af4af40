"""Reads the metadata log of a directory, without a lock and without a change."""

from pathlib import Path

from broker_lite.commands.log.files import LogFile, base_offset_of, log_paths
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_log import PARTITION_DIRECTORY
from broker_lite.control.metadata.metadata_records import decode
from broker_lite.control.metadata.metadata_snapshot import newest_snapshot
from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records
from broker_lite.wire import DecodeError


def read_metadata(data_dir: Path) -> MetadataImage | None:
    """Read the topics, configs and ids of a directory of Kafka or broker-lite.

    A torn end is ignored, as in a broker's start.

    Returns:
        None if the directory has no metadata log.

    Raises:
        KafkaStorageError: a record cannot be read, or the beginning is missing.
        OSError: a file cannot be read.
    """
    directory = data_dir / PARTITION_DIRECTORY
    if not directory.is_dir():
        return None
    image = MetadataImage()
    snapshot = newest_snapshot(directory)
    next_offset = 0
    if snapshot is not None:
        next_offset = snapshot.end_offset
        for records in snapshot.batches:
            image.apply(records)
    paths = log_paths(directory)
    if paths and base_offset_of(paths[0]) > next_offset:
        raise KafkaStorageError(f"{directory} lacks the snapshot in front of its first segment")
    try:
        for path in paths:
            next_offset = _apply(image, path, next_offset)
    except (BrokerError, DecodeError) as error:
        raise KafkaStorageError(f"{directory} cannot be read: {error}") from error
    return image


def _apply(image: MetadataImage, path: Path, next_offset: int) -> int:
    for found in LogFile(path, lambda _: None).entries():
        batch = found.batch
        if not isinstance(batch, RecordBatch) or not batch.crc_is_valid():
            break
        if batch.base_offset < next_offset:
            continue
        next_offset = batch.next_offset
        if not batch.is_control:
            image.apply([decode(record.value or b"") for record in iterate_records(batch)])
    return next_offset

"""Reads snapshots of the metadata log, which Kafka's controller writes next to its segments.

`<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` has all records of the image at that offset,
between a header and a footer. The segments of the log below that offset may have been deleted. This
broker writes no snapshots; it reads those in a data directory that Kafka used before.

Source: KIP-630, Snapshots, RecordsSnapshotReader.
"""

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.control.metadata.metadata_records import MetadataRecord, decode
from broker_lite.errors import BrokerError, CorruptMessage
from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import CURRENT_MAGIC, walk
from broker_lite.record.records import iterate_records
from broker_lite.wire import DecodeError

_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_FOOTER_KEY: Final = b"\0\0\0\4"

_log = logging.getLogger("broker_lite.control")


class Snapshot(NamedTuple):
    """The state of the metadata at an offset.

    Attributes:
        end_offset: the snapshot replaces the records below this offset.
        epoch: the leader epoch of the last record before end_offset.
        batches: the records of each batch, without control records.
    """

    end_offset: int
    epoch: int
    batches: tuple[tuple[MetadataRecord, ...], ...]


def newest_snapshot(directory: Path) -> Snapshot | None:
    """Return the newest complete snapshot, or None if there is none.

    A snapshot at offset 0, which Kafka writes into a new directory, has only records for the
    quorum, and is ignored.

    Raises:
        OSError: the directory or a file cannot be read.
    """
    found = (_NAME.fullmatch(name) for name in os.listdir(directory))
    places = sorted(((int(m[1]), int(m[2]), m[0]) for m in found if m is not None), reverse=True)
    for end_offset, epoch, name in places:
        if end_offset == 0:
            break
        path = directory / name
        try:
            return Snapshot(end_offset, epoch, tuple(snapshot_batches(path.read_bytes())))
        except (BrokerError, DecodeError) as error:
            _log.warning("metadata snapshot skipped path=%s reason=%s", path, error)
    return None


def is_snapshot(name: str) -> bool:
    """Return whether a file name is that of a snapshot."""
    return _NAME.fullmatch(name) is not None


def snapshot_batches(data: bytes) -> Iterator[tuple[MetadataRecord, ...]]:
    """Iterate over the records of each batch of a snapshot, up to its footer.

    Raises:
        BrokerError: a batch is damaged, or there is no footer.
        DecodeError: a record cannot be read.
    """
    for entry in walk(data):
        if entry.magic != CURRENT_MAGIC:
            raise CorruptMessage(f"a message of format {entry.magic}")
        batch = RecordBatch(memoryview(data), entry.position, entry.size_bytes)
        batch.ensure_valid()
        records = list(iterate_records(batch))
        if not batch.is_control:
            yield tuple(decode(record.value or b"") for record in records)
        elif any(record.key == _FOOTER_KEY for record in records):
            return
    raise CorruptMessage("it ends before its footer")

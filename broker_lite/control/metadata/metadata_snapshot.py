"""Snapshots of the metadata log, as Kafka's controller leaves them beside its segments.

`<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` holds every record that makes up the image
below that offset, between a header and a footer. The segments of the log may be gone up to there.
This broker writes none: it reads them in a directory that it took over from Kafka.

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
    """The state of the metadata below an offset.

    Attributes:
        epoch: of the leader that wrote the record in front of end_offset.
        batches: records without those that are only for the quorum.
    """

    end_offset: int
    epoch: int
    batches: tuple[tuple[MetadataRecord, ...], ...]


def newest_snapshot(directory: Path) -> Snapshot | None:
    """Read the newest snapshot that is whole, None where there is none.

    The one at offset 0, which Kafka makes with a new directory, tells about the quorum only.

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
            _log.warning("metadata snapshot passed over path=%s reason=%s", path, error)
    return None


def is_snapshot(name: str) -> bool:
    """Tell a snapshot by its name."""
    return _NAME.fullmatch(name) is not None


def snapshot_batches(data: bytes) -> Iterator[tuple[MetadataRecord, ...]]:
    """Give the records of each batch of a snapshot up to its footer.

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

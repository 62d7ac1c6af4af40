"""Makes batches of the metadata log and of its snapshots, like a KRaft controller.

Source: KafkaRaftClient, RecordsSnapshotWriter; compared with the files of a Kafka 4.3.1.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.control.metadata.metadata_records import (
    FEATURE_LEVEL,
    OLDEST_METADATA_VERSION,
    MetadataChange,
    MetadataRecord,
    encode_change,
    make,
)
from broker_lite.record.builder import BatchBuilder

LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4

_CONTROL_KEY: Final = struct.Struct(">hh")


def feature_records(features: Mapping[str, int]) -> list[MetadataRecord]:
    """Return the records that set features; metadata.version comes first, as Kafka requires."""
    names = sorted(features, key=lambda name: (name != "metadata.version", name))
    return [make(FEATURE_LEVEL, name=name, feature_level=features[name]) for name in names]


def make_batch(
    records: Sequence[MetadataChange],
    now_ms: int,
    metadata_version: int = OLDEST_METADATA_VERSION,
    base_offset: int = 0,
) -> bytes:
    """Make a batch of records in the format of a metadata version."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=0)
    for record in records:
        builder.append_values(now_ms, encode_change(record, metadata_version))
    return builder.build()


def make_control_batch(kind: int, value: bytes, now_ms: int, base_offset: int = 0) -> bytes:
    """Make a batch of one control record, which only the quorum reads."""
    builder = BatchBuilder(base_offset=base_offset, is_control=True, leader_epoch=0)
    builder.append(now_ms, _CONTROL_KEY.pack(0, kind), value)
    return builder.build()

"""The records of the metadata log: a message inside a frame.

A record's value is uvarint frame version (1), uvarint api key, uvarint version, message; its key is
null. Every number that occurs fits one byte of uvarint, so the frame is three bytes.

Source: MetadataRecordSerde, KIP-631.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, Final, NamedTuple

from broker_lite.wire import DecodeError, messages

FRAME_VERSION: Final = 1
FRAME_SIZE_BYTES: Final = 3
_INT32_BYTES: Final = 4

REGISTER_BROKER: Final = 0
TOPIC: Final = 2
PARTITION: Final = 3
CONFIG: Final = 4
PARTITION_CHANGE: Final = 5
REMOVE_TOPIC: Final = 9
USER_SCRAM_CREDENTIAL: Final = 11
FEATURE_LEVEL: Final = 12
CLIENT_QUOTA: Final = 14
PRODUCER_IDS: Final = 15
BROKER_REGISTRATION_CHANGE: Final = 17
REMOVE_USER_SCRAM_CREDENTIAL: Final = 22

OLDEST_METADATA_VERSION: Final = 17
"""The records are written for this level at least, that of Kafka 3.7-IV2: it has directory ids."""

_WRITTEN_VERSIONS: Final[Mapping[int, tuple[tuple[int, int], ...]]] = {
    REGISTER_BROKER: ((30, 4), (OLDEST_METADATA_VERSION, 3)),
    TOPIC: ((OLDEST_METADATA_VERSION, 0),),
    PARTITION: ((23, 2), (OLDEST_METADATA_VERSION, 1)),
    CONFIG: ((OLDEST_METADATA_VERSION, 0),),
    REMOVE_TOPIC: ((OLDEST_METADATA_VERSION, 0),),
    USER_SCRAM_CREDENTIAL: ((OLDEST_METADATA_VERSION, 0),),
    FEATURE_LEVEL: ((OLDEST_METADATA_VERSION, 0),),
    CLIENT_QUOTA: ((OLDEST_METADATA_VERSION, 0),),
    PRODUCER_IDS: ((OLDEST_METADATA_VERSION, 0),),
    BROKER_REGISTRATION_CHANGE: ((OLDEST_METADATA_VERSION, 0),),
    REMOVE_USER_SCRAM_CREDENTIAL: ((OLDEST_METADATA_VERSION, 0),),
}
"""The versions by the metadata.version from which on each is written, the newest first.

Source: MetadataVersion.registerBrokerRecordVersion, partitionRecordVersion.
"""


class MetadataRecord(NamedTuple):
    """One change of the cluster's metadata; `value` is the message of that api key."""

    api_key: int
    value: Any


class PartitionRecords(NamedTuple):
    """The records of partitions of one topic that differ in nothing but the partition's number.

    A topic may get 10,000 partitions at once. Their records together are one value, because to make
    and to encode each by itself takes ten times as long.

    Attributes:
        first: the message of the first partition.
        indexes: the numbers of all.
    """

    first: Any
    indexes: range

    def each(self) -> Iterator[MetadataRecord]:
        """The records one by one."""
        for index in self.indexes:
            message = copy(self.first)
            message.partition_id = index
            yield MetadataRecord(PARTITION, message)


MetadataChange = MetadataRecord | PartitionRecords


def make(api_key: int, **fields: object) -> MetadataRecord:
    """A record from its fields; those left out have the schema's defaults."""
    return MetadataRecord(api_key, messages.metadata_record(api_key)(**fields))


def encode(record: MetadataRecord, metadata_version: int = OLDEST_METADATA_VERSION) -> bytes:
    """The value of a record of the log, in the version that goes with a metadata.version."""
    level = max(metadata_version, OLDEST_METADATA_VERSION)
    versions = _WRITTEN_VERSIONS[record.api_key]
    version = next(version for since, version in versions if level >= since)
    message = messages.metadata_record(record.api_key)
    return bytes((FRAME_VERSION, record.api_key, version)) + message.encode(record.value, version)


def encode_change(
    change: MetadataChange, metadata_version: int = OLDEST_METADATA_VERSION
) -> list[bytes]:
    """The values of the records that a change stands for."""
    if isinstance(change, MetadataRecord):
        return [encode(change, metadata_version)]
    first = encode(MetadataRecord(PARTITION, change.first), metadata_version)
    # the number of the partition is the first field of the message
    head, tail = first[:FRAME_SIZE_BYTES], first[FRAME_SIZE_BYTES + _INT32_BYTES :]
    return [head + index.to_bytes(_INT32_BYTES, "big") + tail for index in change.indexes]


def decode(value: bytes | memoryview) -> MetadataRecord:
    """A record from its value, in any version that the schemas know.

    Raises:
        DecodeError: no frame, or a message that cannot be read.
    """
    if len(value) < FRAME_SIZE_BYTES or value[0] != FRAME_VERSION:
        raise DecodeError("metadata record without a frame of version 1")
    try:
        message_type = messages.metadata_record(value[1])
    except KeyError:
        raise DecodeError(f"metadata record of the unknown type {value[1]}") from None
    message, _ = message_type.decode(value, value[2], FRAME_SIZE_BYTES)
    return MetadataRecord(value[1], message)

"""The records of the metadata log: a message in a frame.

A record's value consists of frame version (1), api key, version (all uvarint) and message; its key
is null. All these numbers fit into one byte as uvarint, so the frame has three bytes.

Source: MetadataRecordSerde, KIP-631.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.wire import ZERO_UUID, DecodeError, messages

FRAME_VERSION: Final = 1
FRAME_SIZE_BYTES: Final = 3
_INT32_BYTES: Final = 4
_PLACE_FROM: Final = FRAME_SIZE_BYTES + _INT32_BYTES + len(ZERO_UUID)

REGISTER_BROKER: Final = 0
UNREGISTER_BROKER: Final = 1
TOPIC: Final = 2
PARTITION: Final = 3
CONFIG: Final = 4
PARTITION_CHANGE: Final = 5
FENCE_BROKER: Final = 7
UNFENCE_BROKER: Final = 8
REMOVE_TOPIC: Final = 9
DELEGATION_TOKEN: Final = 10
USER_SCRAM_CREDENTIAL: Final = 11
FEATURE_LEVEL: Final = 12
CLIENT_QUOTA: Final = 14
PRODUCER_IDS: Final = 15
BROKER_REGISTRATION_CHANGE: Final = 17
ACCESS_CONTROL_ENTRY: Final = 18
REMOVE_ACCESS_CONTROL_ENTRY: Final = 19
REMOVE_USER_SCRAM_CREDENTIAL: Final = 22
REMOVE_DELEGATION_TOKEN: Final = 26
CLEAR_ELR: Final = 28

OLDEST_METADATA_VERSION: Final = 17
"""The lowest level that records are written for: that of Kafka 3.7-IV2, which has directory ids."""

# Versions of BrokerRegistrationChangeRecord from which on it has the field.
_CONTROLLED_SHUTDOWN_SINCE: Final = 1
_DIRECTORIES_SINCE: Final = 2

_WRITTEN_VERSIONS: Final[Mapping[int, tuple[tuple[int, int], ...]]] = {
    REGISTER_BROKER: ((30, 4), (OLDEST_METADATA_VERSION, 3)),
    UNREGISTER_BROKER: ((OLDEST_METADATA_VERSION, 0),),
    TOPIC: ((OLDEST_METADATA_VERSION, 0),),
    PARTITION: ((23, 2), (OLDEST_METADATA_VERSION, 1)),
    CONFIG: ((OLDEST_METADATA_VERSION, 0),),
    PARTITION_CHANGE: ((23, 2), (OLDEST_METADATA_VERSION, 1)),
    REMOVE_TOPIC: ((OLDEST_METADATA_VERSION, 0),),
    DELEGATION_TOKEN: ((OLDEST_METADATA_VERSION, 0),),
    USER_SCRAM_CREDENTIAL: ((OLDEST_METADATA_VERSION, 0),),
    FEATURE_LEVEL: ((OLDEST_METADATA_VERSION, 0),),
    CLIENT_QUOTA: ((OLDEST_METADATA_VERSION, 0),),
    PRODUCER_IDS: ((OLDEST_METADATA_VERSION, 0),),
    ACCESS_CONTROL_ENTRY: ((OLDEST_METADATA_VERSION, 0),),
    REMOVE_ACCESS_CONTROL_ENTRY: ((OLDEST_METADATA_VERSION, 0),),
    REMOVE_USER_SCRAM_CREDENTIAL: ((OLDEST_METADATA_VERSION, 0),),
    REMOVE_DELEGATION_TOKEN: ((OLDEST_METADATA_VERSION, 0),),
    CLEAR_ELR: ((OLDEST_METADATA_VERSION, 0),),
}
"""For each kind of record: metadata.version and the record's version from it on, newest first.

Changes of a broker's registration are written in the version that their fields need instead.

Source: MetadataVersion.registerBrokerRecordVersion, partitionRecordVersion,
partitionChangeRecordVersion.
"""


class MetadataRecord(NamedTuple):
    """One change of the cluster's metadata; `value` is the message of the api key."""

    api_key: int
    value: Any


class Placement(NamedTuple):
    """Where a new partition is.

    Attributes:
        replicas: broker ids in the order of preference.
        isr: those of the replicas that are in sync; the first one leads.
        directories: ids of the data directories of the replicas.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    directories: tuple[bytes, ...]


class EncodedPlacements:
    """Places of partitions as their records have them, each encoded once.

    Attributes:
        metadata_version: in force, which decides on the format.
    """

    __slots__ = ("_parts", "metadata_version")

    def __init__(self, metadata_version: int) -> None:
        """Begin with nothing encoded."""
        self.metadata_version = metadata_version
        self._parts: dict[Placement, tuple[bytes, bytes]] = {}

    def of(self, placement: Placement) -> tuple[bytes, bytes]:
        """Return what comes before the number and the topic id of a partition, and what after."""
        parts = self._parts.get(placement)
        if parts is None:
            value = encode(_partition_record(ZERO_UUID, 0, placement), self.metadata_version)
            # number and topic id are the first fields of the message
            parts = value[:FRAME_SIZE_BYTES], value[_PLACE_FROM:]
            self._parts[placement] = parts
        return parts


class PartitionRecords(NamedTuple):
    """The records of partitions that are added to one topic.

    A topic may get 10,000 partitions at once, in few different places. Their records together are
    one value, because to make and to encode each by itself takes ten times as long.

    Attributes:
        first_index: the number of the first partition; those of the others follow.
        placements: where each of them is.
        encoded: those places that are encoded already.
    """

    topic_id: bytes
    first_index: int
    placements: Sequence[Placement]
    encoded: EncodedPlacements | None = None

    def each(self) -> Iterator[MetadataRecord]:
        """Return the records one by one."""
        for index, placement in enumerate(self.placements, self.first_index):
            yield _partition_record(self.topic_id, index, placement)

    def encode_each(self, metadata_version: int) -> Iterator[bytes]:
        """Return the values of the records one by one; see encode()."""
        encoded = self.encoded
        if encoded is None or encoded.metadata_version != metadata_version:
            encoded = EncodedPlacements(metadata_version)
        part_of = encoded.of
        for index, placement in enumerate(self.placements, self.first_index):
            head, tail = part_of(placement)
            yield head + index.to_bytes(_INT32_BYTES, "big") + self.topic_id + tail


def _partition_record(topic_id: bytes, index: int, placement: Placement) -> MetadataRecord:
    return make(
        PARTITION,
        partition_id=index,
        topic_id=topic_id,
        replicas=list(placement.replicas),
        isr=list(placement.isr),
        leader=placement.isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=list(placement.directories),
    )


MetadataChange = MetadataRecord | PartitionRecords


def make(api_key: int, **fields: object) -> MetadataRecord:
    """Make a record from its fields; missing fields have the schema's defaults."""
    return MetadataRecord(api_key, messages.metadata_record(api_key)(**fields))


def encode(record: MetadataRecord, metadata_version: int = OLDEST_METADATA_VERSION) -> bytes:
    """Return the value of a record of the log, in the version for a metadata.version."""
    version = _written_version(record, max(metadata_version, OLDEST_METADATA_VERSION))
    message = messages.metadata_record(record.api_key)
    return bytes((FRAME_VERSION, record.api_key, version)) + message.encode(record.value, version)


def _written_version(record: MetadataRecord, level: int) -> int:
    """Return the version in which Kafka writes a record at a metadata.version."""
    if record.api_key == BROKER_REGISTRATION_CHANGE:
        if record.value.log_dirs:
            return _DIRECTORIES_SINCE
        return _CONTROLLED_SHUTDOWN_SINCE if record.value.in_controlled_shutdown else 0
    versions = _WRITTEN_VERSIONS[record.api_key]
    return next(version for since, version in versions if level >= since)


def encode_change(
    change: MetadataChange, metadata_version: int = OLDEST_METADATA_VERSION
) -> list[bytes]:
    """Return the values of the records of a change."""
    if isinstance(change, MetadataRecord):
        return [encode(change, metadata_version)]
    return list(change.encode_each(metadata_version))


def decode(value: bytes | memoryview) -> MetadataRecord:
    """Return the record in a value, of any version that the schemas have.

    Raises:
        DecodeError: there is no frame, or the message cannot be decoded.
    """
    if len(value) < FRAME_SIZE_BYTES or value[0] != FRAME_VERSION:
        raise DecodeError("metadata record without a frame of version 1")
    try:
        message_type = messages.metadata_record(value[1])
    except KeyError:
        raise DecodeError(f"metadata record of the unknown type {value[1]}") from None
    message, _ = message_type.decode(value, value[2], FRAME_SIZE_BYTES)
    return MetadataRecord(value[1], message)

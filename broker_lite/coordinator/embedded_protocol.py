"""The messages that classic consumers exchange through the broker (KIP-429, KIP-792).

A consumer sends its metadata as a Subscription, and the leader sends an Assignment for each member.
Both consist of a version and a message. They are opaque to the broker, with two exceptions: it
reads the topics of a subscription, and it reads and writes both when a group moves between the
classic and the consumer protocol.

Rule: G-75, G-76 (ConsumerProtocol).
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from broker_lite.coordinator.texts import is_too_long
from broker_lite.wire import DecodeError, messages

PROTOCOL_TYPE: Final = "consumer"
# every later version begins with the fields of this one
VERSION_MAX: Final = 3

_INT16: Final = struct.Struct(">h")


def read_version(data: bytes) -> int:
    """Return the version in a subscription or assignment.

    Raises:
        DecodeError: the data is too short, or the version is negative.
    """
    if len(data) < _INT16.size:
        raise DecodeError("too short for a version")
    (version,) = _INT16.unpack_from(data)
    if version < 0:
        raise DecodeError(f"version {version} of the consumer protocol")
    return int(version)


def parse_subscription(data: bytes) -> messages.ConsumerProtocolSubscription:
    """Return the ConsumerProtocolSubscription in a member's metadata.

    Raises:
        DecodeError: the metadata is no valid subscription, or has a name too long for a record.
    """
    version = min(read_version(data), VERSION_MAX)
    value, _ = messages.ConsumerProtocolSubscription.decode(data, version, _INT16.size)
    if is_too_long(value.rack_id or "") or any(map(is_too_long, value.topics)):
        raise DecodeError("a name in the subscription is too long")
    return value


def serialize_subscription(value: messages.ConsumerProtocolSubscription, version: int) -> bytes:
    """Return a ConsumerProtocolSubscription as metadata, without the fields of later versions."""
    version = min(version, VERSION_MAX)
    encoded = messages.ConsumerProtocolSubscription.encode(value, version)
    return _INT16.pack(version) + encoded


def parse_assignment(data: bytes) -> tuple[dict[str, list[int]], bytes]:
    """Return the partitions by topic in a member's assignment, and the assignor's own data.

    Raises:
        DecodeError: the data is no valid assignment.
    """
    version = min(read_version(data), VERSION_MAX)
    value, _ = messages.ConsumerProtocolAssignment.decode(data, version, _INT16.size)
    partitions: dict[str, list[int]] = {}
    for topic in value.assigned_partitions:
        partitions.setdefault(topic.topic, []).extend(topic.partitions)
    return partitions, value.user_data or b""


def serialize_assignment(partitions: Mapping[str, Sequence[int]], version: int) -> bytes:
    """Return partitions by topic as an assignment."""
    version = min(version, VERSION_MAX)
    make_topic = messages.ConsumerProtocolAssignment.TopicPartition
    value = messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            make_topic(topic=topic, partitions=list(numbers))
            for topic, numbers in partitions.items()
        ]
    )
    return _INT16.pack(version) + messages.ConsumerProtocolAssignment.encode(value, version)


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics that members subscribe to.

    Args:
        metadata: of each member; decoded as version 0, because every version begins with its
            fields.

    Returns:
        The topics, or None if the metadata of a member cannot be read.

    Rule: G-75 (ClassicGroup.computeSubscribedTopics).
    """
    topics: set[str] = set()
    try:
        for data in metadata:
            read_version(data)
            value, _ = messages.ConsumerProtocolSubscription.decode(data, 0, _INT16.size)
            topics.update(value.topics)
    except DecodeError:
        return None
    return frozenset(topics)

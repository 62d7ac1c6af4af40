"""What is kept of a Produce that is too long to be kept: its partitions and the heads of batches.

It is worked out while the request is handled, because its bytes are gone afterwards. So the work is
bounded: a request of more partitions or batches than these limits is kept in part.
"""

from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage, UnknownServerError
from broker_lite.record.framing import walk
from broker_lite.wire.primitives import DecodeError
from broker_lite.wire.produce import decode_produce_request

HEAD_BYTES: Final = 61
PARTITIONS_MAX: Final = 512
BATCHES_MAX: Final = 64
_PARTITION_BYTES: Final = 200


class KeptPartition(NamedTuple):
    """One partition of a Produce.

    Attributes:
        topic: its name, or its id.
        number: of the partition.
        size_bytes: of its records; negative for none.
        heads: the first 61 bytes of each of its first batches.
    """

    topic: str | bytes
    number: int
    size_bytes: int
    heads: tuple[bytes, ...]


class Skeleton(NamedTuple):
    """A Produce without its records.

    Attributes:
        transactional_id: None for none.
        acks: as sent.
        timeout_ms: as sent.
        partitions: the first ones.
        is_whole: False if there are more partitions or batches.
        kept_bytes: about what it takes in memory.
    """

    transactional_id: str | None
    acks: int
    timeout_ms: int
    partitions: tuple[KeptPartition, ...]
    is_whole: bool
    kept_bytes: int


def skeleton_of(frame: memoryview, version: int, position: int) -> Skeleton | None:
    """Return what is kept of a long Produce, None if it cannot be decoded."""
    try:
        request = decode_produce_request(frame, version, position)
    except DecodeError:
        return None
    kept: list[KeptPartition] = []
    room = BATCHES_MAX
    count = 0
    for name, topic_id, partitions in request.topics:
        count += len(partitions)
        topic = name if name is not None else topic_id or b""
        for index, records in partitions[: PARTITIONS_MAX - len(kept)]:
            heads = () if records is None else _heads(records, room)
            room -= len(heads)
            kept.append(KeptPartition(topic, index, -1 if records is None else len(records), heads))
    used = BATCHES_MAX - room
    return Skeleton(
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        tuple(kept),
        count == len(kept) and room > 0,
        len(kept) * _PARTITION_BYTES + used * HEAD_BYTES * 2,
    )


def _heads(records: memoryview, room: int) -> tuple[bytes, ...]:
    heads: list[bytes] = []
    try:
        for entry in walk(records):
            if len(heads) >= room:
                break
            start = entry.position
            heads.append(bytes(records[start : start + min(HEAD_BYTES, entry.size_bytes)]))
    except (CorruptMessage, UnknownServerError):
        pass  # the batches before it are told
    return tuple(heads)

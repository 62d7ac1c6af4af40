"""Which partition a record goes to, bit for bit as Kafka's own producer decides it.

A key always leads to the same partition. Records without one stay with a partition until it has got
a batch's worth of bytes, then another is drawn (KIP-794).

Source: org.apache.kafka.common.utils.Utils.murmur2, BuiltInPartitioner.
"""

import random
import struct
from collections.abc import Callable
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_ROTATION: Final = 24
_MASK_32: Final = 0xFFFFFFFF
_WORD_BYTES: Final = 4


def murmur2(data: bytes) -> int:
    """The 32-bit MurmurHash2 with the seed that Kafka's clients use, unsigned."""
    word_count, rest_bytes = divmod(len(data), _WORD_BYTES)
    hashed = (_SEED ^ len(data)) & _MASK_32
    for word in struct.unpack_from(f"<{word_count}I", data):
        mixed = word * _MULTIPLIER & _MASK_32
        mixed = (mixed ^ mixed >> _ROTATION) * _MULTIPLIER
        hashed = (hashed * _MULTIPLIER ^ mixed) & _MASK_32
    if rest_bytes:
        hashed ^= int.from_bytes(data[-rest_bytes:], "little")
        hashed = hashed * _MULTIPLIER & _MASK_32
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK_32
    return hashed ^ hashed >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    """The partition of a record with a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartition:
    """The partition for records without a key.

    Attributes:
        partition: where the next record goes.
    """

    __slots__ = ("_batch_bytes", "_bytes", "_choose", "_partition_count", "partition")

    def __init__(
        self,
        partition_count: int,
        batch_bytes: int,
        choose: Callable[[int], int] = random.randrange,
    ) -> None:
        """Draw the first partition.

        Args:
            partition_count: of the topic.
            batch_bytes: after so many another partition is drawn.
            choose: draws one of so many.
        """
        self._partition_count = partition_count
        self._batch_bytes = batch_bytes
        self._choose = choose
        self._bytes = 0
        self.partition = choose(partition_count)

    def add(self, size_bytes: int) -> None:
        """Tell that a record of this size went to the partition."""
        self._bytes += size_bytes
        if self._bytes >= self._batch_bytes:
            self._bytes = 0
            self.partition = self._choose(self._partition_count)

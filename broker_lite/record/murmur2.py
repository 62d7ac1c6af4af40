"""The partition of a key, as Kafka's own producer chooses it.

Source: Utils.murmur2, BuiltInPartitioner.partitionForKey.
"""

import struct
from typing import Final

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_MASK_32: Final = 0xFFFFFFFF
_INT32_MAX: Final = 0x7FFFFFFF
_WORDS: Final = struct.Struct("<I")
_WORD_BYTES: Final = 4


def murmur2(data: bytes) -> int:
    """Return an unsigned 32-bit hash of bytes."""
    tail_position = len(data) - len(data) % _WORD_BYTES
    hashed = _SEED ^ len(data)
    for (word,) in _WORDS.iter_unpack(data[:tail_position]):
        mixed = word * _FACTOR & _MASK_32
        mixed ^= mixed >> 24
        hashed = (hashed * _FACTOR ^ mixed * _FACTOR) & _MASK_32
    if tail_position < len(data):
        hashed ^= int.from_bytes(data[tail_position:], "little")
        hashed = hashed * _FACTOR & _MASK_32
    hashed ^= hashed >> 13
    hashed = hashed * _FACTOR & _MASK_32
    return hashed ^ hashed >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    """Return the partition, 0 to partition_count - 1, of all records with this key."""
    return (murmur2(key) & _INT32_MAX) % partition_count

"""Finds the partition of a state topic that a group id or transactional id belongs to.

Rule: P-73.
"""

from typing import Final

_INT32_SIGN: Final = 0x8000_0000
_UINT32_MASK: Final = 0xFFFF_FFFF
_INT32_MIN: Final = -0x8000_0000


def java_string_hash(text: str) -> int:
    """Return Java's String.hashCode: over the UTF-16 characters, as a signed 32-bit number."""
    value = 0
    data = text.encode("utf-16-le", "surrogatepass")
    for position in range(0, len(data), 2):
        value = (31 * value + data[position] + (data[position + 1] << 8)) & _UINT32_MASK
    return value - 0x1_0000_0000 if value & _INT32_SIGN else value


def partition_of(entity_id: str, partition_count: int) -> int:
    """Return the partition of a group id or transactional id, from Kafka's Utils.abs of its hash.

    Utils.abs is the absolute value; for the smallest int32, which has none in 32 bits, it is 0.

    Rule: G-07 (GroupCoordinatorService.partitionFor).
    """
    value = java_string_hash(entity_id)
    return (0 if value == _INT32_MIN else abs(value)) % partition_count

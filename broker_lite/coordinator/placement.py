"""Which partition of a state topic an id belongs to.

Rule: P-73.
"""

from typing import Final

_INT32_SIGN: Final = 0x8000_0000
_UINT32_MASK: Final = 0xFFFF_FFFF
_INT32_MIN: Final = -0x8000_0000


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: over the UTF-16 characters, as a signed 32-bit number."""
    value = 0
    data = text.encode("utf-16-le", "surrogatepass")
    for position in range(0, len(data), 2):
        value = (31 * value + data[position] + (data[position + 1] << 8)) & _UINT32_MASK
    return value - 0x1_0000_0000 if value & _INT32_SIGN else value


def partition_of(entity_id: str, partition_count: int) -> int:
    """The partition of a group or transactional id, as Kafka's Utils.abs of the hash gives it.

    That is the absolute value, and 0 for the one number that has none.

    Rule: G-07 (GroupCoordinatorService.partitionFor).
    """
    value = java_string_hash(entity_id)
    return (0 if value == _INT32_MIN else abs(value)) % partition_count

"""Java's hash of a text, by which Kafka finds the partition of a group or transactional id."""

from typing import Final

_MASK_32: Final = 0xFFFFFFFF
_INT_MAX: Final = 0x7FFFFFFF


def java_string_hash(text: str) -> int:
    """The hash of a text's UTF-16 units, from -2147483648 to 2147483647.

    Source: String.hashCode.
    """
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (value * 31 + (units[index] << 8 | units[index + 1])) & _MASK_32
    return value - (1 << 32) if value > _INT_MAX else value


def state_partition(entity_id: str, partition_count: int) -> int:
    """The partition of a state log that holds a group or a transactional id.

    Source: GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor (Utils.abs).
    """
    value = java_string_hash(entity_id)
    # Utils.abs makes the smallest number 0 and the others positive.
    return (0 if value == -(1 << 31) else abs(value)) % partition_count

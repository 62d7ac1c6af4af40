"""Chooses the partition of a record without a key, as Kafka's producer does.

Such records go to one partition until it has received a batch's worth of bytes; then another one is
drawn (KIP-794). record.murmur2 chooses the partition of a key.

Source: BuiltInPartitioner.
"""

import random
from collections.abc import Callable


class StickyPartition:
    """The partition for records without a key.

    Attributes:
        partition: of the next record.
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
            batch_bytes: after this many bytes, another partition is drawn.
            choose: takes a count and draws a number below it.
        """
        self._partition_count = partition_count
        self._batch_bytes = batch_bytes
        self._choose = choose
        self._bytes = 0
        self.partition = choose(partition_count)

    def add(self, size_bytes: int) -> None:
        """Count a record of this size that went to the partition."""
        self._bytes += size_bytes
        if self._bytes >= self._batch_bytes:
            self._bytes = 0
            self.partition = self._choose(self._partition_count)

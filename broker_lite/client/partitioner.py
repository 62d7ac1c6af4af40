"""Which partition a record without a key goes to, as Kafka's own producer decides it.

Such records stay with a partition until it has got a batch's worth of bytes, then another is drawn
(KIP-794). Where a key leads is record.murmur2's to say.

Source: BuiltInPartitioner.
"""

import random
from collections.abc import Callable


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

"""Producer ids: each is taken from a block that is reserved in the metadata log before its use."""

from collections.abc import Callable
from typing import Final

PRODUCER_ID_BLOCK: Final = 1000


class ProducerIds:
    """The producer ids of one broker; the unused rest of a block is lost when the broker stops."""

    def __init__(self, take_block: Callable[[], int]) -> None:
        """Start without a block.

        Args:
            take_block: writes the reservation of a block, and returns the block's first id.
        """
        self._take_block = take_block
        self._left = range(0)

    def next(self) -> int:
        """Return an id that was never used before.

        Raises:
            KafkaStorageError: a new block was needed and could not be written.

        Rule: T-15.
        """
        if not self._left:
            start = self._take_block()
            self._left = range(start, start + PRODUCER_ID_BLOCK)
        first, self._left = self._left[0], self._left[1:]
        return first

"""Producer ids: handed out one by one from blocks that are written down before they are used."""

from collections.abc import Callable
from typing import Final

PRODUCER_ID_BLOCK: Final = 1000


class ProducerIds:
    """The ids of one broker; what is left of a block is lost when it stops."""

    def __init__(self, take_block: Callable[[], int]) -> None:
        """Begin without a block.

        Args:
            take_block: writes down that a block is taken and gives its first id.
        """
        self._take_block = take_block
        self._left = range(0)

    def next(self) -> int:
        """An id that was never given before.

        Raises:
            KafkaStorageError: a new block was needed and could not be written.

        Rule: T-15.
        """
        if not self._left:
            start = self._take_block()
            self._left = range(start, start + PRODUCER_ID_BLOCK)
        first, self._left = self._left[0], self._left[1:]
        return first

"""Guess where a batch of magic 2 may begin in some bytes, after the place in a log was lost.

In other data most guesses are wrong, so the caller has to check the batch's checksum.
"""

import re
from collections.abc import Iterator
from typing import Final

from broker_lite.record.framing import CURRENT_MAGIC, MAGIC_OFFSET

GUESS_BYTES: Final = 24
"""How many bytes of a batch a guess looks at."""

# Magic, checksum, attributes with only seven bits used, a last offset delta of 0 or more.
_FROM_MAGIC: Final = re.compile(
    bytes((CURRENT_MAGIC,)) + rb"(?=.{4}\x00[\x00-\x7f][\x00-\x7f])", re.DOTALL
)


def possible_starts(data: bytes | memoryview) -> Iterator[int]:
    """Yield the positions where a batch may begin, if at least its first bytes are there.

    See: R-01, R-02.
    """
    for match in _FROM_MAGIC.finditer(data, MAGIC_OFFSET):
        yield match.start() - MAGIC_OFFSET

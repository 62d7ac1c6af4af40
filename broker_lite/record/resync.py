"""Where in bytes a batch of magic 2 may begin: a guess for who has lost its place in a log.

A guess is wrong most of the time it is made over other data, so its checksum has to be looked at.
"""

import re
from collections.abc import Iterator
from typing import Final

from broker_lite.record.framing import CURRENT_MAGIC, MAGIC_OFFSET

GUESS_BYTES: Final = 24
"""How many bytes of a batch a guess looks at."""

# Magic, checksum, attributes of which only seven bits are used, a last offset delta of 0 or more.
_FROM_MAGIC: Final = re.compile(
    bytes((CURRENT_MAGIC,)) + rb"(?=.{4}\x00[\x00-\x7f][\x00-\x7f])", re.DOTALL
)


def possible_starts(data: bytes | memoryview) -> Iterator[int]:
    """Yield where a batch may begin, of which at least the first bytes are there.

    See: R-01, R-02.
    """
    for match in _FROM_MAGIC.finditer(data, MAGIC_OFFSET):
        yield match.start() - MAGIC_OFFSET

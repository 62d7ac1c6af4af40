"""Valid bytes with something wrong in them."""

import random
import struct
from collections.abc import Iterator
from typing import Final

from broker_lite.record.crc import crc32c

_VALUES: Final = (0x00, 0x01, 0x7F, 0x80, 0xFF)
_CRC_POSITION, _CRC_START = 17, 21


def edited(valid: bytes, seed: int, rounds: int) -> Iterator[bytes]:
    """Every prefix, every byte at its extremes, and a seeded number of bigger damages."""
    for end in range(len(valid)):
        yield valid[:end]
        for value in _VALUES:
            yield valid[:end] + bytes((value,)) + valid[end + 1 :]
    source = random.Random(seed)
    for _ in range(rounds):
        changed = bytearray(valid)
        for _ in range(source.choice((1, 2, 3))):
            damage(source, changed)
        yield bytes(changed)


def damage(source: random.Random, changed: bytearray) -> None:
    """Change, insert, remove or repeat a few bytes somewhere."""
    at = source.randrange(len(changed) + 1)
    match source.randrange(4):
        case 0:
            changed[at : at + 4] = struct.pack(">i", source.choice((-1, 0, 1, 2**31 - 1, -(2**31))))
        case 1:
            changed[at:at] = source.randbytes(source.randrange(1, 5))
        case 2:
            del changed[at : at + source.randrange(1, 5)]
        case _:
            changed[at:at] = changed[at : at + source.randrange(1, 30)]


def with_checksum(batch: bytes) -> bytes:
    """A batch whose checksum is right, so that what is wrong in it is looked at."""
    changed = bytearray(batch)
    if len(changed) > _CRC_START:
        struct.pack_into(">I", changed, _CRC_POSITION, crc32c(changed[_CRC_START:]))
    return bytes(changed)

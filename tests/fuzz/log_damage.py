"""Damage to the files of a log: every class of bytes, in every place of a segment, by a seed."""

import random
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.fuzz.log_reference import TrueBatch, segments_of

FIELDS: Final = {
    "base offset": (0, 8),
    "length": (8, 4),
    "leader epoch": (12, 4),
    "magic": (16, 1),
    "checksum": (17, 4),
    "attributes": (21, 2),
    "last offset delta": (23, 4),
    "base timestamp": (27, 8),
    "max timestamp": (35, 8),
    "producer id": (43, 8),
    "producer epoch": (51, 2),
    "base sequence": (53, 4),
    "count": (57, 4),
}
SIDE_FILES: Final = (
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    "recovery-point-offset-checkpoint",
    "leader-epoch-checkpoint",
    ".kafka_cleanshutdown",
)
SWAPPED: Final = "batches swapped"
MOVED: Final = frozenset(("block twice", "block over another", "blocks swapped"))
"""Sound batches can get to where others belong: either of two neighbours may be the wrong one."""
SOUND: Final = ("nothing", "torn tail", "zeros behind")
_BLOCK_BYTES: Final = 512
_GONE_SHARE: Final = 0.3
_TORN_BYTES: Final = 16  # with fewer zeros at its end a batch is not taken for a torn one


class Case(NamedTuple):
    """A damaged log.

    Attributes:
        classes: what was done, in the words of CLASSES.
        gone: the side files that are missing.
        files: all that there are afterwards.
    """

    classes: tuple[str, ...]
    gone: tuple[str, ...]
    files: dict[str, bytes]


def make_case(source: random.Random, files: dict[str, bytes], batches: list[TrueBatch]) -> Case:
    """Damage a copy of a log.

    Args:
        source: of chance.
        files: of the undamaged log.
        batches: its batches.
    """
    changed = dict(files)
    is_all, is_none = source.random() < 0.2, source.random() < 0.2
    gone = tuple(
        name for name in SIDE_FILES if is_none or (not is_all and source.random() < _GONE_SHARE)
    )
    for path in files:
        if path.endswith(gone or ("no file",)):
            del changed[path]
    classes = [source.choice(tuple(CLASSES))]
    if source.random() < 0.1:
        classes.append(source.choice(tuple(CLASSES)))
    for name in classes:
        batch = _some_batch(source, changed, batches)
        data = bytearray(changed[batch.path])
        CLASSES[name](source, data, batch)
        changed[batch.path] = bytes(data)
    return Case(tuple(classes), gone, changed)


def sound_case(source: random.Random, files: dict[str, bytes], batches: list[TrueBatch]) -> Case:
    """Give a log that a broker can leave: as it is, with a torn tail, or extended ahead."""
    changed = dict(files)
    gone = tuple(name for name in SIDE_FILES if source.random() < _GONE_SHARE)
    for path in files:
        if path.endswith(gone or ("no file",)):
            del changed[path]
    name = source.choice(SOUND)
    _, path = segments_of(files)[-1]
    if name == "torn tail":
        data = bytearray(source.choice(batches).data)
        data[:8] = (batches[-1].last_offset + 1).to_bytes(8, "big")
        zeros = source.choice((0, 0, 100))
        kept = source.randrange(1, len(data) - (_TORN_BYTES if zeros else 0))
        changed[path] += bytes(data[:kept]) + bytes(zeros)
    elif name == "zeros behind":
        changed[path] += bytes(source.choice((1, 60, 5000)))
    return Case((name,), gone, changed)


def _some_batch(
    source: random.Random, files: dict[str, bytes], batches: list[TrueBatch]
) -> TrueBatch:
    """The first one of a segment, the last one, or one in between."""
    _, path = source.choice(segments_of(files))
    own = [batch for batch in batches if batch.path == path]
    return own[source.choice((0, -1, source.randrange(len(own))))]


def _field(begin: int, size_bytes: int) -> Callable[..., None]:
    def change(source: random.Random, data: bytearray, batch: TrueBatch) -> None:
        at = batch.position + begin
        if at + size_bytes > len(data):
            return
        match source.randrange(4):
            case 0:
                data[at + source.randrange(size_bytes)] ^= 1 << source.randrange(8)
            case 1:
                data[at : at + size_bytes] = source.randbytes(size_bytes)
            case 2:
                data[at : at + size_bytes] = bytes(size_bytes)
            case _:  # one more or one less, which is near to what it was
                number = int.from_bytes(data[at : at + size_bytes], "big")
                number += source.choice((1, -1, len(batch.rows), -len(batch.rows)))
                bits = 8 * size_bytes
                data[at : at + size_bytes] = (number % (1 << bits)).to_bytes(size_bytes, "big")

    return change


def _records(source: random.Random, data: bytearray, batch: TrueBatch) -> None:
    at = source.randrange(min(batch.position + 61, batch.end - 1), batch.end)
    if at < len(data):
        data[at] ^= 1 << source.randrange(8)


def _overwrite(fill: Callable[[random.Random, int], bytes]) -> Callable[..., None]:
    def change(source: random.Random, data: bytearray, batch: TrueBatch) -> None:
        begin = batch.position + source.choice((0, source.randrange(len(batch.data))))
        size_bytes = min(source.choice((1, 16, 61, 512, 4096)), len(data) - begin)
        if size_bytes > 0:
            data[begin : begin + size_bytes] = fill(source, size_bytes)

    return change


def _cut(source: random.Random, data: bytearray, batch: TrueBatch) -> None:
    del data[batch.position + source.randrange(len(batch.data)) :]


def _cut_between(_: random.Random, data: bytearray, batch: TrueBatch) -> None:
    del data[batch.position :]


def _empty(_: random.Random, data: bytearray, __: TrueBatch) -> None:
    data.clear()


def _batch_twice(_: random.Random, data: bytearray, batch: TrueBatch) -> None:
    data[batch.end : batch.end] = batch.data


def _batch_over_next(_: random.Random, data: bytearray, batch: TrueBatch) -> None:
    data[batch.end : batch.end + len(batch.data)] = batch.data


def _batch_gone(_: random.Random, data: bytearray, batch: TrueBatch) -> None:
    del data[batch.position : batch.end]


def _batches_swapped(_: random.Random, data: bytearray, batch: TrueBatch) -> None:
    length = int.from_bytes(data[batch.end + 8 : batch.end + 12], "big")
    following = bytes(data[batch.end : batch.end + 12 + length])
    data[batch.position : batch.end + len(following)] = following + batch.data


def _block(source: random.Random, data: bytearray) -> int:
    return source.randrange(max(len(data) // _BLOCK_BYTES, 1)) * _BLOCK_BYTES


def _block_twice(source: random.Random, data: bytearray, _: TrueBatch) -> None:
    begin = _block(source, data)
    data[begin:begin] = data[begin : begin + _BLOCK_BYTES]


def _block_over_other(source: random.Random, data: bytearray, _: TrueBatch) -> None:
    begin, other = _block(source, data), _block(source, data)
    block = data[begin : begin + _BLOCK_BYTES]
    data[other : other + len(block)] = block


def _blocks_swapped(source: random.Random, data: bytearray, _: TrueBatch) -> None:
    one, other = sorted((_block(source, data), _block(source, data)))
    first, second = data[one : one + _BLOCK_BYTES], data[other : other + _BLOCK_BYTES]
    if one != other and len(first) == len(second):
        data[one : one + _BLOCK_BYTES], data[other : other + _BLOCK_BYTES] = second, first


CLASSES: Final[dict[str, Callable[[random.Random, bytearray, TrueBatch], None]]] = {
    **{name: _field(*place) for name, place in FIELDS.items()},
    "records": _records,
    "zeros": _overwrite(lambda _, size_bytes: bytes(size_bytes)),
    "garbage": _overwrite(lambda source, size_bytes: source.randbytes(size_bytes)),
    "cut": _cut,
    "cut between batches": _cut_between,
    "emptied": _empty,
    "batch twice": _batch_twice,
    "batch over the next": _batch_over_next,
    "batch gone": _batch_gone,
    SWAPPED: _batches_swapped,
    "block twice": _block_twice,
    "block over another": _block_over_other,
    "blocks swapped": _blocks_swapped,
}

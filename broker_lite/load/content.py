"""Makes the batches of a load before its clock runs.

A run sends the same few batches again and again. Their records differ, so codecs have the work that
the payload gives them, and nothing is encoded while latencies are measured. All records have the
timestamp of the start.
"""

import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.record.builder import BatchBuilder

_TEXT: Final = b"The quick brown fox jumps over the lazy dog. "
_BYTES_MAX: Final = 4 << 20  # of all batches together, before compression
_BATCHES_MIN: Final = 2
_BATCHES_MAX: Final = 64


class Batch(NamedTuple):
    """An encoded batch, ready to be sent."""

    data: bytes
    records: int


def random_values(size_bytes: int, share: float, seed: int) -> Iterator[bytes]:
    """Yield values without end: random bytes, and after them a text that is always the same.

    Args:
        size_bytes: of each value.
        share: of random bytes, 0 to 1.
        seed: of the random bytes.
    """
    source = random.Random(seed)  # noqa: S311 - nothing is kept secret by it
    random_bytes = round(size_bytes * share)
    rest = size_bytes - random_bytes
    text = (_TEXT * (rest // len(_TEXT) + 1))[:rest]
    while True:
        yield source.randbytes(random_bytes) + text


def file_values(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without end.

    Raises:
        SettingsError: it cannot be read, or is empty.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    if not lines:
        raise SettingsError(f"{path}: is empty")
    return cycle(lines)


def make_batches(
    values: Iterator[bytes], *, batch_bytes: int, codec: int, timestamp_ms: int
) -> list[Batch]:
    """Encode the batches of a run.

    Args:
        values: without end.
        batch_bytes: the largest size of a batch before compression; one record always fits.
        codec: id of compression.Codec.
        timestamp_ms: of all records.
    """
    count = max(_BATCHES_MIN, min(_BATCHES_MAX, _BYTES_MAX // batch_bytes))
    value = next(values)
    batches = []
    for _ in range(count):
        builder = BatchBuilder(codec=codec)
        while builder.has_room_for(batch_bytes, timestamp_ms, None, value):
            builder.append(timestamp_ms, None, value)
            value = next(values)
        batches.append(Batch(builder.build(), builder.record_count))
    return batches

"""Makes the batches of a load before its clock runs.

A run sends the same few batches again and again. Their records differ, so codecs have the work that
the payload gives them, and nothing is encoded while latencies are measured. All records have the
timestamp of the start.
"""

import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.load.stamped import STAMP_BYTES, Batch, stamp_end_of
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec

_TEXT: Final = b"The quick brown fox jumps over the lazy dog. "
_BYTES_MAX: Final = 4 << 20  # of all batches together, before compression
_BATCHES_MIN: Final = 2
_BATCHES_MAX: Final = 64


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
    values: Iterator[bytes],
    *,
    batch_bytes: int,
    codec: Codec,
    timestamp_ms: int,
    is_stamped: bool = False,
) -> list[Batch]:
    """Encode the batches of a run.

    Args:
        values: without end.
        batch_bytes: the largest size of a batch before compression; one record always fits.
        codec: of the batches as they are sent.
        timestamp_ms: of all records.
        is_stamped: whether each has room for a stamp in its first value, which has to be as long
            as that. They are compressed for each request, then.

    Raises:
        SettingsError: a value has no room for a stamp.
    """
    count = max(_BATCHES_MIN, min(_BATCHES_MAX, _BYTES_MAX // batch_bytes))
    value = next(values)
    batches = []
    for _ in range(count):
        if is_stamped and len(value) < STAMP_BYTES:
            raise SettingsError(
                f"a value of {len(value)} bytes has no room for the time at which it was due:"
                f" {STAMP_BYTES} bytes"
            )
        builder = BatchBuilder(codec=Codec.NONE if is_stamped else codec)
        while builder.has_room_for(batch_bytes, timestamp_ms, None, value):
            builder.append(timestamp_ms, None, value)
            value = next(values)
        data = builder.build()
        if is_stamped:
            batches.append(Batch(data, builder.record_count, stamp_end_of(data), codec))
        else:
            batches.append(Batch(data, builder.record_count))
    return batches

"""Canned batches: made-up records that a synthetic topic repeats for ever.

The shape alone decides the content. Base offset and leader epoch lie in the first 16 bytes of a
batch, outside of its checksum; they are 0 here, and whoever sends a batch replaces them.

A value begins with the number of its record in the run, then come words, then random bytes. A key
is 16 hexadecimal digits; the keys follow each other in turn.

See: F-16.
"""

import random
from array import array
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CURRENT_MAGIC,
    HEADER,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
)
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.crc import crc32c
from broker_lite.record.loops.encode_records import BytesColumn, RecordEncoder
from broker_lite.record.loops.synthetic import SyntheticRecords, mixed
from broker_lite.settings.configs.load_bounds import KEY_BYTES, batch_bytes_max, run_batches

START_MS: Final = 1_704_067_200_000
"""The timestamp of the first record of a run: the year 2024 begins. Each next one is 1 ms later."""

_SEED: Final = 1
_CRC_POSITION: Final = 17
_QUANTILES: Final = 1025
_ALL_NULL: Final = 1 << 32
_US_PER_MS: Final = 1000
_POOL_BYTES: Final = 256 << 10
_WORDS: Final = 2000
_NO_OFFSETS: Final = memoryview(array("q"))
_NO_NULLS: Final = memoryview(b"")


class CannedShape(NamedTuple):
    """What decides a run of canned batches; equal shapes have equal runs.

    Attributes:
        batch_records: of each batch.
        record_bytes: size of a value.
        keys: how many different keys there are; 0 for records without keys.
        codec: of the batches.
        random_share: of a value's bytes.
        tail_records: of one smaller batch with the first records of the run, where a log ends
            inside a batch; 0 for none.
    """

    batch_records: int
    record_bytes: int
    keys: int = 0
    codec: Codec = Codec.NONE
    random_share: float = 0.0
    tail_records: int = 0

    @property
    def batch_count(self) -> int:
        """The number of whole batches."""
        return run_batches(self.batch_records, self.record_bytes, self.keys)

    @property
    def record_count(self) -> int:
        """The number of records in the whole batches."""
        return self.batch_count * self.batch_records


def canned_batches(shape: CannedShape) -> Iterator[memoryview]:
    """Make the whole batches of a run, then the tail if there is one; each is a new buffer.

    One batch takes a few milliseconds, and more with a codec.
    """
    maker = _BatchMaker(shape)
    for batch in range(shape.batch_count):
        yield maker.make(batch * shape.batch_records, shape.batch_records)
    if shape.tail_records:
        yield maker.make(0, shape.tail_records)


class _BatchMaker:
    """Makes batches of one shape."""

    def __init__(self, shape: CannedShape) -> None:
        self._shape = shape
        zeros = _constant(0)
        self._made = SyntheticRecords(
            *(_SEED, zeros, zeros, _ALL_NULL, _constant(shape.record_bytes), 0),
            *(memoryview(_words()), START_MS, _US_PER_MS, 0),
        )

    def make(self, first: int, count: int) -> memoryview:
        """Make one batch with the records from number `first` on."""
        shape, made = self._shape, self._made
        made.fill(first, count)
        self._put_noise(first, count)
        values = BytesColumn(made.value_bits, made.value_ends, made.value_data, 0)
        keys = _key_column(first, count, shape.keys) if shape.keys else None
        batch = memoryview(bytearray(batch_bytes_max(count, shape.record_bytes, shape.keys)))
        encoder = RecordEncoder(made.timestamps, _NO_OFFSETS, keys, values, None)
        written = encoder.encode(
            *(0, count, 0, 0, made.timestamps[0], batch, RECORD_BATCH_OVERHEAD, len(batch))
        )
        assert written == count, "there was room for all of them"
        batch = batch[: encoder.position]
        if shape.codec is not Codec.NONE:
            records = compress(shape.codec, batch[RECORD_BATCH_OVERHEAD:])
            batch = memoryview(bytearray(RECORD_BATCH_OVERHEAD + len(records)))
            batch[RECORD_BATCH_OVERHEAD:] = records
        _write_header(batch, shape.codec, made.timestamps[0], count)
        return batch

    def _put_noise(self, first: int, count: int) -> None:
        """Replace the end of each value by random bytes, which do not repeat within the batch."""
        record_bytes, data = self._shape.record_bytes, self._made.value_data
        noise_bytes = round(record_bytes * self._shape.random_share)
        if not noise_bytes:
            return
        source = random.Random(mixed(_SEED ^ first))  # noqa: S311 - reproducible bytes are wanted
        noise = source.randbytes(count * noise_bytes)
        for row in range(count):
            end = (row + 1) * record_bytes
            data[end - noise_bytes : end] = noise[row * noise_bytes : (row + 1) * noise_bytes]


def _write_header(batch: memoryview, codec: Codec, timestamp: int, count: int) -> None:
    HEADER.pack_into(
        batch,
        0,
        *(0, len(batch) - LOG_OVERHEAD, 0, CURRENT_MAGIC, 0, int(codec), count - 1),
        *(timestamp, timestamp + count - 1),
        *(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, count),
    )
    checksum = crc32c(batch[ATTRIBUTES_OFFSET:])
    batch[_CRC_POSITION:ATTRIBUTES_OFFSET] = checksum.to_bytes(4, "big")


def _key_column(first: int, count: int, keys: int) -> BytesColumn:
    texts = (b"%016x" % mixed(number % keys) for number in range(first, first + count))
    ends = array("i", range(0, (count + 1) * KEY_BYTES, KEY_BYTES))
    return BytesColumn(_NO_NULLS, memoryview(ends), memoryview(b"".join(texts)), 0)


def _constant(number: int) -> memoryview:
    """Return quantiles that are all the same."""
    return memoryview(array("q", [number]) * _QUANTILES)


@cache
def _words() -> bytes:
    """Make text to cut values from.

    As in any language, few words are frequent, so codecs compress about as well as on real logs.
    """
    source = random.Random(_SEED)  # noqa: S311 - reproducible bytes are wanted
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(2, 11))) for _ in range(_WORDS)]
    weights = [1 / (rank + 1) for rank in range(_WORDS)]
    text = " ".join(source.choices(words, weights, k=_POOL_BYTES // 5))
    return text.encode()[:_POOL_BYTES]

"""Topics to be read: made of batches of unlike, log-like records, the same on every broker."""

import random
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from tests.bench.load_client import LoadClient, create_topic, produce_frame

HOST: Final = "127.0.0.1"
PARTITIONS: Final = 2
SEGMENTS: Final = 2
"""Of each partition, about."""

_BATCH_BYTES: Final = 16_384
_RECORD_OVERHEAD_BYTES: Final = 20  # key, lengths, deltas
_UNLIKE_BATCHES: Final = 1000
"""So many before they repeat: more than a dictionary of Parquet or a window of zstd reaches."""
_IN_FLIGHT: Final = 5


class Shape(NamedTuple):
    """What the records of a topic are like."""

    value_bytes: int
    codec: str

    @property
    def title(self) -> str:
        """For a person."""
        return f"{self.value_bytes} B, {self.codec}"

    @property
    def topic(self) -> str:
        """The topic that holds such records."""
        return f"bench-{self.value_bytes}-{self.codec}"

    @property
    def records_per_batch(self) -> int:
        """So many that a batch has 16 KiB before it is compressed."""
        return _BATCH_BYTES // (self.value_bytes + _RECORD_OVERHEAD_BYTES)


def batches_of(shape: Shape) -> list[bytes]:
    """Batches that have nothing in common but how log lines look."""
    source = random.Random(shape.title)
    lines = _lines(source, shape.value_bytes)
    return [_batch(shape, lines) for _ in range(_UNLIKE_BATCHES)]


def fill(port: int, shape: Shape, batches: list[bytes], size_bytes: int) -> int:
    """Create the topic and fill it; returns the records.

    Args:
        port: of a broker on the loopback.
        shape: of the records.
        batches: repeated until there is enough.
        size_bytes: of all records before they are compressed.
    """
    create_topic(
        HOST,
        port,
        shape.topic,
        PARTITIONS,
        segment_bytes=str(max(size_bytes // PARTITIONS // SEGMENTS, 1 << 20)),
        retention_ms="-1",
    )
    frames = [
        produce_frame(shape.topic, batch, partition=index % PARTITIONS)
        for index, batch in enumerate(batches)
    ]
    count = size_bytes // _BATCH_BYTES
    client = LoadClient(HOST, port)
    client.run(lambda index: frames[index % len(frames)], count, _IN_FLIGHT)
    client.close()
    return count * shape.records_per_batch


def _batch(shape: Shape, lines: Iterator[bytes]) -> bytes:
    builder = BatchBuilder(codec=Codec[shape.codec.upper()])
    now_ms = int(time.time() * 1000)
    for index in range(shape.records_per_batch):
        builder.append(now_ms + index, b"key-%06d" % index, next(lines))
    return builder.build()


def _lines(source: random.Random, size_bytes: int) -> Iterator[bytes]:
    """Lines of a log, put together to a size."""
    text = bytearray()
    while True:
        while len(text) < size_bytes:
            text += b"%s INFO request %016x of user-%05d took %d ms, status %d\n" % (
                b"2026-01-01T00:00:%02d" % source.randrange(60),
                source.getrandbits(64),
                source.randrange(100_000),
                source.randrange(2000),
                source.choice((200, 200, 200, 404, 500)),
            )
        yield bytes(text[:size_bytes])
        del text[:size_bytes]

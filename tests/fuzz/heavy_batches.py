"""Batches that cost a broker much more than their bytes: the attacks that bombs.py makes.

Every one is valid for Kafka, or becomes invalid only at its end. `size` is in the millions of
records, headers or bytes; 1 is what a broker has to stand in a test.
"""

import gzip
import random
import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.varint import encode_varint
from tests.log.batches import batch, record

_MILLION: Final = 1_000_000
_SNAPPY_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


class Heavy(NamedTuple):
    """An attack.

    Attributes:
        records: one batch.
        configs: of the topic it is sent to.
        codes: what it may be answered.
        partitions: that it is sent to at once.
    """

    records: bytes
    configs: Mapping[str, str]
    codes: frozenset[int]
    partitions: int = 1


ACCEPTED: Final = frozenset({0})
TOO_LARGE: Final = frozenset({10})
INVALID: Final = frozenset({87})
ANY: Final = frozenset({0, 2, 10, 87, -1})


def _many(count: int, *, key: bytes | None = b"") -> bytes:
    """So many records whose bytes a writer would not have chosen: their offset delta is 0.

    The last one has the largest timestamp, for whoever looks for it.
    """
    return record(key, None) * (count - 1) + record(key, None, timestamp_delta=1)


def _sound(count: int, *, key: bytes | None = b"") -> bytes:
    return b"".join(record(key, None, offset_delta=index) for index in range(count))


def _odd_records(size: float) -> Heavy:
    count = int(size * _MILLION)
    data = compress(Codec.ZSTD, _many(count))
    return Heavy(
        batch(data, attributes=Codec.ZSTD, count=count), {"compression.type": "gzip"}, ACCEPTED
    )


def _too_many_records(size: float) -> Heavy:
    count = int(16 * size * _MILLION)
    data = compress(Codec.ZSTD, _many(count))
    return Heavy(
        batch(data, attributes=Codec.ZSTD, count=count),
        {"compression.type": "lz4"},
        TOO_LARGE if count > 2_097_152 else ACCEPTED,
    )


def _plain_records(size: float) -> Heavy:
    count = int(size * _MILLION)
    return Heavy(batch(_many(count), count=count), {}, ACCEPTED)


def _odd_headers(size: float) -> Heavy:
    """One record with very many headers, whose keys are not UTF-8."""
    count = int(20 * size * _MILLION)
    headers = encode_varint(count) + b"\x02\xff\x01" * count
    data = compress(Codec.ZSTD, record(headers=headers))
    # a byte that is not UTF-8 becomes three, and these take more than a batch may
    codes = TOO_LARGE if 5 * count > 134_217_728 else ACCEPTED
    return Heavy(batch(data, attributes=Codec.ZSTD), {"compression.type": "lz4"}, codes)


def _slow_codec(size: float) -> Heavy:
    """Text, 5.5 MB for a million words; the slowest level of zstd takes 0.3 s a megabyte."""
    chance = random.Random(size)
    words = [chance.randbytes(chance.randrange(3, 9)) for _ in range(2000)]
    chosen = chance.choices(words, k=int(size * _MILLION))
    data = compress(Codec.LZ4, record(value=b"".join(chosen)))
    configs = {"compression.type": "zstd", "compression.zstd.level": "22"}
    return Heavy(batch(data, attributes=Codec.LZ4), configs, ACCEPTED)


def _last_is_bad(size: float) -> Heavy:
    """Only the last record is refused: whoever looks for it has to look at all."""
    count = int(size * _MILLION)
    content = _many(count - 1) + record(None, offset_delta=0)
    data = gzip.compress(content, 1)
    configs = {"cleanup.policy": "compact", "compression.type": "zstd"}
    return Heavy(batch(data, attributes=Codec.GZIP, count=count), configs, INVALID)


def _all_are_bad(size: float) -> Heavy:
    """A list of all refused records for each of many partitions."""
    count = int(0.06 * size * _MILLION)
    data = compress(Codec.ZSTD, _sound(count, key=None))
    records = batch(data, attributes=Codec.ZSTD, count=count)
    return Heavy(records, {"cleanup.policy": "compact"}, INVALID, partitions=100)


def _many_partitions(size: float) -> Heavy:
    """Each has as much as may be done in the event loop."""
    count = int(0.04 * size * _MILLION)
    data = compress(Codec.ZSTD, _sound(count))
    return Heavy(batch(data, attributes=Codec.ZSTD, count=count), {}, ACCEPTED, partitions=200)


def _parts(codec: Codec, head: bytes, part: bytes, tail: bytes = b"") -> Callable[[float], Heavy]:
    def of(size: float) -> Heavy:
        data = head + part * int(5 * size * _MILLION / len(part)) + tail
        return Heavy(batch(data, attributes=codec), {}, ANY)

    return of


ATTACKS: Final[Mapping[str, Callable[[float], Heavy]]] = {
    "odd records": _odd_records,
    "too many records": _too_many_records,
    "plain records": _plain_records,
    "odd headers": _odd_headers,
    "slow codec": _slow_codec,
    "last record bad": _last_is_bad,
    "all records bad": _all_are_bad,
    "skippable frames": _parts(Codec.ZSTD, b"", bytes.fromhex("502a4d1800000000")),
    "zstd frames": _parts(Codec.ZSTD, b"", bytes.fromhex("28b52ffd2000010000")),
    "zstd blocks": _parts(Codec.ZSTD, bytes.fromhex("28b52ffd0038"), bytes(3), b"\1\0\0"),
    "xerial chunks": _parts(Codec.SNAPPY, _SNAPPY_HEAD, bytes.fromhex("0000000100")),
    "gzip members": _parts(Codec.GZIP, b"", gzip.compress(b"", mtime=0)),
    "gzip name": _parts(Codec.GZIP, bytes.fromhex("1f8b08080000000000ff"), b"n" * 1000),
    "lz4 blocks": _parts(
        Codec.LZ4, bytes.fromhex("04224d18604082"), struct.pack("<I", 1 << 31 | 1) + b"x"
    ),
    "many partitions": _many_partitions,
}

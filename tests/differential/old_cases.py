"""Seeded produce requests of versions 0 to 2: message sets of magic 0 and 1, sound and broken."""

import random
import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.record.codecs import lz4_stream
from broker_lite.record.codecs.compression import compress
from broker_lite.record.legacy.message_builder import encode_message
from tests.differential.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD
from tests.differential.case import HOUR_MS, Case, CaseMaker

APPEND_TIME: Final = 8
_CODECS: Final = (NONE, NONE, GZIP, SNAPPY, LZ4)


class Fields(NamedTuple):
    """One message before it has an offset."""

    timestamp: int
    key: bytes | None
    value: bytes | None


class OldCases(CaseMaker):
    """An endless stream of cases from one seed."""

    def __init__(self, seed: int, now_ms: int) -> None:
        super().__init__(random.Random(seed), now_ms)

    def __iter__(self) -> Iterator[Case]:
        """Yield cases without end."""
        weighted = (
            (8, self._sound),
            (3, self._odd_offsets),
            (3, self._types_and_times),
            (2, self._mixed),
            (3, self._odd_wrapper),
            (3, self._damaged_inside),
            (4, self._damaged),
            (2, self._new_batch),
            (1, self._large),
        )
        makers = [maker for weight, maker in weighted for _ in range(weight)]
        while True:
            maker = self.source.choice(makers)
            data, note = maker()
            yield self.case(
                f"old {maker.__name__.strip('_')}",
                data,
                version=self.source.choice((0, 1, 2, 2)),
                note=note,
            )

    # -- parts

    def _fields(self, count: int) -> list[Fields]:
        source = self.source
        base = self.now_ms - source.choice((0, 1000, HOUR_MS, 40 * HOUR_MS))

        def text() -> bytes | None:
            return source.choice((None, b"", b"k", source.randbytes(9), b"value " * 20))

        return [
            Fields(base + source.randrange(-5, 50), text() or source.choice((b"k", None)), text())
            for _ in range(count)
        ]

    def _messages(
        self, magic: int, fields: list[Fields], offsets: list[int] | None = None, bits: int = 0
    ) -> list[bytes]:
        places = range(len(fields)) if offsets is None else offsets
        return [
            encode_message(offset, magic, bits, *one)
            for offset, one in zip(places, fields, strict=True)
        ]

    def _wrapper(
        self,
        magic: int,
        codec: int,
        plain: bytes,
        *,
        offset: int,
        bits: int = 0,
        timestamp: int | None = None,
        key: bytes | None = None,
    ) -> bytes:
        if codec == LZ4 and magic == 0:
            packed = lz4_stream.compress_historic(plain)
        else:
            packed = bytes(compress(codec, plain))
        time_ms = self.now_ms if timestamp is None else timestamp
        return encode_message(offset, magic, codec | bits, time_ms, key, packed)

    def _set(self, magic: int, codec: int, fields: list[Fields], bits: int = 0) -> bytes:
        messages = self._messages(magic, fields, bits=bits)
        if codec == NONE:
            return b"".join(messages)
        times = max(one.timestamp for one in fields)
        last = len(fields) - 1
        return self._wrapper(
            magic, codec, b"".join(messages), offset=last, bits=bits, timestamp=times
        )

    def _any_set(self, bits: int = 0) -> tuple[bytes, str]:
        source = self.source
        magic, codec = source.randrange(2), source.choice(_CODECS)
        count = source.choice((1, 1, 2, 3, 10, 40))
        return self._set(magic, codec, self._fields(count), bits), f"magic {magic} codec {codec}"

    # -- cases

    def _sound(self) -> tuple[bytes, str]:
        return self._any_set()

    def _odd_offsets(self) -> tuple[bytes, str]:
        source = self.source
        magic, codec = source.randrange(2), source.choice(_CODECS)
        fields = self._fields(3)
        offsets = source.choice(([0, 0, 0], [5, 9, 11], [2, 1, 0], [-1, -1, -1], [100, 101, 102]))
        messages = self._messages(magic, fields, offsets)
        note = f"magic {magic} codec {codec} offsets {offsets}"
        if codec == NONE:
            return b"".join(messages), note
        outer = source.choice((0, 1, 2, 11, 102, -1, 2**40))
        return self._wrapper(magic, codec, b"".join(messages), offset=outer), f"{note} in {outer}"

    def _types_and_times(self) -> tuple[bytes, str]:
        source = self.source
        fields = self._fields(source.choice((1, 3)))
        times = (-1, -2, 0, 2**62, self.now_ms + 2 * HOUR_MS, self.now_ms - 48 * HOUR_MS)
        at = source.randrange(len(fields))
        fields[at] = fields[at]._replace(timestamp=source.choice(times))
        bits, codec = source.choice((0, APPEND_TIME)), source.choice(_CODECS)
        return self._set(1, codec, fields, bits), f"codec {codec} bits {bits} {fields[at]}"

    def _mixed(self) -> tuple[bytes, str]:
        parts = [self._any_set() for _ in range(2)]
        if self.source.random() < 0.4:
            parts.insert(self.source.randrange(3), (self.batch(codec=NONE).encode(), "v2"))
        return b"".join(data for data, _ in parts), " + ".join(note for _, note in parts)

    def _odd_wrapper(self) -> tuple[bytes, str]:
        source = self.source
        magic, codec = source.randrange(2), source.choice((GZIP, SNAPPY, LZ4))
        plain = b"".join(self._messages(magic, self._fields(2)))
        kind = source.choice(
            ("null", "empty", "garbage", "nothing", "cut", "nested", "other magic", "zstd", "key")
        )
        note = f"{kind} magic {magic} codec {codec}"
        match kind:
            case "null":
                return encode_message(1, magic, codec, self.now_ms, None, None), note
            case "empty":
                return encode_message(1, magic, codec, self.now_ms, None, b""), note
            case "garbage":
                return encode_message(1, magic, codec, self.now_ms, None, b"garbage"), note
            case "nothing":
                plain = b""
            case "cut":
                plain = plain[: -source.choice((1, 10, 30))]
            case "nested":
                plain += self._wrapper(magic, codec, plain, offset=1)
            case "other magic":
                plain += b"".join(self._messages(1 - magic, self._fields(1)))
            case "zstd":
                packed = compress(ZSTD, plain)
                return encode_message(1, magic, ZSTD, self.now_ms, None, packed), note
        key = b"key" if kind == "key" else None
        return self._wrapper(magic, codec, plain, offset=1, key=key), note

    def _damaged_inside(self) -> tuple[bytes, str]:
        source = self.source
        magic = source.randrange(2)
        first, second = self._messages(magic, self._fields(2))
        plain = bytearray(first + second)
        # not their lengths: Kafka takes memory for whatever stands there, and runs out of it
        lengths = {start + byte for start in (0, len(first)) for byte in range(8, 12)}
        at = source.choice([byte for byte in range(len(plain)) if byte not in lengths])
        byte = source.randrange(256)
        plain[at] = byte
        codec = source.choice((GZIP, SNAPPY, LZ4))
        return self._wrapper(
            magic, codec, bytes(plain), offset=1
        ), f"magic {magic} byte {at}={byte} {plain.hex()}"

    def _damaged(self) -> tuple[bytes, str]:
        """A byte or the end of a set is wrong, sometimes with the right checksum for it."""
        source = self.source
        data = bytearray(self._any_set()[0])
        note = ""
        if source.random() < 0.3:
            data = data[: source.randrange(len(data))]
            note = "cut"
        elif source.random() < 0.3:
            data += source.randbytes(source.randrange(1, 30))
            note = "longer"
        else:
            at = source.randrange(min(len(data), 40))
            data[at] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
            note = f"byte {at}"
            length = struct.unpack_from(">i", data, 8)[0]
            if source.random() < 0.6 and 14 <= length <= len(data) - 12 and data[16] < 2:
                data[12:16] = zlib.crc32(data[16 : 12 + length]).to_bytes(4, "big")
                note += " with its checksum"
        return bytes(data), f"{note} {data[:60].hex()}"

    def _new_batch(self) -> tuple[bytes, str]:
        data = self.batch().encode()
        if self.source.random() < 0.3:
            data += self.batch().encode()
        return data, "v2"

    def _large(self) -> tuple[bytes, str]:
        codec = self.source.choice(_CODECS)
        fields = [Fields(self.now_ms, b"key", bytes(self.source.choice((300, 700))))] * 3
        return self._set(self.source.randrange(2), codec, fields), f"large codec {codec}"

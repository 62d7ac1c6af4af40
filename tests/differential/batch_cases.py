"""Requests with one batch, sound or broken in every way we could think of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.differential.batches import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    BatchSpec,
    RecordSpec,
    edited,
    with_record,
)
from tests.differential.case import HOUR_MS, Case, CaseMaker, Maker

INTERESTING: Final = (-(2**31), -2, -1, 0, 1, 2, 5, 13, 14, 48, 49, 2**31 - 2, 2**31 - 1)


class BatchCases(CaseMaker):
    """Batches, their header fields, records, payloads, timestamps and sizes."""

    def makers(self) -> list[tuple[int, Maker]]:
        """What makes a case each, and how often in relation to the others."""
        return [
            (10, self._valid),
            (10, self._header_field),
            (10, self._record_field),
            (6, self._record_bytes),
            (6, self._payload),
            (8, self._timestamps),
            (8, self._edited_bytes),
            (4, self._shape),
            (4, self._size),
            (3, self._producer_fields),
        ]

    def _valid(self) -> Case:
        return self.case("valid", self.batch().encode(), acks=self.source.choice((1, -1)))

    def _header_field(self) -> Case:
        source, batch = self.source, self.batch()
        name = source.choice(
            (
                *("base_offset", "length", "leader_epoch", "magic", "attributes"),
                *("last_offset_delta", "base_timestamp", "max_timestamp", "count", "crc"),
            )
        )
        value = source.choice(INTERESTING)
        if name == "magic":
            value = source.choice((-1, 0, 1, 2, 3, 127))
        elif name == "attributes":
            value = source.choice((5, 6, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x80, 0x100, 0x7FF8, -32768))
        elif name == "length":
            value = source.choice(
                (*INTERESTING, 0x7FFFFFF3, 0x7FFFFFF4, 0x10000000, 39, 38, 16, 17)
            )
        elif name == "crc":
            value = source.randrange(2**32)
        elif name in ("last_offset_delta", "count"):
            value = source.choice((*INTERESTING, len(batch.records) - 1, len(batch.records) + 1))
        elif name in ("base_timestamp", "max_timestamp"):
            value = source.choice((-(2**63), -2, -1, 0, 1, self.now_ms, 2**63 - 1))
        changed = replace(batch, **{name: value})  # type: ignore[arg-type]
        return self.case(f"header-{name}", changed.encode(), note=f"{name}={value}")

    def _record_field(self) -> Case:
        source = self.source
        batch = self.batch()
        index = source.randrange(len(batch.records))
        name, values = source.choice(
            (
                ("attributes", (1, 0x7F, 0x80, 0xFF)),
                ("offset_delta", (-1, 0, 5, 9, 2**31 - 1, -(2**31))),
                ("key_length", (-2, -1, 0, 1, 1000, 2**31 - 1, -(2**31))),
                ("value_length", (-2, -1, 0, 1, 1000, 2**31 - 1, -(2**31))),
                ("header_count", (-1, 1, 2, 100, 2**31 - 1, -(2**31))),
                ("length_error", (-2, -1, 1, 2, 10, 1000, -1000)),
                ("timestamp_delta", (-(2**62), 2**62, -1, 2**40)),
            )
        )
        value = source.choice(values)
        changed = with_record(batch, index, **{name: value})
        return self.case(f"record-{name}", changed.encode(), note=f"{name}={value}")

    def _record_bytes(self) -> Case:
        source = self.source
        raw = source.choice(
            (
                bytes.fromhex("9000000000026b027600"),  # over-long length
                bytes.fromhex("808080808001000000026b027600"),  # length of 6 bytes
                bytes.fromhex("808080808000000000026b027600"),
                bytes.fromhex("2600ffffffffffffffffff0100026b027600"),  # 10-byte timestamp delta
                bytes.fromhex("2800ffffffffffffffffffff0100026b027600"),  # 11 bytes
                bytes.fromhex("1e00008080808080026b027600"),  # offset delta too long
                bytes.fromhex("10000000026b027602"),  # one header, no bytes
                bytes.fromhex("14000000026b0276020101"),  # header key length -1
                bytes.fromhex("12000000026b02760200"),
                bytes.fromhex("16000000026b027602000000"),
                b"",
                b"\x00",
                b"\x02\x00",
                source.randbytes(source.randrange(30)),
            )
        )
        spec = BatchSpec(
            records=(RecordSpec(raw=raw),),
            codec=source.choice((NONE, NONE, GZIP, LZ4, ZSTD)),
            base_timestamp=self.now_ms,
        )
        return self.case("record-bytes", spec.encode(), note=raw.hex())

    def _payload(self) -> Case:
        source = self.source
        codec = source.choice((GZIP, SNAPPY, LZ4, ZSTD))
        batch = self.batch(codec=codec)
        whole = batch.encode()
        payload = whole[61:]
        kind = source.choice(("garbage", "cut", "tail", "twice", "empty", "edit", "plain", "count"))
        if kind == "count":
            changed = replace(batch, count=len(batch.records) + source.choice((-1, 1)))
            changed = replace(changed, last_offset_delta=(changed.count or 0) - 1)
        else:
            damaging: dict[str, Callable[[], bytes]] = {
                "garbage": lambda: source.randbytes(40),
                "cut": lambda: payload[: source.randrange(len(payload))],
                "tail": lambda: payload + source.randbytes(source.choice((1, 2, 3, 4, 20))),
                "twice": lambda: payload + payload,
                "empty": lambda: b"",
                "edit": lambda: edited(source, payload, 1),
                "plain": lambda: b"".join(record.encode() for record in batch.records),
            }
            changed = replace(batch, payload=damaging[kind]())
        return self.case(f"payload-{kind}", changed.encode(), note=f"codec {codec}")

    def _timestamps(self) -> Case:
        source, batch = self.source, self.batch(keys=True)
        offset_ms = source.choice(
            (
                *(-30 * 24 * HOUR_MS, -25 * HOUR_MS, -2 * HOUR_MS, 0, 2 * HOUR_MS),
                *(30 * 24 * HOUR_MS, -self.now_ms - 1, -self.now_ms - 2, -self.now_ms),
            )
        )
        for index in range(len(batch.records)):
            if source.random() < 0.5:
                batch = with_record(batch, index, timestamp_delta=offset_ms)
            elif source.random() < 0.3:
                batch = with_record(batch, index, timestamp_delta=0)
        if source.random() < 0.3:
            batch = replace(batch, attributes=8)
        if source.random() < 0.2:
            batch = replace(batch, max_timestamp=source.choice((-1, 0, 5)))
        topics = ("narrow", "compacted-narrow", "plain", "append-time", "zstd", "uncompressed")
        return self.case(
            "timestamps", batch.encode(), topic=source.choice(topics), note=f"{offset_ms}"
        )

    def _edited_bytes(self) -> Case:
        source = self.source
        whole = self.batch(codec=source.choice((NONE, NONE, GZIP, ZSTD))).encode()
        if source.random() < 0.3:
            return self.case("edited", edited(source, whole, source.choice((1, 2, 3))))
        batch = self.batch(codec=source.choice((NONE, NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD)))
        positions = [
            source.randrange(40 + source.randrange(400)) for _ in range(source.choice((1, 2)))
        ]
        edits = tuple((position, source.randrange(256)) for position in positions)
        return self.case("edited-crc-right", replace(batch, edits=edits).encode(), note=str(edits))

    def _shape(self) -> Case:
        source = self.source
        whole = self.batch().encode()
        other = self.batch().encode()
        data = source.choice(
            (
                b"",
                whole[: source.choice((1, 11, 12, 16, 17, 18, 60, 61))],
                whole[:-1],
                whole + source.randbytes(5),
                whole + bytes(source.choice((11, 12, 17))),
                whole + other,
                whole + other[: source.choice((5, 12, 16, 17, 40, 61))],
                whole + b"\x00" * 8 + b"\x00\x00\x00\x0d" + bytes(20),
                whole[:16] + b"\x00" + whole[17:],
                whole[:16] + b"\x01" + whole[17:],
            )
        )
        return self.case("shape", data)

    def _size(self) -> Case:
        source = self.source
        topic, size = source.choice(
            (
                *(("small", 500), ("small", 529), ("small", 530), ("small", 531), ("small", 600)),
                *(("small-uncompressed", 5000), ("small-segment", 1_048_000)),
                *(("small-segment", 1_048_600), ("plain", 1_048_400), ("plain", 1_048_600)),
            )
        )
        codec = GZIP if topic == "small-uncompressed" else source.choice((NONE, NONE, LZ4))
        records = (RecordSpec(key=b"k", value=b"v" * size),)
        spec = BatchSpec(records=records, codec=codec, base_timestamp=self.now_ms)
        spec = replace(
            spec,
            base_offset=source.choice((0, 0, 0, 5)),
            crc=source.choice((None, None, None, 7)),
        )
        return self.case("size", spec.encode(), topic=topic, note=f"{topic} {size}")

    def _producer_fields(self) -> Case:
        source = self.source
        spec = replace(
            self.batch(codec=source.choice((NONE, GZIP)), keys=True),
            producer_id=source.choice((-2, -1, 0, 8_000_000 + source.randrange(50))),
            producer_epoch=source.choice((-2, -1, 0, 1, 32767)),
            base_sequence=source.choice((-2, -1, 0, 1, 7, 2**31 - 1)),
            attributes=source.choice((0, 0, 0, 0x10, 0x30)),
        )
        return self.case("producer-fields", spec.encode(), note=f"{spec.producer_id}")

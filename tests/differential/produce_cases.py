"""Seeded produce requests, valid ones and ones that are broken in every way we could think of.

A case is one request: version, acks, transactional id and the record sets of its partitions. The
same seed gives the same cases; times are relative to `now_ms`, which the caller gives.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
    random_records,
    with_record,
)

HOUR_MS: Final = 3_600_000
_CONFIGS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "compacted-append-time": {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
    },
    "gzip": {"compression.type": "gzip"},
    "snappy": {"compression.type": "snappy"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed"},
    "zstd-append-time": {"compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
    "small": {"max.message.bytes": "600"},
    "small-uncompressed": {"max.message.bytes": "600", "compression.type": "uncompressed"},
    "small-segment": {"segment.bytes": "1048576", "max.message.bytes": "2000000"},
    "narrow": {
        "message.timestamp.before.max.ms": str(24 * HOUR_MS),
        "message.timestamp.after.max.ms": str(HOUR_MS),
    },
    "compacted-narrow": {
        "cleanup.policy": "compact",
        "message.timestamp.before.max.ms": str(24 * HOUR_MS),
    },
}
# records of 1970 are among the cases: nothing may be deleted by its age
TOPICS: Final = {name: {"retention.ms": "-1", **config} for name, config in _CONFIGS.items()}
INTERESTING: Final = (-(2**31), -2, -1, 0, 1, 2, 5, 13, 14, 48, 49, 2**31 - 2, 2**31 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One produce request. `partitions`: (topic, partition index, record set or None)."""

    kind: str
    partitions: tuple[tuple[str, int, bytes | None], ...]
    version: int = 9
    acks: int = 1
    transactional_id: str | None = None
    client_id: str = "raw-client"
    note: str = field(default="")


class CaseGenerator:
    """An endless stream of cases from one seed."""

    def __init__(self, seed: int, now_ms: int) -> None:
        self._source = random.Random(seed)
        self._now_ms = now_ms
        self._producers = [_Producer(9_000_000 + seed % 1000 * 100 + index) for index in range(12)]
        self._makers: list[tuple[int, Callable[[], Case]]] = [
            (10, self._valid),
            (10, self._header_field),
            (10, self._record_field),
            (6, self._record_bytes),
            (6, self._payload),
            (8, self._timestamps),
            (8, self._edited_bytes),
            (4, self._shape),
            (4, self._size),
            (6, self._versions),
            (5, self._request),
            (14, self._sequence),
            (3, self._producer_fields),
        ]

    def __iter__(self) -> Iterator[Case]:
        """Yield cases without end."""
        makers = [maker for weight, maker in self._makers for _ in range(weight)]
        while True:
            yield self._source.choice(makers)()

    def _topic(self) -> str:
        return self._source.choice(list(TOPICS))

    def _batch(self, *, codec: int | None = None, keys: bool | None = None) -> BatchSpec:
        source = self._source
        count = source.choice((1, 1, 2, 3, 10, 40))
        return BatchSpec(
            records=random_records(
                source, count, keys=source.random() < 0.7 if keys is None else keys
            ),
            codec=source.choice((NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD)) if codec is None else codec,
            base_timestamp=self._now_ms - source.choice((0, 1000, HOUR_MS, 23 * HOUR_MS)),
        )

    def _case(self, kind: str, data: bytes | None, **request: object) -> Case:
        topic = str(request.pop("topic", "") or self._topic())
        version = self._source.choice((7, 8, 9, 9, 10, 11, 12))
        request.setdefault("version", version)
        return Case(kind=kind, partitions=((topic, 0, data),), **request)  # type: ignore[arg-type]

    def _valid(self) -> Case:
        return self._case("valid", self._batch().encode(), acks=self._source.choice((1, -1)))

    def _header_field(self) -> Case:
        source, batch = self._source, self._batch()
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
            value = source.choice((-(2**63), -2, -1, 0, 1, self._now_ms, 2**63 - 1))
        changed = replace(batch, **{name: value})  # type: ignore[arg-type]
        return self._case(f"header-{name}", changed.encode(), note=f"{name}={value}")

    def _record_field(self) -> Case:
        source = self._source
        batch = self._batch()
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
        return self._case(f"record-{name}", changed.encode(), note=f"{name}={value}")

    def _record_bytes(self) -> Case:
        source = self._source
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
            base_timestamp=self._now_ms,
        )
        return self._case("record-bytes", spec.encode(), note=raw.hex())

    def _payload(self) -> Case:
        source = self._source
        codec = source.choice((GZIP, SNAPPY, LZ4, ZSTD))
        batch = self._batch(codec=codec)
        whole = batch.encode()
        payload = whole[61:]
        kind = source.choice(("garbage", "cut", "tail", "twice", "empty", "edit", "plain", "count"))
        if kind == "count":
            changed = replace(batch, count=len(batch.records) + source.choice((-1, 1)))
            changed = replace(changed, last_offset_delta=(changed.count or 0) - 1)
        else:
            damaged = {
                "garbage": lambda: source.randbytes(40),
                "cut": lambda: payload[: source.randrange(len(payload))],
                "tail": lambda: payload + source.randbytes(source.choice((1, 2, 3, 4, 20))),
                "twice": lambda: payload + payload,
                "empty": lambda: b"",
                "edit": lambda: edited(source, payload, 1),
                "plain": lambda: b"".join(record.encode() for record in batch.records),
            }[kind]()
            changed = replace(batch, payload=damaged)
        return self._case(f"payload-{kind}", changed.encode(), note=f"codec {codec}")

    def _timestamps(self) -> Case:
        source, batch = self._source, self._batch(keys=True)
        offset_ms = source.choice(
            (
                *(-30 * 24 * HOUR_MS, -25 * HOUR_MS, -2 * HOUR_MS, 0, 2 * HOUR_MS),
                *(30 * 24 * HOUR_MS, -self._now_ms - 1, -self._now_ms - 2, -self._now_ms),
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
        return self._case(
            "timestamps", batch.encode(), topic=source.choice(topics), note=f"{offset_ms}"
        )

    def _edited_bytes(self) -> Case:
        source = self._source
        whole = self._batch(codec=source.choice((NONE, NONE, GZIP, ZSTD))).encode()
        if source.random() < 0.3:
            return self._case("edited", edited(source, whole, source.choice((1, 2, 3))))
        batch = self._batch(codec=source.choice((NONE, NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD)))
        positions = [
            source.randrange(40 + source.randrange(400)) for _ in range(source.choice((1, 2)))
        ]
        edits = tuple((position, source.randrange(256)) for position in positions)
        return self._case("edited-crc-right", replace(batch, edits=edits).encode(), note=str(edits))

    def _shape(self) -> Case:
        source = self._source
        whole = self._batch().encode()
        other = self._batch().encode()
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
        return self._case("shape", data)

    def _size(self) -> Case:
        source = self._source
        topic, size = source.choice(
            (
                *(("small", 500), ("small", 529), ("small", 530), ("small", 531), ("small", 600)),
                *(("small-uncompressed", 5000), ("small-segment", 1_048_000)),
                *(("small-segment", 1_048_600), ("plain", 1_048_400), ("plain", 1_048_600)),
            )
        )
        codec = GZIP if topic == "small-uncompressed" else source.choice((NONE, NONE, LZ4))
        records = (RecordSpec(key=b"k", value=b"v" * size),)
        spec = BatchSpec(records=records, codec=codec, base_timestamp=self._now_ms)
        spec = replace(
            spec,
            base_offset=source.choice((0, 0, 0, 5)),
            crc=source.choice((None, None, None, 7)),
        )
        return self._case("size", spec.encode(), topic=topic, note=f"{topic} {size}")

    def _versions(self) -> Case:
        batch = self._batch()
        return self._case("versions", batch.encode(), version=self._source.randrange(3, 13))

    def _request(self) -> Case:
        source = self._source
        good, bad = self._batch(codec=NONE).encode(), self._batch(codec=NONE, keys=True)
        broken = replace(bad, crc=1).encode()
        topics = source.sample(list(TOPICS), 3)
        two = ((topics[0], 0, good), (topics[1], 0, broken), (topics[2], 0, bad.encode()))
        version = source.choice((7, 8, 9, 11, 12))
        kind, changes = source.choice(
            (
                ("several", {"partitions": two}),
                (
                    "several-bad-header",
                    {"partitions": (*two, (topics[0], 7, good[:8] + bytes(20)))},
                ),
                ("same-twice", {"partitions": ((topics[0], 0, broken), (topics[0], 0, good))}),
                ("same-twice-bad", {"partitions": ((topics[0], 0, good), (topics[0], 0, broken))}),
                ("unknown-partition", {"partitions": ((topics[0], 3, good), (topics[1], 0, good))}),
                ("unknown-topic", {"partitions": (("nowhere", 0, good), (topics[1], 0, good))}),
                ("negative-partition", {"partitions": ((topics[0], -1, good),)}),
                ("acks", {"acks": source.choice((2, -2, 127)), "partitions": two}),
                ("acks-bad", {"acks": 2, "partitions": (("nowhere", 0, good),)}),
                ("acks-0", {"acks": 0, "partitions": ((topics[0], 0, good),)}),
                (
                    "acks-0-bad",
                    {"acks": 0, "partitions": ((topics[0], 0, good), (topics[1], 0, broken))},
                ),
                ("nothing", {"partitions": ()}),
                ("illegal-name", {"partitions": (("no/such", 0, good),)}),
            )
        )
        return Case(kind=f"request-{kind}", version=version, **changes)  # type: ignore[arg-type]

    def _sequence(self) -> Case:
        source = self._source
        producer = source.choice(self._producers)
        topic = producer.topic = producer.topic or source.choice(
            ("plain", "append-time", "zstd", "narrow")
        )
        count = source.choice((1, 1, 2, 3))
        epoch, sequence, count, note = producer.next_step(source, count)
        records = random_records(source, count, keys=True)
        spec = BatchSpec(
            records=records,
            codec=source.choice((NONE, NONE, LZ4)),
            base_timestamp=self._now_ms - source.choice((0, 5000)),
            producer_id=producer.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        return self._case("sequence", spec.encode(), topic=topic, note=note)

    def _producer_fields(self) -> Case:
        source = self._source
        spec = replace(
            self._batch(codec=source.choice((NONE, GZIP)), keys=True),
            producer_id=source.choice((-2, -1, 0, 8_000_000 + source.randrange(50))),
            producer_epoch=source.choice((-2, -1, 0, 1, 32767)),
            base_sequence=source.choice((-2, -1, 0, 1, 7, 2**31 - 1)),
            attributes=source.choice((0, 0, 0, 0x10, 0x30)),
        )
        return self._case("producer-fields", spec.encode(), note=f"{spec.producer_id}")


class _Producer:
    """A producer's walk over one partition: mostly in order, sometimes not."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.topic = ""
        self._epoch = 0
        self._next = 0
        self._sent: list[tuple[int, int, int]] = []

    def next_step(self, source: random.Random, count: int) -> tuple[int, int, int, str]:
        """Return epoch, base sequence, record count and what it is."""
        kind = source.choice(
            ("next",) * 8
            + ("duplicate",) * 3
            + ("gap", "old", "epoch", "old-epoch", "epoch-gap", "wrap")
        )
        if kind == "duplicate" and self._sent:
            epoch, sequence, sent = source.choice(self._sent[-8:])
            return epoch, sequence, sent if source.random() < 0.8 else count, kind
        if kind == "gap":
            return self._epoch, _wrapped(self._next + 1 + source.randrange(3)), count, kind
        if kind == "old":
            return self._epoch, max(0, self._next - 1 - source.randrange(4)), count, kind
        if kind == "old-epoch":
            return max(0, self._epoch - 1), self._next, count, kind
        if kind == "epoch-gap":
            return self._epoch + 1, 3, count, kind
        if kind == "epoch":
            self._epoch, self._next = self._epoch + 1, 0
        elif kind == "wrap" and not self._sent:
            self._next = 2**31 - 2
        sequence = self._next
        self._sent.append((self._epoch, sequence, count))
        self._next = _wrapped(sequence + count)
        return self._epoch, sequence, count, kind


def _wrapped(sequence: int) -> int:
    return sequence if sequence < 2**31 else sequence - 2**31

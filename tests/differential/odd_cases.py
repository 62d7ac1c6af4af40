"""Batches that are sound but odd: written anew in other bytes, large, long, or with spare bits."""

from dataclasses import replace
from typing import Any, Final

from tests.differential.batches import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    RecordSpec,
    random_records,
    with_record,
)
from tests.differential.case import HOUR_MS, Case, CaseMaker, Maker

# Such keys tell how a broker that reads them as text writes them again.
HEADER_KEYS: Final = tuple(
    bytes.fromhex(key)
    for key in ("c3a4", "eda080", "eda0", "ed80", "f09f9880", "f4908080", "e28241", "c080", "ff")
)
RECODED: Final = ("gzip", "snappy", "lz4", "zstd", "uncompressed", "zstd-append-time")


class OddCases(CaseMaker):
    """What a well-behaved producer does seldom or never, and a broker has to take."""

    def makers(self) -> list[tuple[int, Maker]]:
        """What makes a case each, and how often in relation to the others."""
        return [
            (4, self._recoded),
            (1, self._large),
            (1, self._many_records),
            (2, self._delete_horizon),
        ]

    def _recoded(self) -> Case:
        """Records that a topic with a codec of its own writes in other bytes (V-42)."""
        source = self.source
        batch = self.batch(codec=source.choice((NONE, GZIP, SNAPPY, LZ4, ZSTD)), keys=True)
        index = source.randrange(len(batch.records))
        delta = bytes([2 * index])
        changes: tuple[dict[str, Any], ...] = (
            {"attributes": source.choice((1, 0x80, 0xFF))},
            {"key": None, "key_length": source.choice((-2, -(2**31)))},
            {"value": None, "value_length": source.choice((-2, -(2**31)))},
            {"headers": tuple((source.choice(HEADER_KEYS), b"v") for _ in range(3))},
            # over-long varints; bits of a fifth byte that a reader drops
            {"raw": b"\x92\x00\x00\x80\x00" + delta + b"\x02k\x02v\x00"},
            {"raw": b"\x18\x00\x00" + delta + b"\x02k\xff\xff\xff\xff\x1f\x80\x00"},
        )
        batch = with_record(batch, index, **source.choice(changes))
        return self.case("recoded", batch.encode(), topic=source.choice(RECODED))

    def _large(self) -> Case:
        """Compressed and more than 64 KiB, so that a worker thread may validate it."""
        source = self.source
        values = [source.randbytes(source.choice((70_000, 90_000))) for _ in range(2)]
        batch = replace(
            self.batch(codec=source.choice((GZIP, SNAPPY, LZ4, ZSTD))),
            records=tuple(RecordSpec(offset_delta=i, value=v) for i, v in enumerate(values)),
        )
        if source.random() < 0.2:
            batch = replace(batch, count=3, last_offset_delta=2)
        return self.case("large", batch.encode())

    def _many_records(self) -> Case:
        source = self.source
        # No time near a limit of a topic: the brokers' clocks are not read at the same moment.
        batch = replace(
            self.batch(),
            records=random_records(source, 5000, keys=True),
            base_timestamp=self.now_ms - HOUR_MS,
        )
        if source.random() < 0.3:
            batch = with_record(batch, 4999, key=None)
        return self.case("many-records", batch.encode())

    def _delete_horizon(self) -> Case:
        """The bit that only a cleaner sets; a client's base timestamp is none (R-17)."""
        batch = replace(self.batch(), attributes=0x40 | self.source.choice((0, 8, 0x10)))
        return self.case("delete-horizon", batch.encode())

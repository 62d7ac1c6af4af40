"""Sets of offsets as bitmaps: which records survive a compaction.

A bucket has 32,768 offsets in 4 KB, least significant bit first, as Spark's bitmap_construct_agg
makes them. A log of a billion records needs 125 MB.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.record.batch import RecordBatch
from broker_lite.record.loops.compaction import Judgement

BUCKET_SHIFT: Final = 15
BUCKET_OFFSETS: Final = 1 << BUCKET_SHIFT
_NONE: Final = bytes(BUCKET_OFFSETS // 8)


class OffsetSet:
    """A set of offsets.

    Args:
        buckets: bitmaps by bucket number, offset >> BUCKET_SHIFT; a missing bucket is empty.
    """

    __slots__ = ("_buckets",)

    def __init__(self, buckets: Mapping[int, bytes]) -> None:
        self._buckets = buckets

    def __contains__(self, offset: int) -> bool:
        bits = self._buckets.get(offset >> BUCKET_SHIFT)
        if bits is None:
            return False
        bit = offset & BUCKET_OFFSETS - 1
        return bits[bit >> 3] >> (bit & 7) & 1 == 1

    def has_any(self, first_offset: int, last_offset: int) -> bool:
        """Tell whether any offset of a range, both ends included, is in the set."""
        first, last = first_offset >> BUCKET_SHIFT, last_offset >> BUCKET_SHIFT
        return any(
            self._has_any_bit(bucket, first_offset, last_offset)
            for bucket in range(first, last + 1)
            if bucket in self._buckets
        )

    def _has_any_bit(self, bucket: int, first_offset: int, last_offset: int) -> bool:
        start = bucket << BUCKET_SHIFT
        low = max(first_offset - start, 0)
        high = min(last_offset - start, BUCKET_OFFSETS - 1)
        piece = self._buckets[bucket][low >> 3 : (high >> 3) + 1]
        bits = int.from_bytes(piece, "little") >> (low & 7)
        return bits & (1 << high - low + 1) - 1 != 0

    def bits(self, first_offset: int, last_offset: int) -> tuple[bytes, int]:
        """Return the bits of a range of offsets, and the offset of the first bit."""
        first, last = first_offset >> BUCKET_SHIFT, last_offset >> BUCKET_SHIFT
        found = [self._buckets.get(bucket, _NONE) for bucket in range(first, last + 1)]
        padded = [bits.ljust(len(_NONE), b"\0") for bits in found]
        return b"".join(padded), first << BUCKET_SHIFT


class NewestByOffset:
    """Tells by offset which records survive, for the rules in log.cleaner.survivors."""

    __slots__ = ("_offsets",)

    def __init__(self, offsets: OffsetSet) -> None:
        self._offsets = offsets

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Tell by its offsets alone whether a batch can have a surviving record."""
        return self._offsets.has_any(batch.base_offset, batch.last_offset)

    def judge(
        self, judgement: Judgement, batch: RecordBatch, data: memoryview, drops_null: bool
    ) -> int:
        """Count and mark the records of a batch that survive.

        See: S-84 (Cleaner.shouldRetainRecord).
        """
        bits, first_offset = self._offsets.bits(batch.base_offset, batch.last_offset)
        status: int = judgement.by_offset(
            memoryview(bits),
            first_offset,
            drops_null,
            data,
            0,
            len(data),
            batch.record_count,
            batch.base_offset,
        )
        return status

"""Sets of offsets as bits: which records survive a compaction, in a form that is small anywhere.

A bucket is 32,768 offsets, and their bits are 4 KB with the least significant first, as
bitmap_construct_agg of Spark's SQL makes them: a log of a billion records has 125 MB of them.
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
        buckets: bits by the number of the bucket, offset >> BUCKET_SHIFT; one that is not there
            has none.
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
        """Tell whether one of a range of offsets is in the set; both ends count."""
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
        """Give the bits of a range of offsets, and the offset of the first bit."""
        first, last = first_offset >> BUCKET_SHIFT, last_offset >> BUCKET_SHIFT
        found = [self._buckets.get(bucket, _NONE) for bucket in range(first, last + 1)]
        padded = [bits.ljust(len(_NONE), b"\0") for bits in found]
        return b"".join(padded), first << BUCKET_SHIFT


class NewestByOffset:
    """The newest records of a log by their offsets: for the rules of log.cleaner.survivors."""

    __slots__ = ("_offsets",)

    def __init__(self, offsets: OffsetSet) -> None:
        self._offsets = offsets

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Tell without looking into the batch."""
        return self._offsets.has_any(batch.base_offset, batch.last_offset)

    def judge(
        self, judgement: Judgement, batch: RecordBatch, data: memoryview, drops_null: bool
    ) -> int:
        """Judge the records of a batch.

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

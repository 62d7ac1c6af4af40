"""Sets of offsets as bits: which records survive a compaction, in a form that is small anywhere.

A bucket is 32,768 offsets, and their bits are 4 KB with the least significant first, as
bitmap_construct_agg of Spark's SQL makes them: a log of a billion records has 125 MB of them.
"""

from collections.abc import Mapping
from typing import Final

BUCKET_SHIFT: Final = 15
BUCKET_OFFSETS: Final = 1 << BUCKET_SHIFT


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

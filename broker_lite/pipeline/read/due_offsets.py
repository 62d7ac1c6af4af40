"""Follows which offsets of a split are still expected, so that missing ones are reported.

A broker assigns offsets without gaps, and only its cleaner removes some. So in a log that was never
cleaned, the batches of a split have all of its offsets. A gap between two batches means that a file
was cut, emptied or lost, or that an offset is damaged.

No checksum covers the offset of a batch. Behind damage, the headers of the damaged batches confirm
it, if each of them continues the previous one.
"""

from broker_lite.pipeline.files.layout import EVERY_OFFSET


class DueOffsets:
    """Follows the offsets of a split over all of its segments.

    Args:
        first_offset: lowest offset that is wanted.
        end_offset: first offset that is not wanted.
        cleaned_end: offsets may be missing below this one.

    Attributes:
        next_offset: the first offset that is still expected.
        is_told: whether damage was reported since the last batch, which explains a gap.
    """

    def __init__(self, first_offset: int, end_offset: int, cleaned_end: int) -> None:
        self.first_offset = first_offset
        self.end_offset = end_offset
        self.next_offset = first_offset
        self.is_told = False
        self._claimed: int | None = None
        self._lost: tuple[int, int] | None = None
        self._cleaned_end = cleaned_end

    @property
    def is_strict(self) -> bool:
        """Whether every offset is expected from here on."""
        return self.next_offset >= self._cleaned_end

    def is_next(self, offset: int) -> bool:
        """Tell whether nothing is missing in front of an offset, and no damage was reported."""
        return self.next_offset >= offset and not self.is_told

    def came_to(self, next_offset: int) -> None:
        """Continue behind a batch or a segment."""
        self.next_offset = max(self.next_offset, next_offset)
        self.is_told = False
        self._claimed = self._lost = None

    def claim(self, first_offset: int, next_offset: int, lowest: int) -> None:
        """Follow damaged batches by the offsets in their headers.

        A header that does not continue the previous one is ignored.

        Args:
            first_offset: of a damaged batch, by its header.
            next_offset: the offset after it.
            lowest: the offset after the last sound batch.
        """
        self._lost = first_offset, next_offset
        expected = lowest if self._claimed is None else self._claimed
        if first_offset == expected < next_offset:
            self._claimed = next_offset

    def claim_count(self, first_offset: int, next_offset: int, lowest: int) -> None:
        """Follow a batch with a damaged offset, or in a wrong place, by its number of offsets.

        Args:
            first_offset: of the batch, by its header.
            next_offset: the offset after it.
            lowest: the offset after the last sound batch.
        """
        self._lost = first_offset, next_offset
        expected = lowest if self._claimed is None else self._claimed
        self._claimed = expected + next_offset - first_offset

    def is_claimed(self, offset: int) -> bool:
        """Tell whether the headers of damaged batches in front confirm the offset of a batch.

        See: S-05.
        """
        return offset == self._claimed

    def is_lost(self, first_offset: int, next_offset: int) -> bool:
        """Tell whether the last damaged batch has these offsets, by its header."""
        return self._lost == (first_offset, next_offset)

    def lost_to(self, end_offset: int) -> None:
        """Continue behind damage whose lost offsets were reported."""
        self.next_offset = min(max(self.next_offset, end_offset), self.end_offset)

    def end_of(self, limit: int | None) -> int:
        """Return the end of a segment's part of the split; limit is the next segment's base."""
        return self.end_offset if limit is None else min(self.end_offset, limit)

    def is_short(self, next_offset: int, limit: int | None) -> bool:
        """Tell whether a segment ends before the next one begins, and no damage explains it.

        Always false for a split without an end offset.
        """
        is_asked = self.end_offset != EVERY_OFFSET and not self.is_told
        return is_asked and limit is not None and next_offset < self.end_of(limit)

    def ends_right(self, next_offset: int, limit: int | None) -> bool:
        """Tell whether a last batch ends where the next segment or split begins."""
        if limit is None or self.end_offset < limit:
            return next_offset >= self.end_offset  # a split may end within a batch
        return next_offset == limit

    def missing_below(self, end_offset: int) -> str | None:
        """Say which offsets are missing below one; None if none are, or if damage explains them.

        See: R-18.
        """
        first = self.next_offset
        if self.is_told or not self._cleaned_end <= first < end_offset < EVERY_OFFSET:
            return None
        return (
            f"offsets {first} to {end_offset - 1} are missing, and nothing says that a cleaner took"
            " them (compacted=true reads such a log)"
        )

    def lost_below(self, end_offset: int, lowest: int = 0) -> str:
        """Say which offsets damage destroyed: the expected ones below `end_offset`.

        Args:
            end_offset: the first offset behind the damage.
            lowest: no lower offset can be lost.
        """
        first = max(self.next_offset, lowest)
        return (
            f", with offsets {first} to {end_offset - 1}"
            if first < end_offset < EVERY_OFFSET
            else ""
        )

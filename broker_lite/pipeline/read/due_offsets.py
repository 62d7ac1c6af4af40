"""Which offsets of a split are still to come: what is missing without a word of damage is damage.

A broker gives offsets one after the other, and only its cleaner takes some away. So in a log that
no cleaner was at, the batches of a split have all of its offsets; where one ends before the next
one begins, a file was cut, emptied or lost, or an offset is damaged.

No checksum covers the offset of a batch. Behind damage, the headers of the damaged batches confirm
it, if each of them goes on from the one in front.
"""

from broker_lite.pipeline.files.layout import EVERY_OFFSET


class DueOffsets:
    """Follows the batches of a split, over all of its segments.

    Args:
        first_offset: lowest offset that is wanted.
        end_offset: first offset that is not.
        cleaned_end: offsets may be missing below this one.

    Attributes:
        next_offset: the first one that is still to come.
        is_told: whether damage was told since the last batch, so that a gap is no news.
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
        """Whether no offset may be missing from here on."""
        return self.next_offset >= self._cleaned_end

    def is_next(self, offset: int) -> bool:
        """Whether nothing is missing in front of an offset, and no damage was told."""
        return self.next_offset >= offset and not self.is_told

    def came_to(self, next_offset: int) -> None:
        """Go on behind a batch, or behind a segment."""
        self.next_offset = max(self.next_offset, next_offset)
        self.is_told = False
        self._claimed = self._lost = None

    def claim(self, first_offset: int, next_offset: int, lowest: int) -> None:
        """Follow the damaged batches behind the last sound one by the offsets in their headers.

        Headers that do not go on from each other are passed over.

        Args:
            first_offset: of a damaged batch, by its header.
            next_offset: behind its last one.
            lowest: what follows the last sound batch.
        """
        self._lost = first_offset, next_offset
        expected = lowest if self._claimed is None else self._claimed
        if first_offset == expected < next_offset:
            self._claimed = next_offset

    def claim_count(self, first_offset: int, next_offset: int, lowest: int) -> None:
        """Follow a batch with a damaged offset, or in a wrong place, by how many offsets it has.

        Args:
            first_offset: of the batch, by its header.
            next_offset: behind its last one.
            lowest: what follows the last sound batch.
        """
        self._lost = first_offset, next_offset
        expected = lowest if self._claimed is None else self._claimed
        self._claimed = expected + next_offset - first_offset

    def is_claimed(self, offset: int) -> bool:
        """Whether the headers of the damaged batches in front confirm the offset of a batch.

        See: S-05.
        """
        return offset == self._claimed

    def is_lost(self, first_offset: int, next_offset: int) -> bool:
        """Whether some offsets are those of the last damaged batch, by its header."""
        return self._lost == (first_offset, next_offset)

    def lost_to(self, end_offset: int) -> None:
        """Go on behind damage that was told with the offsets that it took."""
        self.next_offset = min(max(self.next_offset, end_offset), self.end_offset)

    def end_of(self, limit: int | None) -> int:
        """Give the end of what a segment has of the split, by the base offset of the next one."""
        return self.end_offset if limit is None else min(self.end_offset, limit)

    def is_short(self, next_offset: int, limit: int | None) -> bool:
        """Whether a segment ends before the next one begins, and no damage tells why.

        Never where every offset that there can be is wanted.
        """
        is_asked = self.end_offset != EVERY_OFFSET and not self.is_told
        return is_asked and limit is not None and next_offset < self.end_of(limit)

    def ends_right(self, next_offset: int, limit: int | None) -> bool:
        """Whether a last batch ends where the next segment, or the next split, begins."""
        if limit is None or self.end_offset < limit:
            return next_offset >= self.end_offset  # a cut goes through a batch, too
        return next_offset == limit

    def missing_below(self, end_offset: int) -> str | None:
        """Say which offsets are missing in front of one; None when that is right, or was told.

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
        """Say which offsets damage took: those that are still to come in front of one.

        Args:
            end_offset: that one.
            lowest: no lower one can be there.
        """
        first = max(self.next_offset, lowest)
        return (
            f", with offsets {first} to {end_offset - 1}"
            if first < end_offset < EVERY_OFFSET
            else ""
        )

"""Decides whether the unconfirmed offset of a batch is right or damaged.

No checksum covers the offset of a batch. So a batch behind a gap, or behind damage, is held until
the next batch confirms or contradicts it.
"""

from typing import NamedTuple

from broker_lite.log.files.headers import BatchHeader


class HeldOffsets(NamedTuple):
    """The offsets of a held batch.

    Attributes:
        lowest: the offset after the batch in front of it.
        base_offset: its first offset, by its header.
        next_offset: the offset after it, by its header.
        position: of the batch in its file.
        crc: checksum of the batch.
        is_vague: whether damage is in front of it, in a log where every offset is expected.
        is_before_damage: whether damage is behind it, so that a gap there means nothing.
    """

    lowest: int
    base_offset: int
    next_offset: int
    position: int
    crc: int
    is_vague: bool
    is_before_damage: bool = False

    @property
    def is_behind_gap(self) -> bool:
        """Whether a gap is in front of it, and no damage behind it."""
        return self.base_offset > self.lowest and not self.is_before_damage

    def is_contradicted(self, first_offset: int, crc: int) -> bool:
        """Tell whether the next batch begins with an offset that does not fit.

        If the next batch is the same one again, that confirms it.
        """
        if (first_offset, crc) == (self.base_offset, self.crc):
            return False
        return self.lowest <= first_offset < self.next_offset or self._is_gap(first_offset)

    def is_right_beside(
        self, first_offset: int, next_offset: int, limit: int | None, found: BatchHeader | None
    ) -> bool:
        """Tell whether the contradicting next batch is certainly the damaged one of the two.

        Args:
            first_offset: of the next batch.
            next_offset: the offset after the next batch.
            limit: offset of the segment or batch behind that, None if there is none.
            found: the next sound batch, if the checksum of the contradicting one is wrong. If
                `found` fits the held batch, the damaged header is not trusted; but if offsets
                overlap, the held batch may be wrong.
        """
        is_behind = first_offset >= self.next_offset
        if limit is not None and next_offset > limit:
            return is_behind
        is_apart = is_behind or next_offset <= self.base_offset
        return is_apart and found is not None and found.base_offset >= self.next_offset

    def doubt(self, first_offset: int) -> str | None:
        """Say what is wrong with a contradicting batch; None if it is certainly right.

        It is right if it continues the batches in front, with or without the held one. Otherwise
        either of the two may be damaged, and neither is yielded.
        """
        count = self.next_offset - self.base_offset
        if self._is_gap(first_offset) or first_offset in (self.lowest, self.lowest + count):
            return None
        return f"offset {first_offset} after offset {self.next_offset - 1}"

    def fault(self, why: str) -> str:
        """Say what is wrong with the held batch."""
        return f"offset {self.next_offset - 1} behind offset {self.lowest - 1}, and {why}"

    def _is_gap(self, first_offset: int) -> bool:
        is_due = self.is_vague and not self.is_before_damage
        return is_due and first_offset > self.next_offset


def order_fault(first_offset: int, next_offset: int, lowest: int, limit: int | None) -> str | None:
    """Say what is wrong with the offsets of a batch between its neighbours; None if nothing is.

    Args:
        first_offset: of the batch.
        next_offset: the offset after it.
        lowest: the offset after the batch in front.
        limit: offset of the segment or batch behind, None if there is none.

    See: S-05.
    """
    if next_offset <= first_offset:
        return f"offsets {first_offset} to {next_offset - 1}"
    if first_offset < lowest:
        return f"offset {first_offset} after offset {lowest - 1}"
    if limit is not None and next_offset > limit:
        return f"offset {next_offset - 1} in front of offset {limit}"
    return None

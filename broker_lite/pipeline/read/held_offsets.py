"""The offsets of a batch that nothing in front of it confirms: is it right, or damaged?

No checksum covers the offset of a batch. So one that leaves a gap, or comes behind damage, is held
until the batch behind it is there.
"""

from typing import NamedTuple

from broker_lite.log.files.headers import BatchHeader


class HeldOffsets(NamedTuple):
    """The offsets of a batch that is held.

    Attributes:
        lowest: what could come next in front of it.
        base_offset: its own, if it is right.
        next_offset: what follows it then.
        position: of the batch in its file.
        crc: checksum of the batch.
        is_vague: whether damage is in front of it, in a log where every offset is due.
        is_before_damage: whether there is some behind it, so that a gap there tells nothing.
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
        """Whether there is a gap in front of it, and no damage behind that could explain more."""
        return self.base_offset > self.lowest and not self.is_before_damage

    def is_contradicted(self, first_offset: int, crc: int) -> bool:
        """Whether the batch behind it begins with an offset that does not fit.

        The same batch once more confirms it.
        """
        if (first_offset, crc) == (self.base_offset, self.crc):
            return False
        return self.lowest <= first_offset < self.next_offset or self._is_gap(first_offset)

    def is_right_beside(
        self, first_offset: int, next_offset: int, limit: int | None, found: BatchHeader | None
    ) -> bool:
        """Whether the batch behind it, which contradicts, is surely the damaged one of the two.

        Args:
            first_offset: of the one behind it.
            next_offset: behind its last one.
            limit: offset of the segment or batch behind, None where there is none.
            found: where the checksum of the one behind it is wrong, the next sound batch. If that
                one agrees, the header of the damaged one is not believed; but where their offsets
                overlap, the held one may be wrong.
        """
        is_behind = first_offset >= self.next_offset
        if limit is not None and next_offset > limit:
            return is_behind
        is_apart = is_behind or next_offset <= self.base_offset
        return is_apart and found is not None and found.base_offset >= self.next_offset

    def doubt(self, first_offset: int) -> str | None:
        """Say what is wrong with a batch that contradicts; None when it is right for certain.

        It is right where it goes on from the batches in front, with the one that is held or
        without. Else either of the two may be damaged, and none is given.
        """
        count = self.next_offset - self.base_offset
        if self._is_gap(first_offset) or first_offset in (self.lowest, self.lowest + count):
            return None
        return f"offset {first_offset} after offset {self.next_offset - 1}"

    def fault(self, why: str) -> str:
        """Say what is wrong with the one that is held."""
        return f"offset {self.next_offset - 1} behind offset {self.lowest - 1}, and {why}"

    def _is_gap(self, first_offset: int) -> bool:
        is_due = self.is_vague and not self.is_before_damage
        return is_due and first_offset > self.next_offset


def order_fault(first_offset: int, next_offset: int, lowest: int, limit: int | None) -> str | None:
    """Say what is wrong with the offsets of a batch between those of its neighbours.

    Args:
        first_offset: its own first one.
        next_offset: behind its last one.
        lowest: behind the batch in front.
        limit: offset of the segment or batch behind, None where there is none.

    See: S-05.
    """
    if next_offset <= first_offset:
        return f"offsets {first_offset} to {next_offset - 1}"
    if first_offset < lowest:
        return f"offset {first_offset} after offset {lowest - 1}"
    if limit is not None and next_offset > limit:
        return f"offset {next_offset - 1} in front of offset {limit}"
    return None

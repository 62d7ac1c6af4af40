"""The leader epochs of a partition with the offsets that they wrote, and the file's format.

An entry (epoch, start offset) covers the offsets up to the start offset of the next entry. From
entry to entry, both numbers grow. Nothing here does I/O: when a method reports a change, its caller
writes to_text() to the file.
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import Final, NamedTuple

from broker_lite.log.files.checkpoints import (
    CorruptCheckpoint,
    format_lines,
    parse_integers,
    parse_lines,
)

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1
FILE_NAME: Final = "leader-epoch-checkpoint"


class EpochEntry(NamedTuple):
    """An epoch, and the offset of the first record that was written in it."""

    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    """The largest known epoch up to the requested one, and the offset after its last record."""

    epoch: int
    end_offset: int


class LeaderEpochCache:
    """The leader epochs of one partition, oldest first.

    Rule: S-61 (LeaderEpochFileCache).
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._entries = [EpochEntry(*entry) for entry in entries]

    @property
    def entries(self) -> list[EpochEntry]:
        """A copy of the entries, oldest first."""
        return list(self._entries)

    @property
    def latest_epoch(self) -> int:
        """The newest epoch, -1 if there is none."""
        return self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Begin an epoch; remove entries at the end that contradict it.

        Returns:
            True if the entries changed, so that the file must be written.

        Raises:
            ValueError: epoch or start_offset is negative.

        Rule: S-63 (LeaderEpochFileCache.assign).
        """
        entries = self._entries
        if entries:
            newest = entries[-1]
            if newest.epoch == epoch and newest.start_offset <= start_offset:
                return False
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"negative epoch or offset: {epoch}, {start_offset}")
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Return the end offset of an epoch, for OffsetForLeaderEpoch.

        Returns:
            The epoch and its end offset; (-1, -1) if the epoch is above the newest or is -1, or if
            there are no entries.

        Rule: S-64 (LeaderEpochFileCache.endOffsetFor).
        """
        entries = self._entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == entries[-1].epoch:
            return EpochEndOffset(epoch, log_end_offset)
        following = bisect_right(entries, epoch, key=itemgetter(0))
        known = entries[following - 1].epoch if following else epoch
        return EpochEndOffset(known, entries[following].start_offset)

    def truncate_from_end(self, end_offset: int) -> bool:
        """Drop the entries that start at end_offset or above.

        Returns:
            True if the entries changed.

        Rule: S-65 (LeaderEpochFileCache.truncateFromEnd).
        """
        entries = self._entries
        count = len(entries)
        while entries and entries[-1].start_offset >= end_offset:
            entries.pop()
        return len(entries) != count

    def truncate_from_start(self, start_offset: int) -> bool:
        """Drop the entries below start_offset; the entry that covers it now starts there.

        Returns:
            True if the entries changed.

        Rule: S-65 (LeaderEpochFileCache.truncateFromStart).
        """
        entries = self._entries
        below = [entry for entry in entries if entry.start_offset <= start_offset]
        if not below or below == [(below[-1].epoch, start_offset)]:
            return False
        entries[: len(below)] = [EpochEntry(below[-1].epoch, start_offset)]
        return True

    def clear(self) -> None:
        """Drop all entries."""
        self._entries.clear()

    def to_text(self) -> str:
        """Return the text of leader-epoch-checkpoint.

        Rule: S-60 (LeaderEpochCheckpointFile).
        """
        return format_lines(f"{epoch} {offset}" for epoch, offset in self._entries)

    @classmethod
    def from_text(cls, text: str) -> "LeaderEpochCache":
        """Parse the text of leader-epoch-checkpoint.

        Raises:
            CorruptCheckpoint: the text is malformed, or epochs or offsets do not grow.

        Rule: S-60 (LeaderEpochCheckpointFile).
        """
        cache = cls()
        for line in parse_lines(text):
            entry = EpochEntry(*parse_integers(line, line.split(" "), 2))
            if not cache._continues(entry):
                raise CorruptCheckpoint(f"epochs and offsets must grow: {line!r}")
            cache._entries.append(entry)
        return cache

    def _continues(self, entry: EpochEntry) -> bool:
        if entry.epoch < 0 or entry.start_offset < 0:
            return False
        newest = self._entries[-1] if self._entries else (UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        return entry.epoch > newest[0] and entry.start_offset > newest[1]

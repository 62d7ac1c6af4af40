"""The index of aborted transactions of a segment; most segments have none, and no file then."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from broker_lite.log.files.open_file import OpenFile

ENTRY: Final = struct.Struct(">hqqqq")
VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """An aborted transaction, in the segment that holds its ABORT marker (at last_offset).

    Rule: S-16 (AbortedTxn).
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def stored_entries(data: bytes) -> Iterator[tuple[int, AbortedTransaction]]:
    """Give the entries of an index as they are written, each with its version.

    A part of an entry at the end does not count. What else is wrong is for the caller to say: the
    broker believes an entry of a version that it knows, a tool looks at each.

    Rule: S-16 (TransactionIndex).
    """
    whole = memoryview(data)[: len(data) // ENTRY.size * ENTRY.size]
    for version, *fields in ENTRY.iter_unpack(whole):
        yield version, AbortedTransaction(*fields)


class CorruptTransactionIndex(ValueError):
    """The file cannot belong to its segment; the segment is to be recovered (S-15)."""


class TransactionIndex:
    """Aborted transactions by rising last offset, read from the file at first use.

    Rule: S-16 (TransactionIndex).
    """

    __slots__ = ("_entries", "_saved_count", "exists", "has_fragment", "path")

    def __init__(self, path: str, *, exists: bool = False) -> None:
        self.path = path
        self.exists = exists
        self._entries: list[AbortedTransaction] | None = None if exists else []
        self._saved_count = 0
        # A part of an entry at the end of the file, which readers leave out.
        self.has_fragment = False

    def entries(self) -> list[AbortedTransaction]:
        """Give all entries; not a copy.

        Raises:
            CorruptTransactionIndex: an entry has a newer version.
            OSError: the file cannot be read.
        """
        if self._entries is None:
            self._entries = self._read()
            self._saved_count = len(self._entries)
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        """Add an entry; if the file cannot be written now, a later append or save() does it.

        Raises:
            ValueError: its last offset is not above the newest one's.
            OSError: earlier entries cannot be read; nothing was added.
        """
        entries = self.entries()
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise ValueError(f"{entry} does not come after {entries[-1]}")
        entries.append(entry)
        with suppress(OSError):  # the marker is in the log already, so the entry must count
            self.save()

    def save(self) -> None:
        """Write what the file lacks; it is made with the first entry. May run in a worker thread.

        Raises:
            OSError: the file may hold a part; the next save writes all of it again.
        """
        entries, first = self._entries, self._saved_count
        if entries is None:  # nothing is new, and only the loop reads: it may append meanwhile
            return
        last = len(entries)
        if first == last:
            return
        file = OpenFile(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        self.exists = True
        data = b"".join(ENTRY.pack(VERSION, *entry) for entry in entries[first:last])
        file.write(data, first * ENTRY.size)
        self._saved_count = last

    def check(self, base_offset: int) -> None:
        """Look whether the entries can belong to a segment: none below it, each above the last.

        Raises:
            CorruptTransactionIndex: they cannot.

        See: S-15 (TransactionIndex.sanityCheck).
        """
        floor = base_offset
        for entry in self.entries():
            if entry.last_offset < floor:
                raise CorruptTransactionIndex(f"{self.path}: {entry} is below {floor}")
            floor = entry.last_offset + 1

    def clear(self) -> None:
        """Forget all entries and remove the file.

        Raises:
            OSError: the file cannot be removed.
        """
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        self.exists = False
        self._entries = []
        self._saved_count = 0

    def _read(self) -> list[AbortedTransaction]:
        with open(self.path, "rb") as file:
            data = file.read()
        self.has_fragment = len(data) % ENTRY.size != 0
        entries = []
        for version, entry in stored_entries(data):
            # Readers look at the first byte of the version only.
            first_byte = version >> 8 & 0xFF
            if first_byte > VERSION:
                raise CorruptTransactionIndex(f"{self.path}: version {first_byte}")
            entries.append(entry)
        return entries

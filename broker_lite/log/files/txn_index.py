"""The index of aborted transactions of a segment; without such transactions there is no file."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from broker_lite.log.files.open_file import OpenFile

ENTRY: Final = struct.Struct(">hqqqq")
VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """An aborted transaction, listed in the segment with its ABORT marker (at last_offset).

    Rule: S-16 (AbortedTxn).
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def stored_entries(data: bytes) -> Iterator[tuple[int, AbortedTransaction]]:
    """Yield the entries of an index's bytes, each with its version.

    An incomplete entry at the end is left out. Nothing else is checked here: the broker accepts
    every entry whose version it knows, a tool checks each entry.

    Rule: S-16 (TransactionIndex).
    """
    whole = memoryview(data)[: len(data) // ENTRY.size * ENTRY.size]
    for version, *fields in ENTRY.iter_unpack(whole):
        yield version, AbortedTransaction(*fields)


class CorruptTransactionIndex(ValueError):
    """The index does not fit its segment, so the segment must be recovered (S-15)."""


class TransactionIndex:
    """The aborted transactions in the order of their last offsets, read from the file at first use.

    Rule: S-16 (TransactionIndex).
    """

    __slots__ = ("_entries", "_saved_count", "exists", "has_fragment", "path")

    def __init__(self, path: str, *, exists: bool = False) -> None:
        self.path = path
        self.exists = exists
        self._entries: list[AbortedTransaction] | None = None if exists else []
        self._saved_count = 0
        # Whether the file ends with a part of an entry, which readers ignore.
        self.has_fragment = False

    def entries(self) -> list[AbortedTransaction]:
        """Return all entries; the list is not a copy.

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
            ValueError: the entry's last offset is not above that of the newest one.
            OSError: earlier entries cannot be read; nothing was added.
        """
        entries = self.entries()
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise ValueError(f"{entry} does not come after {entries[-1]}")
        entries.append(entry)
        with suppress(OSError):  # the marker is in the log already, so the entry must stay
            self.save()

    def save(self) -> None:
        """Write the entries that the file lacks. May run in a worker thread.

        The first entry creates the file.

        Raises:
            OSError: a part may be written; the next save writes all of these entries again.
        """
        entries, first = self._entries, self._saved_count
        # None: not read yet, so nothing is new. A worker thread must not read the file here,
        # because the event loop may append to it at the same time.
        if entries is None:
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
        """Check that the entries can belong to a segment: at or above its base, in rising order.

        Raises:
            CorruptTransactionIndex: the entries cannot belong to the segment.

        See: S-15 (TransactionIndex.sanityCheck).
        """
        floor = base_offset
        for entry in self.entries():
            if entry.last_offset < floor:
                raise CorruptTransactionIndex(f"{self.path}: {entry} is below {floor}")
            floor = entry.last_offset + 1

    def clear(self) -> None:
        """Drop all entries and remove the file.

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
            # As in Kafka, only the first byte of the version counts.
            first_byte = version >> 8 & 0xFF
            if first_byte > VERSION:
                raise CorruptTransactionIndex(f"{self.path}: version {first_byte}")
            entries.append(entry)
        return entries

"""The offset index and the time index of a segment: sorted pairs of big-endian numbers.

While a segment grows, its pairs are in memory and reach the file in chunks; an unclean start
rebuilds them anyway. Once it has rolled they are in the file only, read by binary search. Files are
never extended beforehand, so they need no trimming (S-12).
"""

import os
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final, NamedTuple

from broker_lite.log.files import FileCache, OpenFile

_CHUNK_ENTRIES: Final = 512


class IndexEntry(NamedTuple):
    """One pair: what is searched for, and what it leads to."""

    key: int
    value: int


class SegmentIndex:
    """Pairs with strictly increasing keys, either in memory (growing) or in their file (closed)."""

    __slots__ = ("_cache", "_keys", "_saved_count", "_synced_count", "_values", "count", "path")

    ENTRY: ClassVar[struct.Struct]
    KEY_TYPE: ClassVar[str]

    def __init__(self, path: str, cache: FileCache, *, size_bytes: int = 0) -> None:
        self.path = path
        self._cache = cache
        self.count = size_bytes // self.ENTRY.size
        self._saved_count = self.count
        self._synced_count = -1
        self._keys: array[int] | None = None
        self._values: array[int] = array("i")

    @property
    def size_bytes(self) -> int:
        """Size of the entries as a file."""
        return self.count * self.ENTRY.size

    def create(self) -> None:
        """Begin empty, in memory, with an empty file.

        Raises:
            OSError: the file cannot be made.
        """
        self._cache.discard(self.path)
        OpenFile(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        self._keys = array(self.KEY_TYPE)
        self._values = array("i")
        self.count = self._saved_count = 0
        self._synced_count = -1

    def open_for_append(self) -> None:
        """Take the file's entries into memory, so that more can follow.

        Raises:
            OSError: the file cannot be read.
        """
        if self._keys is not None:
            return
        keys, values = array(self.KEY_TYPE), array("i")
        if self.count:
            data = self._cache.get(self.path).read(self.size_bytes, 0)
            for key, value in self.ENTRY.iter_unpack(data):
                keys.append(key)
                values.append(value)
        self._keys, self._values = keys, values

    def append(self, key: int, value: int) -> None:
        """Add an entry in memory; every _CHUNK_ENTRIES the file follows.

        A file that cannot be written now is written at the next chunk, save() or close().
        """
        keys = self._keys
        if keys is None:
            raise ValueError(f"{self.path} is closed")
        if keys and key <= keys[-1]:
            raise ValueError(f"{self.path}: {key} does not come after {keys[-1]}")
        keys.append(key)
        self._values.append(value)
        self.count += 1
        if self.count - self._saved_count >= _CHUNK_ENTRIES:
            with suppress(OSError):
                self.save()

    def save(self) -> None:
        """Write what the file lacks.

        Raises:
            OSError: the file may hold a part; the next save writes all of it again.
        """
        keys, first = self._keys, self._saved_count
        if keys is None or first == self.count:
            return
        pack = self.ENTRY.pack
        last = self.count
        data = b"".join(map(pack, keys[first:last], self._values[first:last]))
        OpenFile(self.path).write(data, first * self.ENTRY.size)
        self._saved_count = last

    def flush(self) -> None:
        """Make the entries durable, if there are new ones.

        Raises:
            OSError: they may not be on disk.
        """
        self.save()
        count = self._saved_count
        if count != self._synced_count:
            OpenFile(self.path).sync()
            self._synced_count = count

    def close(self) -> None:
        """Write everything and keep nothing in memory; lookups go on from the file.

        Raises:
            OSError: the index stays as it was, in memory.
        """
        self.save()
        self._keys = None
        self._values = array("i")

    def entry(self, index: int) -> IndexEntry:
        """Give the entry at an index from 0 to count - 1."""
        if self._keys is not None:
            return IndexEntry(self._keys[index], self._values[index])
        file = self._cache.get(self.path)
        size_bytes = self.ENTRY.size
        return IndexEntry(*self.ENTRY.unpack(file.read(size_bytes, index * size_bytes)))

    def last_entry(self) -> IndexEntry | None:
        """Give the newest entry, None when there is none."""
        return self.entry(self.count - 1) if self.count else None

    def find_at_most(self, key: int) -> IndexEntry | None:
        """Find the entry with the largest key that is not above the given one.

        Rule: S-21 (AbstractIndex.largestLowerBoundSlotFor).
        """
        if self._keys is not None:
            found = bisect_right(self._keys, key)
        else:
            found = bisect_right(range(self.count), key, key=self._key_at())
        return self.entry(found - 1) if found else None

    def _key_at(self) -> Callable[[int], int]:
        return lambda index: self.entry(index).key


class OffsetIndex(SegmentIndex):
    """From an offset, relative to the segment's base, to the position of the batch it ends.

    Rule: S-10 (OffsetIndex).
    """

    __slots__ = ()
    ENTRY = struct.Struct(">ii")
    KEY_TYPE = "i"

    def find_at_or_behind(self, position: int) -> IndexEntry | None:
        """Find the first entry whose batch starts at this position or behind it.

        Rule: F-14 (OffsetIndex.fetchUpperBoundOffset).
        """
        if self._keys is not None:
            found = bisect_left(self._values, position)
        else:
            found = bisect_left(
                range(self.count), position, key=lambda index: self.entry(index).value
            )
        return self.entry(found) if found < self.count else None


class TimeIndex(SegmentIndex):
    """From a timestamp to the relative offset up to which no record is younger.

    Rule: S-11, S-14 (TimeIndex).
    """

    __slots__ = ()
    ENTRY = struct.Struct(">qi")
    KEY_TYPE = "q"

    def append_if_newer(self, timestamp: int, relative_offset: int) -> None:
        """Add an entry when its timestamp is above the last one's.

        Rule: S-14 (TimeIndex.maybeAppend).
        """
        last = self.last_entry()
        if timestamp > (last.key if last is not None else -1):
            self.append(timestamp, relative_offset)

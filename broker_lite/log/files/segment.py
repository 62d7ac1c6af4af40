"""One segment of a log: its .log file and the indexes of it.

The log passes finished batches to it, which already have their offsets. A failed write leaves no
trace: the file is cut to its known end at once or, if that fails, too, before the next append.

Rule: S-05.
"""

import logging
import sys
from contextlib import suppress
from typing import Final

import broker_lite.log.files.disk_calls as disk_calls
from broker_lite.errors import KafkaStorageError
from broker_lite.log.files import index_checks
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.index import OffsetIndex, TimeIndex
from broker_lite.log.files.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_stem,
)
from broker_lite.log.files.open_file import OpenFile, modified_ms, sync_file
from broker_lite.log.files.txn_index import TransactionIndex
from broker_lite.log.files.walk import CHUNK_BYTES, batch_at, find_batch

logger = logging.getLogger("broker_lite.log")

NO_TIMESTAMP: Final = -1
_RECENT_MAX: Final = 64
_UNKNOWN: Final = -2
# From this size on, a segment reserves space on disk in advance, in steps of this size. Measured on
# ext4: a write of 16 KB then takes 4.1 us instead of 6.1, one of 1 MB 110 us instead of 170.
_RESERVE_FROM_BYTES: Final = 1 << 20
_RESERVE_BYTES: Final = 4 << 20


class LogSegment:
    """A segment, owned by its Log. Its base_offset may be below that of its first batch."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_cache",
        "_is_torn",
        "_reserved_end",
        "base_offset",
        "created_ms",
        "is_removed",
        "is_trusted",
        "jitter_ms",
        "largest_bytes",
        "max_timestamp",
        "offset_index",
        "offset_of_max_timestamp",
        "path",
        "recent",
        "rolling_timestamp",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(
        self,
        directory: str,
        base_offset: int,
        cache: FileCache,
        *,
        created_ms: int,
        jitter_ms: int = 0,
        size_bytes: int = 0,
        index_bytes: int = 0,
        time_index_bytes: int = 0,
        has_transaction_index: bool = False,
    ) -> None:
        stem = segment_stem(directory, base_offset)
        self.base_offset = base_offset
        self.path = stem + LOG_SUFFIX
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.jitter_ms = jitter_ms
        # The files are being renamed or removed; removal.py sets this before it begins.
        self.is_removed = False
        self.offset_index = OffsetIndex(stem + INDEX_SUFFIX, cache, size_bytes=index_bytes)
        self.time_index = TimeIndex(stem + TIME_INDEX_SUFFIX, cache, size_bytes=time_index_bytes)
        self.transaction_index = TransactionIndex(
            stem + TRANSACTION_INDEX_SUFFIX, exists=has_transaction_index
        )
        # Whether the indexes need no checks: this process wrote or rebuilt them.
        self.is_trusted = True
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        # Largest timestamp of the first batch; time-based rolling counts from it (S-30).
        self.rolling_timestamp = NO_TIMESTAMP
        # Positions of the newest batches by base offset; a reader at the end needs no index then.
        self.recent: dict[int, int] = {}
        # No batch is larger. It is not known of a segment that was loaded.
        self.largest_bytes = 0 if size_bytes == 0 else sys.maxsize
        self._cache = cache
        self._bytes_since_index_entry = 0
        self._is_torn = False
        self._reserved_end = _RESERVE_FROM_BYTES

    def begin(self) -> None:
        """Begin empty, without files; call create() before the first append."""
        self.offset_index.begin()
        self.time_index.begin()

    def create(self) -> None:
        """Create an empty .log file; remove files of an earlier segment of this name.

        The files of the indexes are created later: by their first entries, or by closing.

        Raises:
            OSError: a file cannot be created or removed.

        Rule: S-31 (LocalLog.roll).
        """
        self.reset_indexes()
        self._cache.create(self.path)

    def reset_indexes(self) -> None:
        """Empty all indexes and forget the timestamps; the .log file stays.

        Raises:
            OSError: a file of an index cannot be removed.

        See: S-43 (LogSegment.recover).
        """
        self.transaction_index.clear()
        self.offset_index.create()
        self.time_index.create()
        self.begin_timestamps()

    def begin_timestamps(self) -> None:
        """Forget the timestamps. Called with empty indexes, which need no checks."""
        self.is_trusted = True
        self.max_timestamp = self.rolling_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = self.base_offset

    def note_timestamp(self, position: int, max_timestamp: int, last_offset: int) -> None:
        """Note the largest timestamp of a batch that recovery or a rebuild has read."""
        if position == 0:
            self.rolling_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset

    def open_for_append(self) -> None:
        """Make a loaded segment the active one: indexes in memory, timestamps known.

        Raises:
            OSError: a file cannot be read.
        """
        self.offset_index.open_for_append()
        self.time_index.open_for_append()
        self.max_timestamp_entry()
        if self.size_bytes:
            self.rolling_timestamp = index_checks.first_timestamp(self)

    def forget_max_timestamp(self) -> None:
        """Note that the largest timestamp is only in the time index, as after a clean stop.

        From now on, entries of the indexes are checked against the batches.
        """
        self.max_timestamp = _UNKNOWN
        self.is_trusted = False

    def max_timestamp_entry(self) -> tuple[int, int]:
        """Return the largest record timestamp (-1: none) and the last offset of its batch.

        Raises:
            OSError: the time index cannot be read.
        """
        if self.max_timestamp == _UNKNOWN:
            index_checks.look_at(self)
        if self.max_timestamp == _UNKNOWN:
            newest = self.time_index.last_entry()
            if newest is None:
                self.max_timestamp = NO_TIMESTAMP
            else:
                self.max_timestamp = newest.key
                self.offset_of_max_timestamp = self.base_offset + newest.value
        return self.max_timestamp, self.offset_of_max_timestamp

    def use_cache(self, cache: FileCache) -> None:
        """Use another cache of open files from now on."""
        for holder in (self, self.offset_index, self.time_index):
            holder._cache = cache

    def file(self) -> OpenFile:
        """Return the open .log file from the cache; raises OSError if it cannot be opened."""
        return self._cache.get(self.path)

    def append(
        self,
        data: bytes | bytearray | memoryview,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        index_interval_bytes: int,
    ) -> None:
        """Write one batch, which has its offsets already, and index it.

        Raises:
            KafkaStorageError: the batch could not be written; the segment is as before.

        Rule: S-13 (LogSegment.append).
        """
        position, size_bytes = self.size_bytes, len(data)
        try:
            if self._is_torn:
                self._cut_back()
            file = self._cache.get(self.path)
            if position + size_bytes > self._reserved_end:
                self._reserve(file, position + size_bytes)
            if disk_calls.pwrite(file.fd, data, position) != size_bytes:
                file.write(data, position)
        except OSError as error:
            self._undo_append(error)
            raise KafkaStorageError from error
        if position == 0:
            self.rolling_timestamp = max_timestamp
        self.size_bytes = position + size_bytes
        self.largest_bytes = max(self.largest_bytes, size_bytes)
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self._bytes_since_index_entry > index_interval_bytes:
            self.offset_index.append(last_offset - self.base_offset, position)
            self.close_time_index()
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += size_bytes
        if len(self.recent) >= _RECENT_MAX:
            self.recent.clear()
        self.recent[base_offset] = position

    def _reserve(self, file: OpenFile, end: int) -> None:
        """Reserve space on disk up to _RESERVE_BYTES after `end`; the file's size stays."""
        start = max(self._reserved_end, self.size_bytes)
        if file.reserve(start, end + _RESERVE_BYTES - start):
            self._reserved_end = end + _RESERVE_BYTES
        else:
            self._reserved_end = sys.maxsize

    def _release(self) -> None:
        """Free the reserved space that is not used."""
        if self._reserved_end != _RESERVE_FROM_BYTES:
            self._reserved_end = _RESERVE_FROM_BYTES
            self._cut_back()

    def _undo_append(self, error: OSError) -> None:
        logger.debug("append failed path=%s reason=%s", self.path, error)
        self._is_torn = True
        with suppress(OSError):  # the next append tries again; recovery would cut the file, too
            self._cut_back()

    def _cut_back(self) -> None:
        self.file().cut(self.size_bytes)
        self._is_torn = False

    def close_time_index(self) -> None:
        """Add the largest timestamp so far to the time index, unless the index has it.

        See: S-14 (TimeIndex.maybeAppend).
        """
        timestamp, offset = self.max_timestamp_entry()
        self.time_index.append_if_newer(timestamp, offset - self.base_offset)

    def make_index_files(self) -> None:
        """Create the indexes' files if they do not exist; may run in a worker thread.

        Loading recovers a segment without these files. They are made now, because a stop, which
        should take a second, has no time for 10,000 files.

        Raises:
            OSError: a file cannot be created.

        See: S-15 (LogSegment.sanityCheck).
        """
        self.offset_index.make_file()
        self.time_index.make_file()

    def save(self) -> None:
        """Add the last time index entry, and write the indexes to their files.

        Raises:
            OSError: a file could not be written; the segment can still be appended to.

        Rule: S-31 (LogSegment.onBecomeInactiveSegment).
        """
        self.offset_index.open_for_append()
        self.time_index.open_for_append()
        if self._is_torn:
            self._cut_back()
        self._release()
        self.close_time_index()
        self.transaction_index.save()
        self.offset_index.save()
        self.time_index.save()

    def close(self) -> None:
        """Save, and free the memory; the segment can still be read, but not appended to.

        Raises:
            OSError: as in save().
        """
        self.save()
        self.offset_index.close()
        self.time_index.close()
        self.recent.clear()

    def mark_deleted(self) -> None:
        """Make every later access fail, because another topic may get the files' names."""
        for file in (self, self.offset_index, self.time_index, self.transaction_index):
            self._cache.discard(file.path)
            directory, slash, name = file.path.rpartition("/")
            file.path = f"{directory}{DELETED_SUFFIX}{slash}{name}"

    def sync_records(self) -> None:
        """Make the batches durable, but not the indexes; may run in a worker thread."""
        self._cache.named(self.path).sync_data()

    def flush(self) -> None:
        """Make everything durable; may run in a worker thread, so it does not use the cache.

        Raises:
            OSError: some data may not be on disk.

        See: S-32 (LogSegment.flush).
        """
        try:
            self._cache.named(self.path).sync()
            self.offset_index.flush()
            self.time_index.flush()
            self.transaction_index.save()
            if self.transaction_index.exists:
                sync_file(self.transaction_index.path)
        except FileNotFoundError:
            if not self.is_removed:
                raise

    def search_start(self, offset: int) -> tuple[int, int]:
        """Return where the search for an offset begins, in the form of positions_around (S-21)."""
        around = self.offset_index.positions_around(offset - self.base_offset)
        if self.is_trusted or not around[0]:
            return around
        return index_checks.true_search_start(self, offset, around)

    def find(self, offset: int) -> tuple[int, int] | None:
        """Find the first batch whose last offset reaches the given one: position and size.

        Raises:
            CorruptMessage: the file is damaged there.
            OSError: the file cannot be read.

        See: S-20 (LogSegment.translateOffset).
        """
        start, following = self.search_start(offset)
        file, size_bytes = self.file(), self.size_bytes
        if following - start > CHUNK_BYTES:
            # Batches are large here, so the next entry often leads to the very batch.
            found = batch_at(file, following, size_bytes, offset)
            if found is not None:
                return found
        return find_batch(file, start, size_bytes, offset)

    def offset_behind(self, position: int) -> int | None:
        """Return an offset from the index that is above all batches before a position.

        Raises:
            OSError: a file cannot be read.

        See: F-14 (LogSegment.fetchUpperBoundOffset).
        """
        entry = self.offset_index.find_at_or_behind(position)
        if entry is not None and not self.is_trusted:
            entry = index_checks.true_bound(self, position, entry)
        return self.base_offset + entry.key if entry is not None else None

    def largest_timestamp(self) -> int:
        """Return the largest record timestamp, or the file's time if there is none.

        Raises:
            OSError: the file is gone.
        """
        timestamp, _ = self.max_timestamp_entry()
        return timestamp if timestamp >= 0 else self.modified_ms()

    def modified_ms(self) -> int:
        """Return the modification time of the .log file; of the directory before it is created.

        Raises:
            OSError: the file is gone.
        """
        return modified_ms(self.path, may_lack=not self.size_bytes)

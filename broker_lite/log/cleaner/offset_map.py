"""The newest offset of each key in the dirty part of a log, in memory of a fixed size.

The memory comes from mmap: pages that no key touches are never allocated, and all of it returns to
the system as soon as nothing refers to the map.
"""

import mmap
import secrets
from contextlib import suppress
from typing import Final, NamedTuple

from broker_lite.log.cleaner.job import CleaningJob, SourceSegment, read_source
from broker_lite.log.cleaner.legacy import note_legacy_keys
from broker_lite.log.cleaner.transactions import CleanedTransactions
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.record.loops.compaction import note_keys
from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.loops.scan_status import scan_error
from broker_lite.record.records import read_content

ENTRY_BYTES: Final = 24
# With twice as many slots as keys, a search for a key ends after few steps.
_SLOTS_PER_KEY: Final = 2
_SLOTS_MIN: Final = 64
# The map begins small and grows, because a small map fits the processor's cache. Measured with
# 620,000 records of 190,000 keys: 0.86 us a record in a map that has room for all keys from the
# start, 0.57 us in one that grows.
_SLOTS_BEGIN: Final = 1 << 15
_GROWTH: Final = 4


class MapLimits(NamedTuple):
    """How much memory the keys may use.

    Attributes:
        size_bytes: size of the memory.
        load_factor: share of the memory that keys may fill, above 0 and up to 1.
    """

    size_bytes: int
    load_factor: float

    @property
    def keys_max(self) -> int:
        """The largest number of keys."""
        return int(self.size_bytes // ENTRY_BYTES * self.load_factor)


class OffsetMap:
    """Keys with their newest offsets.

    Attributes:
        keys: the map of keys to offsets.
        latest_offset: all records up to this offset are in the map; -1 before the first one.
    """

    def __init__(self, limits: MapLimits, records_max: int) -> None:
        """Begin with an empty map.

        Args:
            limits: the limits of the memory.
            records_max: largest possible number of records, and so of keys; with few, the map
                takes less memory.
        """
        self.keys_max = max(limits.keys_max, 1)
        keys = min(self.keys_max, records_max)
        slots = min(limits.size_bytes // ENTRY_BYTES, keys * _SLOTS_PER_KEY)
        self._slots_max = max(slots, keys + 1, _SLOTS_MIN)
        self._seeds = secrets.randbits(64), secrets.randbits(64)
        self.keys = self._new_map(min(self._slots_max, _SLOTS_BEGIN))
        self.latest_offset = -1

    def _new_map(self, slots: int) -> KeyMap:
        memory = mmap.mmap(-1, slots * ENTRY_BYTES, mmap.MAP_PRIVATE)
        # Huge pages help, because keys are spread over all of the memory: with 2.5 million keys,
        # the whole compaction took a tenth less CPU. Only private memory gets huge pages. On a
        # system without them, madvise fails and the pages stay small.
        with suppress(AttributeError, OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        return KeyMap(memoryview(memory).cast("Q"), *self._seeds)

    def _make_room(self, record_count: int) -> None:
        """Move to a larger map if `record_count` more keys would fill the current one too much."""
        slots = self.keys.slots
        while slots < self._slots_max and (self.keys.count + record_count) * 2 > slots:
            slots = min(slots * _GROWTH, self._slots_max)
        if slots != self.keys.slots:
            larger = self._new_map(slots)
            self.keys.copy_to(larger)
            self.keys = larger

    def fill(self, job: CleaningJob) -> None:
        """Add the keys of a log's dirty part, or of as much of it as there is room for.

        Raises:
            BrokerError: a batch cannot be read.
            CleaningStopped: the pace was stopped.
            OSError: a file cannot be read.

        Rule: S-82 (Cleaner.buildOffsetMap).
        """
        dirty = [each for each in job.sources if each.end_offset > job.first_dirty]
        dirty = [each for each in dirty if each.base_offset < job.end_offset]
        if not dirty:
            return
        aborted = job.aborted_from(dirty[0].base_offset)
        transactions = CleanedTransactions(aborted, lambda _: None)
        for source in dirty:
            if self._fill_from(source, job, transactions):
                return
            # offsets at the end of a segment may be missing: an earlier cleaning removed them
            self.latest_offset = max(self.latest_offset, source.end_offset - 1)

    def _fill_from(
        self, source: SourceSegment, job: CleaningJob, transactions: CleanedTransactions
    ) -> bool:
        """Add the keys of a segment; return True when there is no more room."""
        for batch in read_source(source, job.log.directory, job.pace):
            if isinstance(batch, LegacyMessage):
                records = list(iterate_legacy(batch))
                self._make_room(len(records))
                last_offset, is_full = note_legacy_keys(
                    records, self.keys, self.keys_max, job.first_dirty
                )
            elif transactions.can_discard(batch) or batch.is_control:
                last_offset, is_full = -1, False
            else:
                last_offset, is_full = self._note(batch, job.first_dirty)
            self.latest_offset = max(self.latest_offset, last_offset)
            if is_full:
                return True
            if batch.last_offset >= job.first_dirty:
                self.latest_offset = max(self.latest_offset, batch.last_offset)
        return False

    def _note(self, batch: RecordBatch, first_offset: int) -> tuple[int, bool]:
        if batch.record_count == 0:
            return -1, False
        self._make_room(batch.record_count)
        content = read_content(batch)
        status, last_offset, is_full = note_keys(
            self.keys,
            self.keys_max,
            memoryview(content.data),
            0,
            len(content.data),
            batch.record_count,
            batch.base_offset,
            first_offset,
        )
        error = scan_error(
            status, compressed=batch.is_compressed, codec_failed=content.failed and not is_full
        )
        if error is not None:
            raise error
        return last_offset, is_full

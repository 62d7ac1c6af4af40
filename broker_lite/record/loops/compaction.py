"""Find the records of a batch that a compaction keeps: two loops over records.

Cython compiles this module with the types of compaction.pxd; without a compiler it is plain Python.
Both loops take plain records: a compressed batch is decompressed before. The result is one byte per
record, 1 to keep it or 0, so that a caller that decides in another way can fill these bytes, too.

The numbers returned as status are those of scan_status.ScanStatus.

See: S-82, S-84 (Cleaner.buildOffsetMapForSegment, Cleaner.shouldRetainRecord).
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


def note_keys(
    keys: KeyMap,
    count_max: int,
    buffer: memoryview,
    start: int,
    end: int,
    count: int,
    base_offset: int,
    first_offset: int,
) -> tuple[int, int, bool]:
    """Put the keys of a batch's records into a map.

    Args:
        keys: the map.
        count_max: with so many keys the map counts as full; it is below the map's slots.
        buffer: plain records; format B and contiguous; read only.
        start: position of the first record.
        end: position after the last byte of the batch, or of the decompressed stream.
        count: how many records the header declares.
        base_offset: of the batch.
        first_offset: records below it are skipped.

    Returns:
        status, the offset of the last record in the map (-1: none), and whether a record was left
        out because the map is full; the walk ends there.

    Raises:
        ValueError: start and end are not positions in the buffer.

    See: S-82 (Cleaner.buildOffsetMapForSegment).
    """
    cursor = RecordCursor(buffer, start, end, True)
    notes = KeyNotes()
    if end - start > LENT_BYTES_MIN:
        with cython.nogil:
            status = notes.walk(keys, count_max, buffer, cursor, count, base_offset, first_offset)
    else:
        status = notes.walk(keys, count_max, buffer, cursor, count, base_offset, first_offset)
    return status, notes.last_offset, bool(notes.is_full)


class KeyNotes:
    """The walk of note_keys(), and two of the numbers that note_keys() returns."""

    def __init__(self) -> None:
        self.last_offset = -1
        self.is_full = False

    def walk(
        self,
        keys: KeyMap,
        count_max: int,
        buffer: memoryview,
        cursor: RecordCursor,
        count: int,
        base_offset: int,
        first_offset: int,
    ) -> int:
        """Put the keys of a batch's records into a map, and return the status."""
        status = 0
        read = 0
        if count < 0:
            status = 1
        while read < count:
            status = cursor.read_record()
            if status != 0:
                break
            read += 1
            offset = base_offset + cursor.offset_delta
            if cursor.key_length < 0 or offset < first_offset:
                continue
            if keys.count >= count_max or not keys.note(
                buffer, cursor.key_position, cursor.key_length, offset
            ):
                self.is_full = True
                return 0
            self.last_offset = offset
        if status == 0 and count > 0 and cursor.position < cursor.end:
            status = 4
        return status


class Judgement:
    """Decides about the records of a batch; the attributes are about the last call.

    Args:
        kept: one byte per record, written to; 0 or 1.

    Attributes:
        kept_count: how many records are kept.
        has_kept_null: True if a record without a value is kept.
    """

    def __init__(self, kept: memoryview) -> None:
        self.kept = kept
        self.kept_count = 0
        self.has_kept_null = False

    def by_key(
        self,
        keys: KeyMap,
        latest_offset: int,
        drops_null: bool,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_offset: int,
    ) -> int:
        """Keep the newest record of each key, and return the status.

        Args:
            keys: newest offset by key.
            latest_offset: the map is filled up to this offset; later records are kept.
            drops_null: True if tombstones are dropped.
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte.
            count: how many records the header declares, at most the bytes of `kept`.
            base_offset: of the batch.

        Raises:
            ValueError: start and end are not positions in the buffer, or there are too many.

        See: S-84 (Cleaner.shouldRetainRecord).
        """
        cursor = RecordCursor(buffer, start, end, True)
        if count > len(self.kept):
            raise ValueError("more records than there is room to judge")
        if end - start > LENT_BYTES_MIN:
            with cython.nogil:
                status = self._walk_by_key(
                    keys, latest_offset, drops_null, buffer, cursor, count, base_offset
                )
        else:
            status = self._walk_by_key(
                keys, latest_offset, drops_null, buffer, cursor, count, base_offset
            )
        return status

    def _walk_by_key(
        self,
        keys: KeyMap,
        latest_offset: int,
        drops_null: bool,
        buffer: memoryview,
        cursor: RecordCursor,
        count: int,
        base_offset: int,
    ) -> int:
        self.kept_count = 0
        self.has_kept_null = False
        status = 0
        read = 0
        if count < 0:
            status = 1
        while read < count:
            status = cursor.read_record()
            if status != 0:
                break
            offset = base_offset + cursor.offset_delta
            is_kept = True
            if offset <= latest_offset:
                if cursor.key_length < 0 or (drops_null and cursor.value_length < 0):
                    is_kept = False
                else:
                    newest = keys.look_up(buffer, cursor.key_position, cursor.key_length)
                    is_kept = offset >= newest
            self._note(read, is_kept, cursor.value_length < 0)
            read += 1
        if status == 0 and count > 0 and cursor.position < cursor.end:
            status = 4
        return status

    def by_offset(
        self,
        bits: memoryview,
        bits_offset: int,
        drops_null: bool,
        buffer: memoryview,
        start: int,
        end: int,
        count: int,
        base_offset: int,
    ) -> int:
        """Keep the records with certain offsets, and return the status.

        Args:
            bits: one per offset, the least significant first; further offsets count as 0.
            bits_offset: the offset of the first bit, at most base_offset.
            drops_null: True if tombstones are dropped.
            buffer: plain records; format B and contiguous; read only.
            start: position of the first record.
            end: position after the last byte.
            count: how many records the header declares, at most the bytes of `kept`.
            base_offset: of the batch.

        Raises:
            ValueError: start and end are not positions in the buffer, or there are too many.

        See: S-84 (Cleaner.shouldRetainRecord).
        """
        cursor = RecordCursor(buffer, start, end, True)
        if count > len(self.kept):
            raise ValueError("more records than there is room to judge")
        if end - start > LENT_BYTES_MIN:
            with cython.nogil:
                status = self._walk_by_offset(
                    bits, bits_offset, drops_null, cursor, count, base_offset
                )
        else:
            status = self._walk_by_offset(bits, bits_offset, drops_null, cursor, count, base_offset)
        return status

    def _walk_by_offset(
        self,
        bits: memoryview,
        bits_offset: int,
        drops_null: bool,
        cursor: RecordCursor,
        count: int,
        base_offset: int,
    ) -> int:
        self.kept_count = 0
        self.has_kept_null = False
        status = 0
        read = 0
        if count < 0:
            status = 1
        while read < count:
            status = cursor.read_record()
            if status != 0:
                break
            bit = base_offset - bits_offset + cursor.offset_delta
            is_kept = False
            if 0 <= bit < 8 * len(bits) and not (drops_null and cursor.value_length < 0):
                is_kept = (bits[bit >> 3] >> (bit & 7)) & 1 == 1
            self._note(read, is_kept, cursor.value_length < 0)
            read += 1
        if status == 0 and count > 0 and cursor.position < cursor.end:
            status = 4
        return status

    def _note(self, record: int, is_kept: bool, is_null: bool) -> None:
        self.kept[record] = 1 if is_kept else 0
        if is_kept:
            self.kept_count += 1
            if is_null:
                self.has_kept_null = True

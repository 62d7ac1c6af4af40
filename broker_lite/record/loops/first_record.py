"""Find the first record of a batch with a timestamp, for ListOffsets.

Cython compiles this module with the types of first_record.pxd; without a compiler it is plain
Python.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


class FirstRecord:
    """Looks for one record; the attributes are about the record that was found.

    Args:
        timestamp: the least timestamp of the record.
        exactly: the record must have that timestamp.
        offset_min: the least offset of the record.

    Attributes:
        timestamp: of the record.
        offset: of the record; -1 if there is none.
    """

    def __init__(self, timestamp: int, exactly: bool, offset_min: int) -> None:
        self.timestamp = -1
        self.offset = -1
        self._wanted = timestamp
        self._exactly = exactly
        self._offset_min = offset_min

    def find(
        self,
        buffer: memoryview,
        count: int,
        base_offset: int,
        base_timestamp: int,
        has_append_time: bool,
        append_time_ms: int,
    ) -> int:
        """Read records up to the wanted one, and return the status (ScanStatus).

        Args:
            buffer: all plain records; format B and contiguous; read only.
            count: how many records the header declares; below 0 is invalid.
            base_offset: of the batch.
            base_timestamp: of the batch.
            has_append_time: all records have the same timestamp.
            append_time_ms: that timestamp.

        See: R-33, R-34, R-37 (DefaultRecordBatch.iterator).
        """
        cursor = RecordCursor(buffer, 0, len(buffer), True)
        if count < 0:
            return 1
        if len(buffer) <= LENT_BYTES_MIN:
            return self._find(
                cursor, count, base_offset, base_timestamp, has_append_time, append_time_ms
            )
        with cython.nogil:
            status = self._find(
                cursor, count, base_offset, base_timestamp, has_append_time, append_time_ms
            )
        return status

    def _find(
        self,
        cursor: RecordCursor,
        count: int,
        base_offset: int,
        base_timestamp: int,
        has_append_time: bool,
        append_time_ms: int,
    ) -> int:
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        read = 0
        timestamp = append_time_ms
        while read < count:
            status = cursor.read_record()
            if status != 0:
                return status
            read += 1
            if not has_append_time:
                wrapped = ((base_timestamp & mask) + cursor.timestamp_delta) & mask
                timestamp = (wrapped ^ sign) - sign
            if timestamp < self._wanted or (self._exactly and timestamp != self._wanted):
                continue
            if base_offset + cursor.offset_delta >= self._offset_min:
                self.timestamp = timestamp
                self.offset = base_offset + cursor.offset_delta
                return 0
        if count > 0 and cursor.position < cursor.end:
            return 4
        return 0

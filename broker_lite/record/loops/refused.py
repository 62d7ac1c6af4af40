"""Find the records of a batch that a topic does not take, by their key or their timestamp.

Compiled in place by Cython with the types of refused.pxd, and plain Python without a compiler, as
scan.py is. It says where the next one is; what to say of it is for others.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


class RefusedSearch:
    """What a topic demands of records.

    Args:
        needs_key: a null key is refused.
        checks_times: timestamps but -1 must be within a range around now.
        now_ms: the middle of the range.
        before_max_ms: how far a timestamp may lie behind it.
        after_max_ms: how far it may lie ahead.
        base_timestamp: of the batch.
        has_append_time: all its records have one timestamp, and are refused where times are not
            checked.
        append_time_ms: this timestamp.
    """

    def __init__(
        self,
        needs_key: bool,
        checks_times: bool,
        now_ms: int,
        before_max_ms: int,
        after_max_ms: int,
        base_timestamp: int,
        has_append_time: bool,
        append_time_ms: int,
    ) -> None:
        self._needs_key = needs_key
        self._checks_times = checks_times
        self._now_ms = now_ms
        self._before_max_ms = before_max_ms
        self._after_max_ms = after_max_ms
        self._base_timestamp = base_timestamp
        self._has_append_time = has_append_time
        self._append_time_ms = append_time_ms

    def next(self, cursor: RecordCursor, count: int) -> int:
        """Read records until one is refused.

        Args:
            cursor: before the first of them; then behind the refused one, whose fields it has.
            count: how many there are; all were found sound by a scan.

        Returns:
            How many were read, or -1 if none is refused.

        See: V-33, V-34 (LogValidator.validateRecord).
        """
        if cursor.end - cursor.position <= LENT_BYTES_MIN:
            return self._next(cursor, count)
        with cython.nogil:
            read = self._next(cursor, count)
        return read

    def _next(self, cursor: RecordCursor, count: int) -> int:
        read = 0
        while read < count:
            cursor.read_record()
            read += 1
            if self._needs_key and cursor.key_length < 0:
                return read
            if self._is_refused_by_time(cursor.timestamp_delta):
                return read
        return -1

    def _is_refused_by_time(self, timestamp_delta: int) -> bool:
        """In 64 bits as in Java; a difference may wrap around.

        See: V-34 (LogValidator.validateTimestamp).
        """
        sign = 0x8000000000000000
        mask = 0xFFFFFFFFFFFFFFFF
        wrapped = self._append_time_ms & mask
        if not self._has_append_time:
            wrapped = ((self._base_timestamp & mask) + timestamp_delta) & mask
        if not self._checks_times or wrapped == mask:
            return self._has_append_time
        wrapped = ((self._now_ms & mask) - wrapped) & mask
        difference = (wrapped ^ sign) - sign
        if difference > self._before_max_ms:
            return True
        wrapped = -wrapped & mask
        difference = (wrapped ^ sign) - sign
        return difference > self._after_max_ms

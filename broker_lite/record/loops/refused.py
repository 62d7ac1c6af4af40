"""Find the records of a batch that a topic refuses, because of their key or timestamp.

Cython compiles this module with the types of refused.pxd; without a compiler it is plain Python. It
finds the next refused record, and whether its key or its timestamp is the reason. The caller has
the message.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython

from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.scan import RecordCursor


class RefusedSearch:
    """The demands of a topic on records.

    Args:
        needs_key: a null key is refused.
        checks_times: timestamps other than -1 must be within a range around now.
        now_ms: the middle of the range.
        before_max_ms: how far a timestamp may be before now.
        after_max_ms: how far a timestamp may be after now.
        base_timestamp: of the batch.
        has_append_time: all its records have one timestamp; they are refused if times are not
            checked.
        append_time_ms: that timestamp.

    Attributes:
        lacks_key: whether the last refused record lacks its key; else its timestamp is wrong.
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
        self.lacks_key = False

    def next(self, cursor: RecordCursor, count: int) -> int:
        """Read records until one is refused.

        Args:
            cursor: before the first of the records; afterwards it has read the refused one.
            count: how many records there are; a scan must have found all of them sound.

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
            self.lacks_key = self._needs_key and cursor.key_length < 0
            if self.lacks_key:
                return read
            if self._is_refused_by_time(cursor.timestamp_delta):
                return read
        return -1

    def _is_refused_by_time(self, timestamp_delta: int) -> bool:
        """Compare in 64 bits as Java does, where a difference may wrap around.

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

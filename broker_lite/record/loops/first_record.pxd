# Types for first_record.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.final
cdef class FirstRecord:
    cdef readonly int64_t timestamp
    cdef readonly int64_t offset
    cdef int64_t _wanted
    cdef bint _exactly
    cdef int64_t _offset_min

    @cython.locals(cursor=RecordCursor, status=int64_t)
    cpdef int64_t find(
        self, const unsigned char[::1] buffer, int64_t count, int64_t base_offset,
        int64_t base_timestamp, bint has_append_time, int64_t append_time_ms,
    ) except -1

    @cython.locals(
        sign=uint64_t, mask=uint64_t, read=int64_t, timestamp=int64_t, status=int64_t,
        wrapped=uint64_t,
    )
    cdef int64_t _find(
        self, RecordCursor cursor, int64_t count, int64_t base_offset, int64_t base_timestamp,
        bint has_append_time, int64_t append_time_ms,
    ) noexcept nogil

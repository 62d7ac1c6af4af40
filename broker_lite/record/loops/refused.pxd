# Types for refused.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.final
cdef class RefusedSearch:
    cdef bint _needs_key
    cdef bint _checks_times
    cdef int64_t _now_ms
    cdef int64_t _before_max_ms
    cdef int64_t _after_max_ms
    cdef int64_t _base_timestamp
    cdef bint _has_append_time
    cdef int64_t _append_time_ms
    cdef readonly bint lacks_key

    @cython.locals(read=int64_t)
    cpdef int64_t next(self, RecordCursor cursor, int64_t count) except -2

    @cython.locals(read=int64_t)
    cdef int64_t _next(self, RecordCursor cursor, int64_t count) noexcept nogil

    @cython.locals(sign=uint64_t, mask=uint64_t, wrapped=uint64_t, difference=int64_t)
    cdef bint _is_refused_by_time(self, int64_t timestamp_delta) noexcept nogil

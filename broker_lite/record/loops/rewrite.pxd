# Types for rewrite.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.loops.columns cimport copy_bytes
from broker_lite.record.loops.encode_records cimport sized_bytes, varlong_size_bytes
from broker_lite.record.loops.scan cimport RecordCursor


@cython.final
cdef class RecordRewriter:
    cdef const unsigned char[::1] _buffer
    cdef const unsigned char[::1] _kept
    cdef unsigned char[::1] _target
    cdef int64_t _start
    cdef int64_t _end
    cdef int64_t _count
    cdef bint _renumbers
    cdef int64_t _old_base
    cdef bint _has_append_time
    cdef int64_t _position
    cdef bint _is_stopped
    cdef readonly int64_t size_bytes
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp

    cpdef void stop(self) noexcept

    @cython.locals(cursor=RecordCursor, status=int64_t)
    cpdef int64_t measure(
        self, int64_t base_timestamp, bint has_append_time, int64_t append_time_ms,
        int64_t new_base,
    ) except -1

    @cython.locals(cursor=RecordCursor)
    cpdef int64_t write(self, unsigned char[::1] target) except -1

    cdef bint _is_kept(self, int64_t record) noexcept nogil

    @cython.locals(sign=uint64_t, mask=uint64_t, wrapped=uint64_t)
    cdef int64_t _timestamp(self, RecordCursor cursor) noexcept nogil

    @cython.locals(sign=uint64_t, mask=uint64_t, wrapped=uint64_t)
    cdef int64_t _timestamp_delta(self, RecordCursor cursor) noexcept nogil

    @cython.locals(
        has_base=bint, written=int64_t, last_delta=int64_t, record=int64_t, timestamp=int64_t,
        offset_delta=int64_t, length=int64_t,
    )
    cdef int64_t _measure(self, RecordCursor cursor) noexcept nogil

    @cython.locals(length=int64_t, header=int64_t, size_bytes=int64_t)
    cdef int64_t _length(self, RecordCursor cursor, int64_t offset_delta) noexcept nogil

    @cython.locals(written=int64_t, record=int64_t, offset_delta=int64_t, length=int64_t)
    cdef bint _write(self, RecordCursor cursor) noexcept nogil

    @cython.locals(header=int64_t, length=int64_t)
    cdef bint _put_headers(self, RecordCursor cursor) noexcept nogil

    cdef bint _put_bytes(self, int64_t position, int64_t length) noexcept nogil

    @cython.locals(end=int64_t, size_bytes=int64_t)
    cdef bint _put_text(self, int64_t position, int64_t length) noexcept nogil

    @cython.locals(mask=uint64_t, raw=uint64_t)
    cdef bint _put_number(self, int64_t value) noexcept nogil


@cython.locals(end=int64_t, total=int64_t, size_bytes=int64_t)
cpdef int64_t text_size_bytes(
    const unsigned char[::1] buffer, int64_t position, int64_t length
) noexcept nogil


@cython.locals(
    first=int64_t, lowest=int64_t, highest=int64_t, wanted=int64_t, size_bytes=int64_t,
    byte=int64_t,
)
cpdef int64_t sign_size_bytes(
    const unsigned char[::1] buffer, int64_t position, int64_t end
) noexcept nogil


cdef int64_t lowest_second_byte(int64_t first) noexcept nogil

# Types for scan.py. Every integer is 64 bits wide: a narrower one would change what << and ^ mean.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.loops.totals cimport RecordTotals


@cython.final
cdef class RecordCursor:
    cdef const unsigned char[::1] buffer
    cdef bint full_reader
    cdef readonly int64_t end
    cdef public int64_t position
    cdef readonly int64_t length
    cdef readonly int64_t attributes
    cdef readonly int64_t timestamp_delta
    cdef readonly int64_t offset_delta
    cdef readonly int64_t key_position
    cdef readonly int64_t key_length
    cdef readonly int64_t value_position
    cdef readonly int64_t value_length
    cdef readonly int64_t headers_position
    cdef readonly int64_t header_count

    @cython.locals(position=int64_t, raw=int64_t, shift=int64_t, byte=int64_t)
    cpdef int64_t read_varint(self, int64_t end) noexcept nogil

    @cython.locals(position=int64_t, raw=uint64_t, shift=int64_t, byte=uint64_t, value=int64_t)
    cpdef int64_t read_varlong(self, int64_t end) noexcept nogil

    cpdef bint skip(self, int64_t length, int64_t end) noexcept nogil

    @cython.locals(end=int64_t, ended=int64_t, header=int64_t, length=int64_t)
    cpdef int64_t read_record(self) noexcept nogil


@cython.locals(status=int64_t)
cdef int64_t walk(RecordCursor cursor, RecordTotals totals, int64_t count) noexcept nogil


@cython.locals(status=int64_t, is_long=bint, cursor=RecordCursor, totals=RecordTotals)
cpdef tuple scan_records(
    const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
    int64_t base_timestamp, bint full_reader,
)

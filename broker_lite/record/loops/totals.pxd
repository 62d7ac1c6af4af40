# Types for totals.py. Every integer is 64 bits wide: a narrower one would change what << and ^ mean.
cimport cython
from libc.stdint cimport int64_t, uint64_t


@cython.final
cdef class RecordTotals:
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t position
    cdef readonly int64_t records_read
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t min_timestamp
    cdef readonly int64_t null_keys
    cdef readonly bint sequential

    @cython.locals(sign=uint64_t, mask=uint64_t, wrapped=uint64_t, timestamp=int64_t)
    cpdef void add(
        self, int64_t position, int64_t timestamp_delta, int64_t offset_delta, int64_t key_length
    ) noexcept nogil

    @cython.locals(
        position=int64_t, left=int64_t, length=int64_t, byte=int64_t, record_end=int64_t,
        timestamp=int64_t, offset=int64_t, key=int64_t, value=int64_t, headers=int64_t,
        delta=int64_t,
    )
    cpdef void pass_usual(
        self, const unsigned char[::1] buffer, int64_t end, int64_t count
    ) noexcept nogil

    @cython.locals(key=int64_t, value=int64_t, byte=int64_t)
    cdef int64_t after_headers(
        self, const unsigned char[::1] buffer, int64_t headers, int64_t position, int64_t end
    ) noexcept nogil

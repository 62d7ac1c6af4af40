# Types for synthetic.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from broker_lite.record.loops.columns cimport copy_bytes


@cython.final
cdef class SyntheticRecords:
    cdef uint64_t seed
    cdef const int64_t[::1] keys
    cdef const int64_t[::1] key_sizes
    cdef uint64_t null_keys
    cdef const int64_t[::1] value_sizes
    cdef uint64_t null_values
    cdef const unsigned char[::1] pool
    cdef int64_t start_timestamp
    cdef int64_t interval_us
    cdef int64_t jitter_ms
    cdef readonly int64_t[::1] timestamps
    cdef readonly unsigned char[::1] key_bits
    cdef readonly int32_t[::1] key_ends
    cdef readonly unsigned char[::1] key_data
    cdef readonly unsigned char[::1] value_bits
    cdef readonly int32_t[::1] value_ends
    cdef readonly unsigned char[::1] value_data

    @cython.locals(row=int64_t, key=int64_t, at=int64_t, drawn=uint64_t)
    cpdef int64_t fill(self, int64_t first, int64_t count) except -1

    @cython.locals(
        row=int64_t, key_end=int64_t, value_end=int64_t, low_bits=uint64_t, number=int64_t,
        bit=int64_t, key=int64_t,
    )
    cdef int64_t _measure(self, int64_t first, int64_t count) except -1

    cdef int64_t _key_of(self, int64_t number) noexcept

    @cython.locals(timestamp=int64_t, earlier=uint64_t)
    cdef int64_t _timestamp_of(self, int64_t number) noexcept

    cdef uint64_t _random(self, int64_t number, int64_t purpose) noexcept

    @cython.locals(
        digits=int64_t, digit=int64_t, pool_bytes=int64_t, position=int64_t, length=int64_t
    )
    cdef int64_t _write(
        self, int64_t number, uint64_t drawn, unsigned char[::1] data, int64_t at, int64_t end
    ) except -1


@cython.locals(step=int64_t, low=int64_t, within=int64_t, span=int64_t)
cpdef int64_t drawn_from(const int64_t[::1] table, uint64_t drawn) noexcept


@cython.locals(
    mask=uint64_t, increment=uint64_t, factor=uint64_t, last_factor=uint64_t, raw=uint64_t
)
cpdef uint64_t mixed(uint64_t value) noexcept

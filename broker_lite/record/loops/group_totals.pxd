# Types for group_totals.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.final
cdef class GroupTotals:
    cdef readonly int64_t bucket_ms
    cdef readonly int64_t key_hashes
    cdef readonly int64_t slots
    cdef readonly int64_t buckets
    cdef dict _places
    cdef int64_t _last_start
    cdef int64_t _last_place
    cdef readonly int64_t[::1] starts
    cdef readonly int64_t[::1] records
    cdef readonly int64_t[::1] keys
    cdef readonly int64_t[::1] key_bytes
    cdef readonly int64_t[::1] values
    cdef readonly int64_t[::1] value_bytes
    cdef readonly int64_t[::1] min_offset
    cdef readonly int64_t[::1] max_offset
    cdef readonly int64_t[::1] min_timestamp
    cdef readonly int64_t[::1] max_timestamp

    @cython.locals(
        cursor=RecordCursor, sign=uint64_t, mask=uint64_t, base=uint64_t, wrapped=uint64_t,
        read=int64_t, offset=int64_t, timestamp=int64_t, slot=int64_t, part=int64_t,
        hashed=uint64_t,
    )
    cpdef int64_t add(
        self, const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset, int64_t base_timestamp, int64_t append_timestamp,
        int64_t first_offset, int64_t end_offset, int64_t skipped,
    ) except -1

    @cython.locals(start=int64_t, place=int64_t)
    cdef int64_t place_of(self, int64_t timestamp) except -2

    @cython.locals(place=int64_t)
    cdef int64_t look_up(self, int64_t start) except -2

    cdef int64_t count_record(
        self, int64_t slot, int64_t offset, int64_t timestamp, int64_t key_length,
        int64_t value_length,
    ) except -1


@cython.locals(
    mask=uint64_t, factor=uint64_t, hashed=uint64_t, end=int64_t, word=uint64_t, shift=uint64_t,
)
cpdef uint64_t murmur2_of(
    const unsigned char[::1] buffer, int64_t position, int64_t length
) except? 1

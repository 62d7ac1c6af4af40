# Types for encode_records.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from broker_lite.record.loops.columns cimport copy_bytes


@cython.final
cdef class BytesColumn:
    cdef const unsigned char[::1] bits
    cdef const int32_t[::1] ends
    cdef const unsigned char[::1] data
    cdef int64_t first
    cdef readonly int64_t start

    @cython.locals(index=int64_t, start=int64_t, end=int64_t)
    cpdef int64_t find(self, int64_t row) except -2


@cython.final
cdef class HeadersColumn:
    cdef const unsigned char[::1] bits
    cdef const int32_t[::1] ends
    cdef int64_t first
    cdef BytesColumn keys
    cdef BytesColumn values
    cdef readonly int64_t start

    @cython.locals(index=int64_t, start=int64_t, end=int64_t)
    cpdef int64_t find(self, int64_t row) except -2


@cython.final
cdef class RecordEncoder:
    cdef const int64_t[::1] timestamps
    cdef const int64_t[::1] offsets
    cdef BytesColumn keys
    cdef BytesColumn values
    cdef HeadersColumn headers
    cdef readonly int64_t position
    cdef readonly int64_t last_offset
    cdef readonly int64_t max_timestamp
    cdef unsigned char[::1] _target

    @cython.locals(size_bytes=int64_t, headers=HeadersColumn, left=int64_t, header=int64_t,
                   length=int64_t)
    cpdef int64_t record_size_bytes(
        self, int64_t row, int64_t timestamp_delta, int64_t offset_delta
    ) except -1

    @cython.locals(offset=int64_t, timestamp=int64_t, size_bytes=int64_t)
    cpdef int64_t encode(
        self, int64_t row, int64_t end_row, int64_t base_offset, int64_t next_offset,
        int64_t base_timestamp, unsigned char[::1] target, int64_t at, int64_t end,
    ) except -1

    @cython.locals(headers=HeadersColumn, left=int64_t, header=int64_t)
    cdef int64_t _put_record(
        self, int64_t row, int64_t timestamp_delta, int64_t offset_delta
    ) except -1

    @cython.locals(length=int64_t)
    cdef int64_t _put_bytes(self, BytesColumn column, int64_t row) except -1

    @cython.locals(mask=uint64_t, raw=uint64_t)
    cdef void _put_number(self, int64_t value) noexcept


@cython.locals(size_bytes=int64_t)
cpdef int64_t varlong_size_bytes(int64_t value) noexcept nogil


cpdef int64_t sized_bytes(int64_t length) noexcept nogil


@cython.locals(row=int64_t, length=int64_t, hashed=uint64_t)
cpdef int64_t assign_partitions(
    BytesColumn keys, int64_t partition_count, int64_t unkeyed, int32_t[::1] target
) except -1


@cython.locals(
    mask=uint64_t, factor=uint64_t, hashed=uint64_t, position=int64_t, end=int64_t, word=uint64_t,
    shift=int64_t, byte=uint64_t,
)
cpdef uint64_t murmur2_of(
    const unsigned char[::1] data, int64_t start, int64_t length
) noexcept

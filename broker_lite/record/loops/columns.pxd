# Types for columns.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.locals(
    cursor=RecordCursor, status=int64_t, read=int64_t, records=int64_t, key_bytes=int64_t,
    value_bytes=int64_t, headers=int64_t, header_key_bytes=int64_t, header_value_bytes=int64_t,
    offset=int64_t, record_end=int64_t, header=int64_t, length=int64_t,
)
cpdef tuple measure_records(
    const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
    int64_t base_offset, int64_t first_offset, int64_t end_offset,
)


@cython.final
cdef class RecordColumns:
    cdef int64_t wanted
    cdef readonly int64_t records
    cdef readonly int64_t headers
    cdef readonly bint has_odd_keys
    cdef int64_t _key_end
    cdef int64_t _value_end
    cdef int64_t _header_key_end
    cdef int64_t _header_value_end
    cdef readonly int64_t[::1] offsets
    cdef readonly int64_t[::1] timestamps
    cdef readonly unsigned char[::1] key_bits
    cdef readonly int32_t[::1] key_ends
    cdef readonly unsigned char[::1] key_data
    cdef readonly unsigned char[::1] value_bits
    cdef readonly int32_t[::1] value_ends
    cdef readonly unsigned char[::1] value_data
    cdef readonly unsigned char[::1] header_list_bits
    cdef readonly int32_t[::1] header_list_ends
    cdef readonly int32_t[::1] header_key_ends
    cdef readonly unsigned char[::1] header_key_data
    cdef readonly unsigned char[::1] header_value_bits
    cdef readonly int32_t[::1] header_value_ends
    cdef readonly unsigned char[::1] header_value_data

    @cython.locals(
        cursor=RecordCursor, sign=uint64_t, mask=uint64_t, base=uint64_t, wrapped=uint64_t,
        read=int64_t, offset=int64_t, row=int64_t,
    )
    cpdef int64_t append(
        self, const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset, int64_t base_timestamp, int64_t append_timestamp,
        int64_t first_offset, int64_t end_offset,
    ) except -1

    @cython.locals(length=int64_t)
    cdef bint _append_key(
        self, const unsigned char[::1] buffer, RecordCursor cursor, int64_t row
    ) noexcept

    @cython.locals(length=int64_t)
    cdef bint _append_value(
        self, const unsigned char[::1] buffer, RecordCursor cursor, int64_t row
    ) noexcept

    @cython.locals(record_end=int64_t, left=int64_t, header=int64_t, length=int64_t, at=int64_t)
    cdef bint _append_headers(
        self, const unsigned char[::1] buffer, RecordCursor cursor, int64_t row
    ) noexcept


@cython.locals(index=int64_t)
cpdef bint copy_bytes(
    const unsigned char[::1] source, int64_t position, int64_t length,
    unsigned char[::1] target, int64_t at,
) noexcept nogil

# Types for canonical.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.locals(cursor=RecordCursor, canonical=bint)
cpdef bint are_canonical(
    const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
) except -1


@cython.locals(record=int64_t)
cdef bint _skip_records(RecordCursor cursor, int64_t count) noexcept nogil


@cython.locals(header=int64_t, header_count=int64_t)
cdef bint _skip_record(RecordCursor cursor) noexcept nogil


@cython.locals(length=int64_t, position=int64_t)
cdef bint _skip_bytes(RecordCursor cursor, bint ascii_only) noexcept nogil


@cython.locals(last=int64_t, size_bytes=int64_t)
cdef bint _has_shortest_varint(
    RecordCursor cursor, int64_t bytes_max, int64_t last_byte_max
) noexcept nogil

# Types for survivors.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t, uint64_t

from broker_lite.record.columns cimport copy_bytes
from broker_lite.record.encode_records cimport varlong_size_bytes
from broker_lite.record.key_map cimport KeyMap
from broker_lite.record.scan cimport RecordCursor


@cython.locals(
    cursor=RecordCursor, status=int64_t, last_offset=int64_t, read=int64_t, offset=int64_t,
)
cpdef tuple note_keys(
    KeyMap keys, int64_t count_max, const unsigned char[::1] buffer, int64_t start, int64_t end,
    int64_t count, int64_t base_offset, int64_t first_offset,
)


@cython.final
cdef class Judgement:
    cdef readonly unsigned char[::1] kept
    cdef readonly int64_t kept_count
    cdef readonly bint has_kept_null

    @cython.locals(
        cursor=RecordCursor, status=int64_t, read=int64_t, offset=int64_t, is_kept=bint,
        newest=int64_t,
    )
    cpdef int64_t by_key(
        self, KeyMap keys, int64_t latest_offset, bint drops_null,
        const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset,
    ) except -1

    @cython.locals(
        cursor=RecordCursor, status=int64_t, read=int64_t, bit=int64_t, is_kept=bint,
    )
    cpdef int64_t by_offset(
        self, const unsigned char[::1] bits, int64_t bits_offset, bint drops_null,
        const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset,
    ) except -1

    cdef void _note(self, int64_t record, bint is_kept, bint is_null) noexcept


@cython.final
cdef class RecordCopier:
    cdef unsigned char[::1] _target
    cdef readonly int64_t size_bytes
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp

    @cython.locals(
        cursor=RecordCursor, sign=uint64_t, mask=uint64_t, base=uint64_t, has_base=bint,
        last_delta=int64_t, record=int64_t, position=int64_t, length=int64_t,
        timestamp=int64_t, wrapped=uint64_t, delta=int64_t,
    )
    cpdef bint copy(
        self, const unsigned char[::1] kept, const unsigned char[::1] buffer, int64_t start,
        int64_t end, int64_t count, int64_t base_timestamp, int64_t append_timestamp,
        int64_t delete_horizon,
    ) except -1

    @cython.locals(length=int64_t)
    cdef bint _write(
        self, const unsigned char[::1] buffer, int64_t position, int64_t end,
        int64_t timestamp_delta, int64_t offset_delta,
    ) except -1

    @cython.locals(mask=uint64_t, raw=uint64_t)
    cdef bint _put_number(self, int64_t value) noexcept

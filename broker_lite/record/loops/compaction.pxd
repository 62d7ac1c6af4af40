# Types for compaction.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t

from broker_lite.record.loops.key_map cimport KeyMap
from broker_lite.record.loops.scan cimport RecordCursor


@cython.locals(cursor=RecordCursor, notes=KeyNotes, status=int64_t)
cpdef tuple note_keys(
    KeyMap keys, int64_t count_max, const unsigned char[::1] buffer, int64_t start, int64_t end,
    int64_t count, int64_t base_offset, int64_t first_offset,
)


@cython.final
cdef class KeyNotes:
    cdef readonly int64_t last_offset
    cdef readonly bint is_full

    @cython.locals(status=int64_t, read=int64_t, offset=int64_t)
    cdef int64_t walk(
        self, KeyMap keys, int64_t count_max, const unsigned char[::1] buffer,
        RecordCursor cursor, int64_t count, int64_t base_offset, int64_t first_offset,
    ) noexcept nogil


@cython.final
cdef class Judgement:
    cdef readonly unsigned char[::1] kept
    cdef readonly int64_t kept_count
    cdef readonly bint has_kept_null

    @cython.locals(cursor=RecordCursor, status=int64_t)
    cpdef int64_t by_key(
        self, KeyMap keys, int64_t latest_offset, bint drops_null,
        const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset,
    ) except -1

    @cython.locals(
        status=int64_t, read=int64_t, offset=int64_t, is_kept=bint, newest=int64_t,
    )
    cdef int64_t _walk_by_key(
        self, KeyMap keys, int64_t latest_offset, bint drops_null,
        const unsigned char[::1] buffer, RecordCursor cursor, int64_t count, int64_t base_offset,
    ) noexcept nogil

    @cython.locals(cursor=RecordCursor, status=int64_t)
    cpdef int64_t by_offset(
        self, const unsigned char[::1] bits, int64_t bits_offset, bint drops_null,
        const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
        int64_t base_offset,
    ) except -1

    @cython.locals(status=int64_t, read=int64_t, bit=int64_t, is_kept=bint)
    cdef int64_t _walk_by_offset(
        self, const unsigned char[::1] bits, int64_t bits_offset, bint drops_null,
        RecordCursor cursor, int64_t count, int64_t base_offset,
    ) noexcept nogil

    cdef void _note(self, int64_t record, bint is_kept, bint is_null) noexcept nogil

# Types for key_map.py. Every integer is 64 bits wide; what is a bit pattern has no sign.
cimport cython
from libc.stdint cimport int64_t, uint64_t


@cython.final
cdef class KeyMap:
    cdef uint64_t[::1] _table
    cdef uint64_t _v0
    cdef uint64_t _v1
    cdef uint64_t _v2
    cdef uint64_t _v3
    cdef readonly uint64_t _low
    cdef readonly uint64_t _high
    cdef readonly int64_t slots
    cdef readonly int64_t count

    cpdef bint put(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length, int64_t offset
    ) except -1

    cpdef bint note(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length, int64_t offset
    ) noexcept nogil

    cpdef bint is_within(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length
    ) noexcept nogil

    @cython.locals(is_copied=bint)
    cpdef bint copy_to(self, KeyMap other) except -1

    @cython.locals(entry=int64_t, end=int64_t, offset=int64_t)
    cdef bint _copy_to(self, KeyMap other) noexcept nogil

    @cython.locals(entry=int64_t)
    cdef bint _put(self, int64_t offset) noexcept nogil

    cpdef int64_t get(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length
    ) except -2

    @cython.locals(offset=int64_t)
    cpdef int64_t look_up(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length
    ) noexcept nogil

    @cython.locals(slot=int64_t, entry=int64_t, last=int64_t)
    cdef int64_t _find(self) noexcept nogil

    @cython.locals(
        mask=uint64_t, v0=uint64_t, v1=uint64_t, v2=uint64_t, v3=uint64_t, words=int64_t,
        step=int64_t, message=uint64_t, rounds=int64_t, shift=int64_t, left=int64_t, byte=uint64_t,
    )
    cdef bint _hash(
        self, const unsigned char[::1] buffer, int64_t position, int64_t length
    ) noexcept nogil

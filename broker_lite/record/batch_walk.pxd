# Types for batch_walk.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class IndexCursor:
    cdef const int32_t[::1] numbers
    cdef int64_t count
    cdef int64_t width
    cdef int64_t step
    cdef int64_t at
    cdef readonly bint is_there
    cdef readonly int64_t key
    cdef readonly int64_t value
    cdef readonly bint is_below
    cdef readonly bint behind_is_there
    cdef readonly int64_t behind_key
    cdef readonly int64_t behind_value

    cpdef void advance(self) noexcept

    @cython.locals(at=int64_t, key=int64_t, value=int64_t, above=int64_t)
    cdef void read_behind(self) noexcept


@cython.final
cdef class ProducerTrail:
    cdef public object file
    cdef public int64_t position
    cdef public int64_t last_offset
    cdef public int64_t epoch
    cdef public int64_t first_sequence
    cdef public int64_t last_sequence
    cdef public int64_t timestamp_ms


@cython.final
cdef class BatchWalk:
    cdef readonly int64_t size_bytes_max
    cdef readonly int64_t cleaned_end
    cdef readonly dict trails
    cdef public bint is_open
    cdef public object file
    cdef public int64_t file_offset
    cdef public IndexCursor offsets
    cdef public IndexCursor times
    cdef public int64_t next_offset
    cdef public int64_t judged_from
    cdef public int64_t pending
    cdef public int64_t pending_position
    cdef public int64_t max_timestamp
    cdef public int64_t stop_offset
    cdef readonly int64_t position
    cdef public int64_t end
    cdef public int64_t batches
    cdef public int64_t records
    cdef int64_t length
    cdef int64_t magic
    cdef int64_t attributes
    cdef int64_t base_offset
    cdef int64_t last_delta
    cdef int64_t own_timestamp
    cdef int64_t producer_id
    cdef int64_t epoch
    cdef int64_t sequence
    cdef int64_t count

    cpdef int forget_indexes(self) except -1

    @cython.locals(size_bytes=int64_t, end=int64_t, crc=int64_t)
    cpdef int64_t pass_sound(self, object buffer, int64_t at, int64_t start) except -1

    @cython.locals(highest=int64_t)
    cdef bint has_next_offsets(self) noexcept

    @cython.locals(next_offset=int64_t)
    cdef bint is_followed(self, object buffer, int64_t end) except -1

    cdef bint has_sequence(self) noexcept

    @cython.locals(trail=ProducerTrail)
    cdef bint is_in_sequence(self) except -1

    @cython.locals(last=int64_t, offsets=IndexCursor, times=IndexCursor)
    cdef bint is_rightly_indexed(self, int64_t position, int64_t end) noexcept

    @cython.locals(last_offset=int64_t, last=int64_t, trail=ProducerTrail)
    cdef int take(self, int64_t position) except -1

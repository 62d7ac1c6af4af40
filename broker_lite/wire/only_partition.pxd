# Types for only_partition.py. Every integer is 64 bits wide, as in Python no shift overflows.
cimport cython
from libc.stdint cimport int64_t


@cython.locals(
    size=int64_t, acks=int64_t, timeout_ms=int64_t, topics=int64_t, index_end=int64_t, index=int64_t,
    length=int64_t, shift=int64_t, byte=int64_t, end=int64_t, sign=int64_t,
)
cpdef tuple find_only_partition(const unsigned char[::1] frame, int64_t position, bint by_id)

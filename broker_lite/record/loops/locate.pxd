# Types for locate.py; every integer is 64 bits wide, as in scan.pxd.
cimport cython
from libc.stdint cimport int64_t

from broker_lite.record.loops.scan cimport RecordCursor


@cython.locals(
    cursor=RecordCursor, status=int64_t, read=int64_t, key_start=int64_t, key_end=int64_t,
    value_start=int64_t, value_end=int64_t,
)
cpdef tuple locate_keys_and_values(
    const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
)

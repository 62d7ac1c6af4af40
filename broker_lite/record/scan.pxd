# Types for scan.py. Every integer is 64 bits wide: a narrower one would change what << and ^ mean.
cimport cython
from libc.stdint cimport int64_t, uint64_t

@cython.locals(raw=int64_t, shift=int64_t, byte=int64_t)
cpdef (int64_t, int64_t) read_varint(const unsigned char[::1] buffer, int64_t position, int64_t end) noexcept

@cython.locals(raw=uint64_t, shift=int64_t, byte=uint64_t, value=int64_t)
cpdef (int64_t, int64_t) read_varlong(const unsigned char[::1] buffer, int64_t position, int64_t end) noexcept

@cython.locals(
    status=int64_t, length=int64_t, attributes=int64_t, timestamp_delta=int64_t,
    offset_delta=int64_t, key_position=int64_t, key_length=int64_t, value_position=int64_t,
    value_length=int64_t, headers_position=int64_t, header_count=int64_t, header=int64_t,
    size=int64_t,
)
cpdef (
    int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
    int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
) read_record(const unsigned char[::1] buffer, int64_t position, int64_t end, bint full_reader) noexcept

@cython.locals(
    sign=uint64_t, mask=uint64_t, base=uint64_t, wrapped=uint64_t, max_timestamp=int64_t,
    min_timestamp=int64_t, null_keys=int64_t, sequential=bint, records_read=int64_t,
    status=int64_t, position=int64_t, timestamp_delta=int64_t, timestamp=int64_t,
    record=(
        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
    ),
)
cpdef tuple scan_records(
    const unsigned char[::1] buffer, int64_t start, int64_t end, int64_t count,
    int64_t base_timestamp, bint full_reader,
)

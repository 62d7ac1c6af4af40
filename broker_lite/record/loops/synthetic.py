"""Synthetic records: the seed and the number of a record determine it, wherever it is made.

Cython compiles this module with the types of synthetic.pxd; without a compiler it is plain Python.
Columns have Arrow's layout, and each call fills them anew.

Varying values are drawn from a table of quantiles: 1025 rising numbers. Each of the 1024 gaps
between two neighbours is equally likely, and so is each value within a gap. A constant is a table
of equal numbers.
"""

from broker_lite.record.loops.columns import copy_bytes


class SyntheticRecords:
    """Makes records, as many at a time as the caller asks for.

    Args:
        seed: 64 bits without a sign.
        keys: quantiles of the numbers of keys, from which a record's key is drawn.
        key_sizes: quantiles of the sizes of keys.
        null_keys: how many records of 2**32 have no key.
        value_sizes: quantiles of the sizes of values.
        null_values: how many records of 2**32 have no value.
        pool: the bytes that fill keys and values after their number; not empty.
        start_timestamp: of record 0, in ms.
        interval_us: from one record to the next.
        jitter_ms: how much earlier than that a timestamp may be.

    Attributes:
        timestamps: 64 bits each, in ms since the epoch.
        key_bits, key_ends, key_data: nullable bytes; value_bits, value_ends, value_data likewise.
            The data may have bytes behind the last end.

    Raises:
        ValueError: a table has another size, or the pool is empty.
    """

    def __init__(
        self,
        seed: int,
        keys: memoryview,
        key_sizes: memoryview,
        null_keys: int,
        value_sizes: memoryview,
        null_values: int,
        pool: memoryview,
        start_timestamp: int,
        interval_us: int,
        jitter_ms: int,
    ) -> None:
        if len(keys) != 1025 or len(key_sizes) != 1025 or len(value_sizes) != 1025:
            raise ValueError("a table of quantiles has 1025 numbers")
        if len(pool) == 0:
            raise ValueError("there must be bytes to cut from")
        self.seed = seed
        self.keys = keys
        self.key_sizes = key_sizes
        self.null_keys = null_keys
        self.value_sizes = value_sizes
        self.null_values = null_values
        self.pool = pool
        self.start_timestamp = start_timestamp
        self.interval_us = interval_us
        self.jitter_ms = jitter_ms
        self.timestamps = memoryview(bytearray()).cast("q")
        self.key_bits = memoryview(bytearray())
        self.key_ends = memoryview(bytearray()).cast("i")
        self.key_data = memoryview(bytearray())
        self.value_bits = memoryview(bytearray())
        self.value_ends = memoryview(bytearray()).cast("i")
        self.value_data = memoryview(bytearray())

    def fill(self, first: int, count: int) -> None:
        """Make the records from number `first` on; earlier views of the columns become invalid.

        Raises:
            OverflowError: the records are larger than 2 GB together.
        """
        if len(self.timestamps) != count:
            self.timestamps = memoryview(bytearray(8 * count)).cast("q")
            self.key_bits = memoryview(bytearray((count + 7) // 8))
            self.value_bits = memoryview(bytearray((count + 7) // 8))
            self.key_ends = memoryview(bytearray(4 * count + 4)).cast("i")
            self.value_ends = memoryview(bytearray(4 * count + 4)).cast("i")
        self._measure(first, count)
        if self.key_ends[count] > len(self.key_data):
            self.key_data = memoryview(bytearray(self.key_ends[count]))
        if self.value_ends[count] > len(self.value_data):
            self.value_data = memoryview(bytearray(self.value_ends[count]))
        row = 0
        while row < count:
            key = self._key_of(first + row)
            at = self.key_ends[row]
            self._write(key, self._random(key, 3), self.key_data, at, self.key_ends[row + 1])
            at = self.value_ends[row]
            drawn = self._random(first + row, 4)
            self._write(first + row, drawn, self.value_data, at, self.value_ends[row + 1])
            row += 1

    def _measure(self, first: int, count: int) -> None:
        """Set timestamps, validity and ends."""
        row = 0
        key_end = 0
        value_end = 0
        low_bits = 0xFFFFFFFF
        while row < count:
            number = first + row
            self.timestamps[row] = self._timestamp_of(number)
            bit = 1 << (row & 7)
            if row & 7 == 0:
                self.key_bits[row >> 3] = 0
                self.value_bits[row >> 3] = 0
            key = self._key_of(number)
            if (self._random(number, 1) & low_bits) >= self.null_keys:
                self.key_bits[row >> 3] |= bit
                key_end += drawn_from(self.key_sizes, self._random(key, 2))
            if (self._random(number, 5) & low_bits) >= self.null_values:
                self.value_bits[row >> 3] |= bit
                value_end += drawn_from(self.value_sizes, self._random(number, 6))
            if key_end > 0x7FFFFFFF or value_end > 0x7FFFFFFF:
                raise OverflowError("the records of a batch are larger than 2 GB")
            row += 1
            self.key_ends[row] = key_end
            self.value_ends[row] = value_end

    def _key_of(self, number: int) -> int:
        """Return the number of the key that a record has."""
        return drawn_from(self.keys, self._random(number, 0))

    def _timestamp_of(self, number: int) -> int:
        timestamp = self.start_timestamp + number * self.interval_us // 1000
        if self.jitter_ms > 0:
            earlier = (self._random(number, 7) >> 32) * (self.jitter_ms + 1)
            timestamp -= earlier >> 32
        return timestamp

    def _random(self, number: int, purpose: int) -> int:
        """Return 64 random bits for one of up to 8 purposes of a number."""
        return mixed(self.seed ^ mixed(number * 8 + purpose))

    def _write(self, number: int, drawn: int, data: memoryview, at: int, end: int) -> None:
        """Write a number, lowest hexadecimal digit first, then the pool from a random place on."""
        digits = 0
        while at < end and digits < 16:
            digit = (number >> (4 * digits)) & 15
            data[at] = 48 + digit if digit < 10 else 87 + digit
            digits += 1
            at += 1
        pool_bytes = len(self.pool)
        position = (drawn >> 1) % pool_bytes
        while at < end:
            length = end - at
            if length > pool_bytes - position:
                length = pool_bytes - position
            copy_bytes(self.pool, position, length, data, at)
            at += length
            position = 0


def drawn_from(table: memoryview, drawn: int) -> int:
    """Return the table's number for 64 random bits; neighbours must differ by less than 2**31."""
    step = drawn >> 54
    low = table[step]
    within = drawn >> 22 & 0xFFFFFFFF
    span = table[step + 1] - low
    return low + ((span * within) >> 32)


def mixed(value: int) -> int:
    """Return 64 random-looking bits, different for each value (the last step of splitmix64)."""
    # The constants are named, because Cython takes a literal above 63 bits for an object.
    mask = 0xFFFFFFFFFFFFFFFF
    increment = 0x9E3779B97F4A7C15
    factor = 0xBF58476D1CE4E5B9
    last_factor = 0x94D049BB133111EB
    raw = (value + increment) & mask
    raw = ((raw ^ (raw >> 30)) * factor) & mask
    raw = ((raw ^ (raw >> 27)) * last_factor) & mask
    return raw ^ (raw >> 31)

"""A map from keys to offsets in memory of a fixed size, for the dirty records of a compaction.

Cython compiles this module with the types of key_map.pxd; without a compiler it is plain Python.
A key is stored as its SipHash-2-4 of 128 bits; with the offset an entry has 24 bytes. Kafka stores
MD5; the kind of hash matters only if two keys have the same hash. This hash has a secret, so that a
client cannot choose keys that replace each other.

Source: Aumasson and Bernstein, SipHash; SkimpyOffsetMap for the layout.
"""

try:
    import cython
except ImportError:
    from broker_lite.record.loops import lending as cython


class KeyMap:
    """Offsets by key, with open addressing; at least one slot stays empty.

    Args:
        table: zeros, three unsigned 64-bit numbers per slot: both halves of the hash, offset + 1.
        seed_low: lower half of the secret, 64 bits.
        seed_high: upper half of the secret, 64 bits.

    Attributes:
        slots: the number of slots.
        count: how many are used.

    Raises:
        ValueError: there is no room for a single key.

    See: S-82 (SkimpyOffsetMap).
    """

    def __init__(self, table: memoryview, seed_low: int, seed_high: int) -> None:
        if len(table) < 6:
            raise ValueError("a table of two slots at least is needed")
        self._table = table
        self._v0 = seed_low ^ 0x736F6D6570736575
        self._v1 = seed_high ^ 0x646F72616E646F6D ^ 0xEE
        self._v2 = seed_low ^ 0x6C7967656E657261
        self._v3 = seed_high ^ 0x7465646279746573
        self._low = 0
        self._high = 0
        self.slots = len(table) // 3
        self.count = 0

    def put(self, buffer: memoryview, position: int, length: int, offset: int) -> bool:
        """Set the offset of a key, 0 or more; it replaces an earlier one.

        Args:
            buffer: holds the key; format B and contiguous; read only.
            position: of the key.
            length: of the key.
            offset: at most 2**63 - 2.

        Raises:
            ValueError: the key is not in the buffer, or the map is full.
        """
        if not self.is_within(buffer, position, length):
            raise ValueError("the key is not in the buffer")
        if not self.note(buffer, position, length, offset):
            raise ValueError("the map is full")
        return True

    def note(self, buffer: memoryview, position: int, length: int, offset: int) -> bool:
        """Do the same as put() for a key that is in the buffer; False if the map is full."""
        self._hash(buffer, position, length)
        return self._put(offset)

    def is_within(self, buffer: memoryview, position: int, length: int) -> bool:
        """True if a key is in the buffer."""
        return position >= 0 and length >= 0 and length <= len(buffer) - position

    def copy_to(self, other: "KeyMap") -> bool:
        """Put all keys with their offsets into another map, which has the same seeds.

        Raises:
            ValueError: the other map is full.
        """
        with cython.nogil:
            is_copied = self._copy_to(other)
        if not is_copied:
            raise ValueError("the map is full")
        return True

    def _copy_to(self, other: "KeyMap") -> bool:
        entry = 0
        end = self.slots * 3
        while entry < end:
            offset = self._table[entry + 2]
            if offset != 0:
                other._low = self._table[entry]
                other._high = self._table[entry + 1]
                if not other._put(offset - 1):
                    return False
            entry += 3
        return True

    def _put(self, offset: int) -> bool:
        """Set the offset of the key that was hashed last; False if there is no room for it."""
        entry = self._find()
        if self._table[entry + 2] == 0:
            if self.count + 1 >= self.slots:
                return False
            self._table[entry] = self._low
            self._table[entry + 1] = self._high
            self.count += 1
        self._table[entry + 2] = offset + 1
        return True

    def get(self, buffer: memoryview, position: int, length: int) -> int:
        """Return the offset of a key, -1 if the key is not in the map.

        Raises:
            ValueError: the key is not in the buffer.
        """
        if not self.is_within(buffer, position, length):
            raise ValueError("the key is not in the buffer")
        return self.look_up(buffer, position, length)

    def look_up(self, buffer: memoryview, position: int, length: int) -> int:
        """Do the same as get() for a key that is in the buffer."""
        self._hash(buffer, position, length)
        offset = self._table[self._find() + 2]
        return offset - 1

    def _find(self) -> int:
        """Return where the entry of the hash is, or the empty slot that it would take."""
        slot = self._low % self.slots
        entry = slot * 3
        last = self.slots * 3
        while self._table[entry + 2] != 0:
            if self._table[entry] == self._low and self._table[entry + 1] == self._high:
                break
            entry += 3
            if entry == last:
                entry = 0
        return entry

    def _hash(self, buffer: memoryview, position: int, length: int) -> bool:
        """Hash a key: a step per word of eight bytes, one for the rest, then two without bytes."""
        mask = 0xFFFFFFFFFFFFFFFF
        v0 = self._v0
        v1 = self._v1
        v2 = self._v2
        v3 = self._v3
        words = length >> 3
        step = 0
        while step < words + 3:
            message = 0
            rounds = 2
            if step <= words:
                shift = 0
                left = 64 if step < words else (length & 7) << 3
                while shift < left:
                    byte = buffer[position]
                    message |= byte << shift
                    position += 1
                    shift += 8
                if step == words:
                    message |= (length & 0xFF) << 56
            elif step == words + 1:
                v2 ^= 0xEE
                rounds = 4
            else:
                self._low = v0 ^ v1 ^ v2 ^ v3
                v1 ^= 0xDD
                rounds = 4
            v3 ^= message
            while rounds > 0:
                v0 = (v0 + v1) & mask
                v1 = ((v1 << 13) | (v1 >> 51)) & mask
                v1 ^= v0
                v0 = ((v0 << 32) | (v0 >> 32)) & mask
                v2 = (v2 + v3) & mask
                v3 = ((v3 << 16) | (v3 >> 48)) & mask
                v3 ^= v2
                v0 = (v0 + v3) & mask
                v3 = ((v3 << 21) | (v3 >> 43)) & mask
                v3 ^= v0
                v2 = (v2 + v1) & mask
                v1 = ((v1 << 17) | (v1 >> 47)) & mask
                v1 ^= v2
                v2 = ((v2 << 32) | (v2 >> 32)) & mask
                rounds -= 1
            v0 ^= message
            step += 1
        self._high = v0 ^ v1 ^ v2 ^ v3
        return True

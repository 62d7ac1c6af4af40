"""S-82 on both forms of the key map: what a dictionary holds, and the hash of its authors."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SEED_LOW = int.from_bytes(bytes(range(8)), "little")
SEED_HIGH = int.from_bytes(bytes(range(8, 16)), "little")


def table(slots: int) -> memoryview:
    return memoryview(bytearray(24 * slots)).cast("Q")


def map_of(module: ModuleType, slots: int) -> Any:
    return module.KeyMap(table(slots), SEED_LOW, SEED_HIGH)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
    ],
)
def test_the_hash_is_siphash_of_128_bits(key_map: ModuleType, length: int, expected: str) -> None:
    """The vectors of SipHash's authors: the key 00 to 0f, the message 00, 01 and so on."""
    slots = table(2)
    found = key_map.KeyMap(slots, SEED_LOW, SEED_HIGH)
    found.put(memoryview(bytes(range(length))), 0, length, 7)
    entry = 0 if slots[2] else 3
    hashed = slots[entry].to_bytes(8, "little") + slots[entry + 1].to_bytes(8, "little")
    assert (hashed.hex(), slots[entry + 2]) == (expected, 8)


@given(
    st.lists(st.tuples(st.binary(max_size=3) | st.binary(max_size=40), st.integers(0, 2**63 - 2)))
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_newest_offset_of_each_key_s82(
    key_map: ModuleType, puts: list[tuple[bytes, int]]
) -> None:
    found = map_of(key_map, len(puts) + 2)
    expected = {}
    for key, offset in puts:
        found.put(memoryview(b"xx" + key + b"y"), 2, len(key), offset)
        expected[key] = offset
    assert found.count == len(expected)
    for key, offset in expected.items():
        assert found.get(memoryview(key), 0, len(key)) == offset
    absent = b"a key that nobody put here, and that is long enough to be unlike all others"
    assert found.get(memoryview(absent), 0, len(absent)) == -1


def test_a_map_has_an_end_s82(key_map: ModuleType) -> None:
    found = map_of(key_map, 4)
    for number in range(3):
        found.put(memoryview(b"%d" % number), 0, 1, number)
    assert (found.slots, found.count) == (4, 3)
    with pytest.raises(ValueError, match="full"):
        found.put(memoryview(b"3"), 0, 1, 3)
    found.put(memoryview(b"2"), 0, 1, 5)  # one that is there has its place
    assert found.get(memoryview(b"2"), 0, 1) == 5
    assert found.get(memoryview(b"3"), 0, 1) == -1
    with pytest.raises(ValueError, match="two slots"):
        map_of(key_map, 1)


@pytest.mark.parametrize(("position", "length"), [(-1, 1), (0, -1), (0, 4), (3, 1), (4, 0)])
def test_a_key_lies_in_its_buffer(key_map: ModuleType, position: int, length: int) -> None:
    found = map_of(key_map, 4)
    with pytest.raises(ValueError, match="not in the buffer"):
        found.get(memoryview(b"abc"), position, length)
    with pytest.raises(ValueError, match="not in the buffer"):
        found.put(memoryview(b"abc"), position, length, 1)


def test_keys_move_to_a_larger_map(key_map: ModuleType) -> None:
    small, large = map_of(key_map, 20), map_of(key_map, 100)
    for number in range(15):
        small.put(memoryview(b"key %d" % number), 0, len(b"key %d" % number), number)
    small.copy_to(large)
    assert large.count == 15
    for number in range(15):
        assert large.get(memoryview(b"key %d" % number), 0, len(b"key %d" % number)) == number
    with pytest.raises(ValueError, match="full"):
        large.copy_to(map_of(key_map, 10))


def test_a_search_goes_on_at_the_front(key_map: ModuleType) -> None:
    """All slots but one are taken, so some key has to be looked for beyond the last slot."""
    found = map_of(key_map, 17)
    for number in range(16):
        found.put(memoryview(b"key %d" % number), 0, len(b"key %d" % number), number)
    for number in range(16):
        assert found.get(memoryview(b"key %d" % number), 0, len(b"key %d" % number)) == number

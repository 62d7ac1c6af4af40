"""A set of offsets in bits is the set that it was made of."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, BUCKET_SHIFT, OffsetSet

OFFSETS = st.integers(0, 3 * BUCKET_OFFSETS)


def packed(offsets: set[int]) -> OffsetSet:
    buckets: dict[int, bytearray] = {}
    for offset in offsets:
        bits = buckets.setdefault(offset >> BUCKET_SHIFT, bytearray(BUCKET_OFFSETS // 8))
        bits[offset % BUCKET_OFFSETS // 8] |= 1 << offset % 8
    return OffsetSet({bucket: bytes(bits) for bucket, bits in buckets.items()})


@given(st.sets(OFFSETS, max_size=20), st.sets(OFFSETS, max_size=20))
@settings(max_examples=50)
def test_what_is_in_it(inside: set[int], others: set[int]) -> None:
    found = packed(inside)
    assert {offset for offset in inside | others if offset in found} == inside


@given(st.sets(OFFSETS, max_size=10), OFFSETS, st.integers(0, 2 * BUCKET_OFFSETS))
@settings(max_examples=200)
def test_whether_a_range_has_any(inside: set[int], first: int, count: int) -> None:
    expected = any(first <= offset <= first + count for offset in inside)
    assert packed(inside).has_any(first, first + count) == expected


def test_bits_of_a_range() -> None:
    found = packed({BUCKET_OFFSETS - 1, 2 * BUCKET_OFFSETS})
    bits, first = found.bits(BUCKET_OFFSETS - 2, BUCKET_OFFSETS + 1)
    assert (first, len(bits)) == (0, 2 * BUCKET_OFFSETS // 8)
    assert int.from_bytes(bits, "little") == 1 << BUCKET_OFFSETS - 1


def test_the_edges_of_a_range() -> None:
    found = packed({BUCKET_OFFSETS - 1})
    assert found.has_any(BUCKET_OFFSETS - 1, BUCKET_OFFSETS - 1)
    assert not found.has_any(0, BUCKET_OFFSETS - 2)
    assert not found.has_any(BUCKET_OFFSETS, 2 * BUCKET_OFFSETS)

"""Records, and edits of single bytes, for tests that generate them."""

from hypothesis import strategies as st

_OPTIONAL_BYTES = st.none() | st.binary(max_size=40) | st.just(b"x" * 70)
_SPECIAL_BYTES = st.sampled_from([0, 1, 2, 3, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF])

RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70),
        st.integers(-(2**31), 2**31 - 1) | st.integers(0, 3),
        _OPTIONAL_BYTES,
        _OPTIONAL_BYTES,
        st.lists(st.tuples(st.binary(max_size=5), _OPTIONAL_BYTES), max_size=3),
    ),
    min_size=1,
    max_size=3,
)
"""Arguments of encode_record()."""

EDITS = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255) | _SPECIAL_BYTES), max_size=2)
"""Positions, modulo the size, and new bytes."""

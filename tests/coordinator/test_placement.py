"""Where an id belongs, with values of Java's String.hashCode."""

from struct import iter_unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.coordinator.placement import java_string_hash, partition_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("my-group", -1906497762),
        ("polygenelubricants", -(2**31)),
        ("\U0001f600", 1772899),
        ("é", 233),
    ],
)
def test_java_string_hash_g07_p73(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@given(st.text(st.characters(), max_size=20), st.sampled_from([1, 13, 50]))
def test_java_string_hash_of_any_text_g07_p73(text: str, times: int) -> None:
    """As in the definition: each character is added to 31 times what was before."""
    text *= times
    expected = 0
    data = text.encode("utf-16-le", "surrogatepass")
    for (character,) in iter_unpack("<H", data):
        expected = (31 * expected + character) % 2**32
    assert java_string_hash(text) % 2**32 == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("a", 47), ("polygenelubricants", 0), ("hello", 22), ("", 0)]
)
def test_partition_g07_p73(text: str, expected: int) -> None:
    assert partition_of(text, 50) == expected


def test_partition_of_a_negative_hash_g07() -> None:
    assert partition_of("my-group", 50) == 1906497762 % 50

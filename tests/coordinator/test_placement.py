"""Where an id belongs, with values of Java's String.hashCode."""

import pytest

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


@pytest.mark.parametrize(
    ("text", "expected"), [("a", 47), ("polygenelubricants", 0), ("hello", 22), ("", 0)]
)
def test_partition_g07_p73(text: str, expected: int) -> None:
    assert partition_of(text, 50) == expected


def test_partition_of_a_negative_hash_g07() -> None:
    assert partition_of("my-group", 50) == 1906497762 % 50

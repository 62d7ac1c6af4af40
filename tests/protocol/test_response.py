"""Framing of responses: P-01, P-42, P-43."""

from typing import NamedTuple

import pytest

from broker_lite.protocol.response import frame, has_flexible_header


class Range(NamedTuple):
    size_bytes: int


@pytest.mark.parametrize(
    ("key", "flexible", "expected"),
    [(3, True, True), (3, False, False), (18, True, False), (18, False, False)],
    ids=["P-42 v1", "P-42 v0", "P-43 flexible", "P-43 old"],
)
def test_header_version(key: int, flexible: bool, expected: bool) -> None:
    assert has_flexible_header(key, flexible) is expected


def test_p_42_one_part_is_joined_to_its_head() -> None:
    assert frame(-2, False, [b"body"]) == [b"\0\0\0\x08\xff\xff\xff\xfebody"]
    assert frame(7, True, [b"body"]) == [b"\0\0\0\x09\0\0\0\7\0body"]


def test_p_01_the_size_counts_parts_that_are_not_in_memory() -> None:
    parts = frame(7, False, [b"ab", Range(1000), b"c"])
    assert parts == [b"\0\0\x03\xef\0\0\0\7ab", Range(1000), b"c"]


def test_a_first_part_that_is_not_in_memory_keeps_its_place() -> None:
    assert frame(7, False, [Range(4)]) == [b"\0\0\0\x08\0\0\0\7", Range(4)]


def test_a_large_part_is_not_copied() -> None:
    large = bytes(1 << 20)
    parts = frame(7, False, [large])
    assert parts[1] is large


def test_an_empty_body() -> None:
    assert frame(7, True, []) == [b"\0\0\0\x05\0\0\0\7\0"]

"""Values as people read them."""

import pytest

from broker_lite.explain.values import Shown, attributes_text, codec_name, moment, shown_bytes


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", Shown("", "text", 0)),
        (b"abcd", Shown("abcd", "text", 0)),
        (b"a\tb\n", Shown("a\tb\n", "text", 0)),
        (b"\xff\x00", Shown("ff00", "hex", 0)),
        (b"a\x1b", Shown("611b", "hex", 0)),
        (b"abcdefgh", Shown("abcdef", "text", 2)),
        ("abcde\N{EURO SIGN}".encode(), Shown("abcde", "text", 3)),
        (b"abcd\xff\xff\xff\xff", Shown("abcd", "text", 4)),
        (b"\xff" * 8, Shown("ff" * 6, "hex", 2)),
    ],
)
def test_bytes_are_text_or_hex(data: bytes, shown: Shown) -> None:
    assert shown_bytes(memoryview(data), 6) == shown


def test_nothing_is_shown_with_a_limit_of_0() -> None:
    assert shown_bytes(memoryview(b"ab"), 0) == Shown("", "hex", 2)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (1_700_000_000_000, "2023-11-14T22:13:20.000Z"),
        (-1, "none"),
        (-2, "1969-12-31T23:59:59.998Z"),
        (2**63 - 1, ""),
        (-(2**63), ""),
    ],
)
def test_moments(milliseconds: int, text: str) -> None:
    assert moment(milliseconds) == text


def test_codecs_and_flags() -> None:
    assert codec_name(4) == "zstd"
    assert codec_name(6) == "no codec 6"
    assert attributes_text(0x7A) == (
        "snappy, LogAppendTime, transactional, control, delete horizon"
    )
    assert attributes_text(0x80) == "none, CreateTime, unused bits"

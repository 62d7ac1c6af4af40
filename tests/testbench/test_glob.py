"""Patterns with * and ?."""

import fnmatch
import random

import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.glob import PATTERN_CHARACTERS_MAX, glob


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("orders", ["orders"], ["order", "orders1", ""]),
        ("*", ["", "a", "a\nb"], []),
        ("orders*", ["orders", "orders-1"], ["order", "my-orders"]),
        ("*orders", ["orders", "my-orders"], ["orders-1"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("a?c", ["abc", "a\nc", "a.c"], ["ac", "abbc", "xabc"]),
        ("?", ["a"], ["", "ab"]),
        ("*b?d*", ["abcd", "bbcd", "bxdbyd"], ["abd"]),
        ("a.c*", ["a.c", "a.cd"], ["abc"]),
        ("**x**", ["x", "axb"], ["a"]),
    ],
)
def test_what_a_pattern_means(pattern: str, good: list[str], bad: list[str]) -> None:
    test = glob(pattern)
    assert [text for text in (*good, *bad) if test(text)] == good


def test_it_is_what_a_shell_means() -> None:
    source = random.Random(5)
    for _ in range(20_000):
        pattern = "".join(source.choices("ab*?", k=source.randint(0, 8)))
        text = "".join(source.choices("ab", k=source.randint(0, 8)))
        wanted = fnmatch.fnmatchcase(text, pattern)
        assert glob(pattern)(text) == wanted, (pattern, text)


def test_nothing_but_a_text_is_meant() -> None:
    assert not any(glob("*")(value) for value in (None, 7, b"a"))


def test_a_pattern_has_a_bound_but_a_name_has_none() -> None:
    assert glob("a" * 40_000)("a" * 40_000)
    assert glob("a" * (PATTERN_CHARACTERS_MAX - 1) + "*")("a" * PATTERN_CHARACTERS_MAX)
    with pytest.raises(ControlError, match="it has more than 1000 characters"):
        glob("?" * (PATTERN_CHARACTERS_MAX + 1))


def test_no_place_is_tried_twice() -> None:
    """With an ordinary regular expression this takes minutes."""
    assert not glob("*a" * 400 + "b")("a" * 249)
    assert not glob("*?a" * 300 + "b")("a" * 32_000)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.settings.sources.java_properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a \t = \f b", {"a": "b"}),
        ("a==b", {"a": "=b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("# a=b\n! a=b\n\n  # c", {}),
        ("  a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\n# c", {"a": "b# c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("\\", {}),
        (r"a\ b\:\=c=d", {"a b:=c": "d"}),
        (r"a=\t\n\r\f\\\q\u0041", {"a": "\t\n\r\f\\qA"}),
        ("a=1\na=2", {"a": "2"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
    ],
)
def test_syntax(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@settings(max_examples=200)
@given(st.text(alphabet="ab=: \\\n\r\t#!u0", max_size=30))
def test_any_text_is_read(text: str) -> None:
    assert all(isinstance(key, str) for key in parse_properties(text))

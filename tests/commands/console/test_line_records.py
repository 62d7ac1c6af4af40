"""What a line says is what Kafka's LineMessageReader makes of it."""

import pytest

from broker_lite.commands.console.line_records import LineParser
from broker_lite.errors import SettingsError

BOTH = {"parse.key": "true", "parse.headers": "TRUE"}


@pytest.mark.parametrize(
    ("properties", "line", "record"),
    [
        ({}, b"a\tb", (None, b"a\tb", ())),
        ({}, b"", (None, b"", ())),
        ({}, b"\xff\xc3\xa4", (None, "\ufffdä".encode(), ())),
        ({"null.marker": "-"}, b"-", (None, None, ())),
        ({"parse.key": "true"}, b"k\tv\tw", (b"k", b"v\tw", ())),
        ({"parse.key": "true", "key.separator": "::"}, b"k::v", (b"k", b"v", ())),
        ({"parse.key": "true", "ignore.error": "true"}, b"v", (None, b"v", ())),
        ({"parse.key": "true", "null.marker": "NULL"}, b"NULL\tNULL", (None, None, ())),
        (BOTH, b"h:1,i:\tk\tv", (b"k", b"v", ((b"h", b"1"), (b"i", b"")))),
        (BOTH, b"h:1,,\tk\t", None),
        (BOTH, b"h:1,\tk\t", (b"k", b"", ((b"h", b"1"),))),
        ({**BOTH, "null.marker": "-"}, b"h:-\t-\tv", (None, b"v", ((b"h", None),))),
        ({**BOTH, "null.marker": "-"}, b"-\tk\tv", (b"k", b"v", ())),
        ({**BOTH, "ignore.error": "true"}, b"x\tk\tv", (b"k", b"v", ((b"x", None),))),
        (
            {"parse.headers": "true", "headers.delimiter": "|", "headers.separator": ";"},
            b"a:1;b:2|v",
            (None, b"v", ((b"a", b"1"), (b"b", b"2"))),
        ),
    ],
)
def test_lines(properties: dict[str, str], line: bytes, record: tuple[object, ...] | None) -> None:
    parsed = LineParser(properties).parse(line, 1)
    assert parsed == (record or (b"k", b"", ((b"h", b"1"),)))


@pytest.mark.parametrize(
    ("properties", "line", "text"),
    [
        ({"parse.key": "true"}, b"abc", "No key separator found on line number 3: 'abc'"),
        (BOTH, b"abc", "No headers delimiter found on line number 3: 'abc'"),
        (BOTH, b"x\tk\tv", "No header key separator found in pair 'x' on line number 3"),
        ({**BOTH, "null.marker": "-"}, b"-:1\tk\tv", "Header keys should not be equal"),
    ],
)
def test_bad_lines(properties: dict[str, str], line: bytes, text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        LineParser(properties).parse(line, 3)


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        (
            {"headers.separator": ":"},
            "headers.separator and headers.key.separator may not be equal",
        ),
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and headers.delimiter may not be equal"),
        ({"key.separator": ""}, "key.separator may not be empty"),
    ],
)
def test_separators_that_cannot_be(properties: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        LineParser(properties)

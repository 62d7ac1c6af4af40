r"""Parses lines into records with headers, key and value.

    h1:v1,h2:v2<TAB>key<TAB>value      parse.headers=true, parse.key=true
    key<TAB>value                      parse.key=true
    value                              neither

Rules and error texts are those of Kafka's line reader. A line is text, so invalid UTF-8 becomes
U+FFFD.

Source: org.apache.kafka.tools.LineMessageReader.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Final, NamedTuple

from broker_lite.commands.shared.flags import is_true
from broker_lite.errors import SettingsError
from broker_lite.record.builder import normalised_header_key

LineHeaders = tuple[tuple[bytes, bytes | None], ...]

_SEPARATORS: Final[Mapping[str, str]] = {
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
}
"""No two of these may be equal."""


class LineRecord(NamedTuple):
    """The record of a line."""

    key: bytes | None
    value: bytes | None
    headers: LineHeaders


class LineParser:
    """Parses lines by the properties of a line reader.

    Attributes:
        plain: whether a line is only a value.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Read the properties, those of `--reader-property`.

        Raises:
            SettingsError: two separators are equal, or a separator is empty.
        """
        self._parse_key = is_true(properties, "parse.key")
        self._parse_headers = is_true(properties, "parse.headers")
        self._ignore_error = is_true(properties, "ignore.error")
        separators = {
            name: properties.get(name, default)
            for name, default in {**_SEPARATORS, "key.separator": "\t"}.items()
        }
        _check_separators(separators, properties.get("null.marker"))
        self._headers_delimiter = separators["headers.delimiter"].encode()
        self._headers_separator = separators["headers.separator"].encode()
        self._headers_key_separator = separators["headers.key.separator"].encode()
        self._key_separator = separators["key.separator"].encode()
        marker = properties.get("null.marker")
        self._null_marker = None if marker is None else marker.encode()
        self.plain = not (self._parse_key or self._parse_headers)

    def parse(self, line: bytes, line_number: int) -> LineRecord:
        """Parse a line.

        Args:
            line: without its line end.
            line_number: counted from 1, for errors.

        Raises:
            SettingsError: a separator is missing, and ignore.error is not set.
        """
        rest = normalised_header_key(line)
        headers = key = None
        if self._parse_headers:
            headers, rest = self._split(
                rest, self._headers_delimiter, "headers delimiter", line_number
            )
        if self._parse_key:
            key, rest = self._split(rest, self._key_separator, "key separator", line_number)
        return LineRecord(
            key=self._or_null(key),
            value=self._or_null(rest),
            headers=self._headers(self._or_null(headers), line_number),
        )

    def _split(
        self, text: bytes, separator: bytes, what: str, line_number: int
    ) -> tuple[bytes | None, bytes]:
        part, found, rest = text.partition(separator)
        if found:
            return part, rest
        if self._ignore_error:
            return None, text
        shown = text.decode()
        raise SettingsError(f"No {what} found on line number {line_number}: '{shown}'")

    def _or_null(self, text: bytes | None) -> bytes | None:
        return None if text == self._null_marker else text

    def _headers(self, text: bytes | None, line_number: int) -> LineHeaders:
        if text is None:
            return ()
        pairs = text.split(self._headers_separator)
        while len(pairs) > 1 and not pairs[-1]:  # Java's split() drops empty strings at the end
            del pairs[-1]
        return tuple(self._header(pair, line_number) for pair in pairs)

    def _header(self, pair: bytes, line_number: int) -> tuple[bytes, bytes | None]:
        key, found, value = pair.partition(self._headers_key_separator)
        if not found:
            if self._ignore_error:
                return pair, None
            shown = pair.decode()
            raise SettingsError(
                f"No header key separator found in pair '{shown}' on line number {line_number}"
            )
        if key == self._null_marker:
            raise SettingsError(
                f"Header keys should not be equal to the null marker '{key.decode()}' as they can't"
                " be null"
            )
        return key, self._or_null(value)


def _check_separators(separators: Mapping[str, str], null_marker: str | None) -> None:
    for name, text in separators.items():
        if not text:
            raise SettingsError(f"{name} may not be empty")
        if text == null_marker:
            raise SettingsError(f"null.marker and {name} may not be equal")
    for name, other in combinations(_SEPARATORS, 2):
        if separators[name] == separators[other]:
            raise SettingsError(f"{name} and {other} may not be equal")

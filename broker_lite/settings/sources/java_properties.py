r"""Parses Java's properties syntax, which server.properties has.

A logical line is `key=value`, `key:value` or `key value`. A line that begins with `#` or `!` is a
comment. A backslash at the end of a line joins the next line to it. Escapes are `\t \n \r \f
\uXXXX`, and `\` before any other character. Source: java.util.Properties.load.
"""

import re
from collections.abc import Iterator

_WHITE = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def parse_properties(text: str) -> dict[str, str]:
    """Parse the text of a properties file; if a key comes twice, its last value counts."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None  # it matches the empty text
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        found[_unescape(key[0])] = _unescape(line[separator.end() :])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the logical lines: no comments or blank lines, continued lines joined."""
    pending: str | None = None
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(_WHITE)
        if pending is None and (not line or line[0] in "#!"):
            continue
        line = (pending or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending = line[:-1]
            continue
        yield line
        pending = None
    if pending:
        yield pending


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        escaped = match[1]
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        return _LETTERS.get(escaped, escaped)

    return _ESCAPE.sub(replace, text)

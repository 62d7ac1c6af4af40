"""Checks which texts fit into the state log and into responses.

A client's text always fits if it is valid UTF-8. But each byte that is not valid is read as U+FFFD,
which takes three bytes. And an id that is made from a client's text is longer than that text.
"""

from typing import Final

# a string's length is a signed 16-bit number; where the field is wider, the limit is the same
TEXT_BYTES_MAX: Final = 32_767
# the most bytes of a character in UTF-8
_CHARACTER_BYTES_MAX: Final = 4
# the limit for the text of an error, which may contain a client's text
_MESSAGE_CHARACTERS_MAX: Final = TEXT_BYTES_MAX // _CHARACTER_BYTES_MAX
# the characters that Java's String.trim removes
_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))


def is_blank(text: str) -> bool:
    """Return whether a text has no characters but blanks, as Java's String.trim sees them."""
    return not text.strip(_BLANKS)


def is_too_long(text: str) -> bool:
    """Return whether a string is too long for a record."""
    if _CHARACTER_BYTES_MAX * len(text) <= TEXT_BYTES_MAX:
        return False
    return len(text.encode(errors="replace")) > TEXT_BYTES_MAX


def cut(message: str | None) -> str | None:
    """Return the beginning of an error's text, as much as fits into every response."""
    return None if message is None else message[:_MESSAGE_CHARACTERS_MAX]

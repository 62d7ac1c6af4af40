"""Which texts fit into the state log and into responses.

What a client sends fits, as long as it is text: bytes that are no UTF-8 are read as U+FFFD, which
takes three of them. And ids that are made of what a client sent are longer than that.
"""

from typing import Final

# a string's length is a signed 16-bit number, or held to what such a number can say
TEXT_BYTES_MAX: Final = 32_767
# of a character in UTF-8
_CHARACTER_BYTES_MAX: Final = 4
# of the text of an error, which may have in it what a client sent
_MESSAGE_CHARACTERS_MAX: Final = TEXT_BYTES_MAX // _CHARACTER_BYTES_MAX


def is_too_long(text: str) -> bool:
    """Whether a string fits into no record."""
    if _CHARACTER_BYTES_MAX * len(text) <= TEXT_BYTES_MAX:
        return False
    return len(text.encode(errors="replace")) > TEXT_BYTES_MAX


def cut(message: str | None) -> str | None:
    """As much of the text of an error as fits into every response."""
    return None if message is None else message[:_MESSAGE_CHARACTERS_MAX]

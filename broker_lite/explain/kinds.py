"""Finds out what some bytes are, and takes them from hex or base64."""

import base64
import binascii
import re
from struct import Struct
from typing import Final

from broker_lite.explain.batches import Bytes
from broker_lite.explain.explanation import CannotExplain
from broker_lite.explain.frames import SIZE_BYTES, is_known, message_of
from broker_lite.record.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_OVERHEAD_V0,
)
from broker_lite.wire.schema import catalog_by_api

REQUEST: Final = "request"
BATCH: Final = "batch"

_KEY_AND_VERSION: Final = Struct(">hh")
_SIZE: Final = Struct(">i")
_OFFSET_AND_LENGTH: Final = Struct(">qi")
_SMALL: Final = 1 << 32
_DIGITS: Final = b"0123456789abcdefABCDEF"
_HEX_TEXT: Final = _DIGITS + b"xX: \n\r\t"
_LOOKED_AT: Final = 1024
_NOT_HEX: Final = re.compile(rb"0[xX]|[\s:]+")
_SUFFIX: Final = "Request"


def guess_kind(data: Bytes) -> str:
    """Return REQUEST or BATCH.

    Raises:
        CannotExplain: it looks like neither.
    """
    view = memoryview(bytes(data[:HEADER_SIZE_UP_TO_MAGIC]))
    has_size = len(view) >= SIZE_BYTES and _SIZE.unpack_from(view)[0] == len(data) - SIZE_BYTES
    if has_size and _begins_api(view, SIZE_BYTES):
        return REQUEST
    if _begins_batch(view, len(data)):
        return BATCH
    if _begins_api(view, 0) or _begins_api(view, SIZE_BYTES):
        return REQUEST
    raise CannotExplain("neither a request nor a batch begins like this; say which it is")


def _begins_api(view: memoryview, position: int) -> bool:
    if len(view) < position + _KEY_AND_VERSION.size:
        return False
    return is_known(*_KEY_AND_VERSION.unpack_from(view, position))


def _begins_batch(view: memoryview, size: int) -> bool:
    """Return whether a batch or an old message is there, maybe cut or with a wrong length."""
    if len(view) < HEADER_SIZE_UP_TO_MAGIC or view[MAGIC_OFFSET] > CURRENT_MAGIC:
        return False
    base_offset: int
    length: int
    base_offset, length = _OFFSET_AND_LENGTH.unpack_from(view)
    # As a request, a small offset would be a Produce of version 0.
    return RECORD_OVERHEAD_V0 <= length <= size - LOG_OVERHEAD or 0 <= base_offset < _SMALL


def from_hex(text: bytes) -> bytes:
    """Return the bytes of a hex text, with blanks, colons and 0x in it.

    Raises:
        CannotExplain: it is something else.
    """
    try:
        return bytes.fromhex(_NOT_HEX.sub(b"", text).decode("ascii"))
    except ValueError:
        raise CannotExplain("this is not hex") from None


def from_base64(text: bytes) -> bytes:
    """Return the bytes of a base64 text, in either alphabet and on any number of lines.

    Raises:
        CannotExplain: it is something else.
    """
    joined = b"".join(text.split()).replace(b"-", b"+").replace(b"_", b"/")
    try:
        return base64.b64decode(joined + b"=" * (-len(joined) % 4), validate=True)
    except binascii.Error:
        raise CannotExplain("this is not base64") from None


def is_hex(data: bytes) -> bool:
    """Return whether bytes are a hex text and nothing else."""
    if data[:_LOOKED_AT].translate(None, _HEX_TEXT):
        return False
    digits = _NOT_HEX.sub(b"", data)
    return len(digits) % 2 == 0 and digits != b"" and not digits.translate(None, _DIGITS)


def api_of(text: str) -> tuple[int, int]:
    """Return the key and the version of `Fetch:13` or `1:13`.

    Raises:
        CannotExplain: there is no such API or version, or the text is something else.
    """
    name, _, version = text.partition(":")
    names = catalog_by_api("protocol", "request")
    keys = {each.removesuffix(_SUFFIX).lower(): key for key, each in names.items()}
    key = int(name) if name.isdecimal() else keys.get(name.lower(), -1)
    message = message_of(key, is_response=True)
    if message is None:
        raise CannotExplain(f"there is no API {name!r}: write NAME:VERSION, such as Fetch:13")
    first, last = message.min_version, message.max_version
    if not version.isdecimal() or message.layout(int(version)) is None:
        raise CannotExplain(
            f"{message.name} has the versions {first} to {last}: write {name}:{last}"
        )
    return key, int(version)

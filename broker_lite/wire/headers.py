"""Request and response headers.

Rule: P-15, P-40 to P-43.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple

from broker_lite.wire.primitives import (
    UNDERFLOW,
    DecodeError,
    invalid_length,
    skip_tags,
)

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

_NEVER_FLEXIBLE: Final = 32768  # above every version
# api key, version, correlation id, length of the client id
_FIXED: Final = Struct(">hhih").unpack_from
_CORRELATION_ID: Final = Struct(">i").pack
_CORRELATION_ID_AND_TAGS: Final = Struct(">ix").pack


class RequestHeader(NamedTuple):
    """What stands in front of every request body."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int
    flexible: bool


def decode_request_header(
    frame: memoryview | bytes, flexible_from: Mapping[int, int]
) -> RequestHeader:
    """Decode the header of a request.

    Args:
        frame: one request without its size.
        flexible_from: API key to its first version whose header ends with tagged fields; a key
            that is missing has none.

    Returns:
        The header; body_position is where the body starts in frame.

    Raises:
        DecodeError: the frame is too short, or a length in the header is wrong.

    Rule: P-40, P-41 (the client id has an int16 length in both).
    See: P-03.
    """
    length: int
    try:
        api_key, api_version, correlation_id, length = _FIXED(frame, 0)
        position = 10
        client_id = None
        if length >= 0:
            position = 10 + length
            if position > len(frame):
                invalid_length("client_id", length)
            client_id = str(frame[10:position], "utf-8", "replace")
        is_flexible = api_version >= flexible_from.get(api_key, _NEVER_FLEXIBLE)
        if is_flexible:
            position = skip_tags(frame, position)
    except UNDERFLOW:
        raise DecodeError("the request header ends too early") from None
    return _make(
        RequestHeader, (api_key, api_version, correlation_id, client_id, position, is_flexible)
    )


def encode_response_header(correlation_id: int, flexible: bool) -> bytes:
    """Encode the header of a response; flexible is False for every ApiVersions answer.

    Rule: P-42, P-43.
    """
    return (_CORRELATION_ID_AND_TAGS if flexible else _CORRELATION_ID)(correlation_id)

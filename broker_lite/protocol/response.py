"""Framing of responses: size, correlation id, header version."""

import struct
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

_API_VERSIONS_KEY: Final = 18
_HEADER_V0_BYTES: Final = 4
_HEADER_V1_BYTES: Final = 5
_JOINED_BYTES_MAX: Final = 64 * 1024

_HEAD_V0: Final = struct.Struct(">ii")
# The flexible header's tagged fields: none.
_HEAD_V1: Final = struct.Struct(">iix")


class SizedPart(Protocol):
    """A part that is not in memory; all that is asked of it here is how long it is."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it adds to the response."""


PartT = TypeVar("PartT", bound=SizedPart)


def has_flexible_header(api_key: int, flexible: bool) -> bool:
    """Whether the response to a request goes out with header v1.

    See: P-42, P-43 (ApiVersions never does).
    """
    return flexible and api_key != _API_VERSIONS_KEY


def frame(
    correlation_id: int, flexible_header: bool, body_parts: Sequence[bytes | PartT]
) -> list[bytes | PartT]:
    """Put the size prefix and the header in front of a response body.

    Args:
        correlation_id: the request's, unchanged.
        flexible_header: see has_flexible_header().
        body_parts: bytes, and parts that know their size.

    Returns:
        The parts of one whole frame; the head is joined to a first part that is in memory.

    See: P-01, P-05, P-42.
    """
    size_bytes = _HEADER_V1_BYTES if flexible_header else _HEADER_V0_BYTES
    for part in body_parts:
        size_bytes += len(part) if isinstance(part, bytes) else part.size_bytes
    head = (_HEAD_V1 if flexible_header else _HEAD_V0).pack(size_bytes, correlation_id)
    if body_parts:
        first = body_parts[0]
        if isinstance(first, bytes) and len(first) <= _JOINED_BYTES_MAX:
            return [head + first, *body_parts[1:]]
    return [head, *body_parts]

"""Sans-IO framing of one connection: bytes in, requests out."""

from typing import NamedTuple


class ProtocolError(Exception):
    """The peer broke the framing; the only answer is to close the connection.

    Rule: P-02, P-03, P-08.
    """


class Request(NamedTuple):
    """One request: its header, decoded, and its body, not yet.

    `body` is a writable view of the whole frame without its size prefix, header included; the
    request's own fields start at `position`. The view is valid until the connection is asked for a
    buffer again. `flexible` tells that the request's version is a flexible one.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: memoryview
    position: int
    flexible: bool

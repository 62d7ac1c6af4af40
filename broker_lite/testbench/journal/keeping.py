"""How much of a request and of its answer is kept.

Recording takes place between a request and its answer, so it copies a bounded number of bytes and
decodes nothing, but for a long Produce.
"""

import os
from itertools import islice
from typing import Final, NamedTuple

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.log.files.open_file import FileSlice
from broker_lite.testbench.journal.skeleton import Skeleton, skeleton_of

HEADERS_BYTES: Final = 4096
FETCH_BYTES: Final = 64 * 1024
"""A Fetch has no records, so all of it is of interest; one of 1,000 partitions has about 40 KB."""
_PRODUCE: Final = 0
_FETCH: Final = 1


_SESSION_FROM: Final = 7
_NO_REPLICA_FROM: Final = 15
_SESSION_AT: Final = 13
"""Where the session id is in a Fetch without a replica id, which takes 4 bytes in older ones."""
SESSION_PARTITIONS_MAX: Final = 1000


class Kept(NamedTuple):
    """What is kept of an answer: its size without header, its bytes, and where some are missing."""

    size_bytes: int
    body: bytes
    gaps: tuple[tuple[int, int], ...]


def keep_long_request(request: Request, bytes_max: int) -> tuple[bytes, Skeleton | None]:
    """Return what is kept of a request of more than `bytes_max` bytes."""
    frame = request.body
    if request.api_key == _PRODUCE:
        skeleton = skeleton_of(frame, request.api_version, request.position)
        return bytes(frame[: min(bytes_max, HEADERS_BYTES)]), skeleton
    if request.api_key == _FETCH and len(frame) <= FETCH_BYTES:
        return bytes(frame), None
    return bytes(frame[: min(bytes_max, HEADERS_BYTES)]), None


def keep_answer(parts: Parts, bytes_max: int, file_bytes_max: int) -> Kept:
    """Return what is kept of an answer.

    Args:
        parts: the answer without its header.
        bytes_max: how many bytes of memory are kept.
        file_bytes_max: how many bytes are read from files; 0 for none.
    """
    size_bytes = kept_bytes = 0
    pieces: list[bytes] = []
    gaps: list[tuple[int, int]] = []
    is_cut = False
    for part in parts:
        length = len(part) if isinstance(part, bytes) else part.size_bytes
        size_bytes += length
        room = bytes_max - kept_bytes
        if is_cut:
            continue
        if isinstance(part, bytes):
            piece = part if length <= room else part[:room]
            is_cut = length > room
        else:
            piece = _read(part, min(file_bytes_max, room))
            file_bytes_max -= len(piece)
            if length and not piece:
                gaps.append((kept_bytes, length))
        kept_bytes += len(piece)
        pieces.append(piece)
    return Kept(size_bytes, b"".join(pieces), tuple(gaps))


def session_of(context: HandlerContext, request: Request) -> tuple[tuple[str | bytes, int], ...]:
    """Return the partitions of the session that a Fetch goes on with: it asks for all of them.

    The request names only those that have changed, and the session will be another one when the
    journal is read.
    """
    version = request.api_version
    if version < _SESSION_FROM:
        return ()
    start = request.position + _SESSION_AT + (0 if version >= _NO_REPLICA_FROM else 4)
    session_id = int.from_bytes(request.body[start : start + 4], "big", signed=True)
    session = context.fetch_sessions.get(session_id) if session_id else None
    return (
        () if session is None else tuple(islice(session.partitions.keys(), SESSION_PARTITIONS_MAX))
    )


def _read(part: FileSlice, bytes_max: int) -> bytes:
    """Return the bytes of a part of a file; none if they are too many, or cannot be read."""
    if part.size_bytes > bytes_max:
        return b""
    try:
        found = os.pread(part.fd, part.size_bytes, part.position)
    except OSError:
        return b""
    return found if len(found) == part.size_bytes else b""

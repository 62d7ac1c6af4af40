"""Answers that leave in another way than as one frame, on their way to another process.

The first process notes what would happen on the connection of its client; the process that has the
connection does it.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from broker_lite.handler.context import CloseConnection, Wire, WireAnswer

_PAUSE_S: Final = 0.001


class _Notes:
    """A wire that notes what is done; see handler.context.Wire."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_reset = False

    async def send(self, data: bytes) -> None:
        """Note bytes."""
        self.pieces.append(data)

    def reset(self) -> None:
        """Note a reset."""
        self.is_reset = True


async def encode_wire(answer: WireAnswer) -> bytes:
    """Return what an answer would do on its connection as bytes."""
    notes, reason = _Notes(), None
    try:
        await answer.leave(notes)
    except CloseConnection as closing:
        reason = str(closing)
    sizes = [len(piece) for piece in notes.pieces]
    head = json.dumps([sizes, notes.is_reset, reason]).encode()
    return b"".join((len(head).to_bytes(4), head, *notes.pieces))


def decode_wire(data: bytes) -> WireAnswer:
    """Return an answer that does the same here."""
    end = 4 + int.from_bytes(data[:4])
    sizes, is_reset, reason = json.loads(data[4:end])
    pieces = []
    for size in sizes:
        pieces.append(data[end : end + size])
        end += size
    return WireAnswer(_leaving(pieces, is_reset=is_reset, reason=reason))


def _leaving(
    pieces: list[bytes], *, is_reset: bool, reason: str | None
) -> Callable[[Wire], Awaitable[None]]:
    async def leave(wire: Wire) -> None:
        for number, piece in enumerate(pieces):
            if number:
                await anyio.sleep(_PAUSE_S)
            await wire.send(piece)
        if is_reset:
            wire.reset()
        if reason is not None:
            raise CloseConnection(reason)

    return leave

"""Answers that leave a broker damaged, in pieces, or not at all."""

from collections.abc import Sequence
from typing import Final

import anyio

from broker_lite.handler.context import CloseConnection, Parts, Request, Wire, WireAnswer
from broker_lite.protocol.framing import framed
from broker_lite.testbench.faults.answers import joined

_PAUSE_S: Final = 0.001


class FaultAnswer(WireAnswer):
    """An answer that a fault changed on its way.

    Attributes:
        how: what became of it, in words; the broker's log says it if the connection is closed.
    """

    def __init__(self, how: str, data: bytes | None, sizes: Sequence[int] = ()) -> None:
        """Make an answer of bytes.

        Args:
            how: what becomes of it.
            data: the frame; None to close the connection.
            sizes: of the pieces in which it is sent, without the last one.
        """
        super().__init__(self._send)
        self.how = how
        self._data = data
        self._sizes = sizes
        self._closes = data is None
        self._resets = False

    def closing(self, *, reset: bool = False) -> "FaultAnswer":
        """Close the connection after the bytes; return this answer."""
        self._closes, self._resets = True, reset
        return self

    async def _send(self, wire: Wire) -> None:
        data = self._data or b""
        start = 0
        for size in self._sizes:
            piece = data[start : start + size]
            if not piece:
                break
            if start:
                await anyio.sleep(_PAUSE_S)
            await wire.send(piece)
            start += size
        if start < len(data):
            if start:
                await anyio.sleep(_PAUSE_S)
            await wire.send(data[start:])
        if self._closes:
            if self._resets:
                wire.reset()
            raise CloseConnection(self.how)


def frame_of(request: Request, parts: Parts) -> bytes:
    """Return an answer with its size and its header."""
    return joined(framed(request, parts))

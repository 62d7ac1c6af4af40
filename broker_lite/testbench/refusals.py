"""The last requests that the broker refused, kept as they came, so that they can be explained."""

import itertools
import time
from collections import deque
from typing import Final, NamedTuple

from broker_lite.errors import ErrorCode, Why
from broker_lite.handler.context import HandlerContext, RefusedPartitions, Request
from broker_lite.testbench.errors import ControlError
from broker_lite.wire.secret_fields import SECRET_KEYS, without_secrets

KEPT_MAX: Final = 100
BYTES_MAX: Final = 16 * 1024 * 1024
"""The bytes of all of them; a single one may have a quarter."""
_SHARE_MAX: Final = 4
_SIZE_BYTES: Final = 4


class Refusal(NamedTuple):
    """One refused request.

    Attributes:
        id: x1 is the first.
        at_ms: when it was refused, in ms since 1970.
        api_key: of the request.
        version: of the API.
        client_id: of the request's header.
        connection_id: of the process.
        correlation_id: of the request's header.
        now_ms: the broker's clock then, by which timestamps are judged.
        error: the first error.
        why: the first broken rule, with what was found.
        partitions: the refused ones of a Produce.
        frame: the request as it came, with its size in front; cut if it was very long, and with its
            secrets blotted out.
    """

    id: str
    at_ms: int
    api_key: int
    version: int
    client_id: str
    connection_id: int
    correlation_id: int
    now_ms: int
    error: ErrorCode
    why: Why
    partitions: RefusedPartitions
    frame: bytes


class Refusals:
    """Keeps the last refused requests, within a bound of memory."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: deque[Refusal] = deque()
        self._numbers = itertools.count(1)
        self._bytes = 0

    def keep(
        self,
        context: HandlerContext,
        request: Request,
        error: ErrorCode,
        why: Why,
        partitions: RefusedPartitions,
    ) -> str:
        """Keep a request that is refused; return the id, which the log line names."""
        last = self._kept[-1] if self._kept else None
        place = context.connection_id, request.correlation_id
        if last is not None and (last.connection_id, last.correlation_id) == place:
            return last.id  # another partition of the same request
        size = len(request.body).to_bytes(_SIZE_BYTES, "big")
        frame = bytes(request.body[: BYTES_MAX // _SHARE_MAX])
        if request.api_key in SECRET_KEYS:
            whole = bytes(request.body)
            frame = without_secrets(request.api_key, request.api_version, whole, request.position)
        refusal = Refusal(
            id=f"x{next(self._numbers)}",
            at_ms=time.time_ns() // 1_000_000,
            api_key=request.api_key,
            version=request.api_version,
            client_id=request.client_id or "",
            connection_id=context.connection_id,
            correlation_id=request.correlation_id,
            now_ms=context.clock.now_ms(),
            error=error,
            why=why,
            partitions=partitions,
            frame=size + frame[: BYTES_MAX // _SHARE_MAX],
        )
        self._kept.append(refusal)
        self._bytes += len(refusal.frame)
        while len(self._kept) > KEPT_MAX or self._bytes > BYTES_MAX:
            self._bytes -= len(self._kept.popleft().frame)
        return refusal.id

    def list(self) -> list[Refusal]:
        """Return what is kept, the newest last."""
        return list(self._kept)

    def get(self, refusal_id: str) -> Refusal:
        """Return one of them.

        Raises:
            ControlError: there is none of this id, or none any more.
        """
        for refusal in self._kept:
            if refusal.id == refusal_id:
                return refusal
        raise ControlError(404, f"there is no refused request {refusal_id!r}, or none any more")

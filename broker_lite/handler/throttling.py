"""Handle requests while clients have quotas: measure, tell the throttle time, mute the connection.

The answer of a throttled client leaves at once and has the throttle time, if its version can tell
it. Then nothing is read from the connection until that time is over, in any version (KIP-219).

What counts is in control.quotas. The answer of a Fetch is counted by its handler, because that of a
throttled client is another one.
"""

import struct
from collections.abc import Awaitable, Generator
from functools import cache, partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, cast

from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Hook,
    MutedAnswer,
    Parts,
    Request,
    WireAnswer,
)
from broker_lite.handler.large import ELEMENTS_MAX, encode_in_turns, in_slices
from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType

if TYPE_CHECKING:
    from broker_lite.control.quotas.node_quotas import NodeQuotas
    from broker_lite.control.quotas.request_quota import RequestQuota

_PRODUCE: Final = 0
_FETCH: Final = 1
_EXEMPT: Final = frozenset((27,))
"""WriteTxnMarkers: brokers send it to each other."""
_THROTTLE_TIME: Final = "throttle_time_ms"
_INT32: Final = struct.Struct(">i")
_FIRST, _LATER, _NOWHERE = range(3)


class NodeThrottling:
    """Handles the requests of one node's clients; see handler.context.Throttling."""

    def __init__(self, quotas: "NodeQuotas") -> None:
        """Begin with what clients have used so far."""
        self.quotas = quotas

    async def handle(
        self, context: HandlerContext, request: Request, handle: Handler, hook: Hook | None
    ) -> Parts | None:
        """Call the handler inside the hook.

        Rule: P-13.
        """
        client_id = request.client_id or ""
        quota = context.quota = self.quotas.begin(context.principal.name, client_id)
        answer = partial(self._answer, handle, quota)
        try:
            parts = await (
                answer(context, request) if hook is None else hook(context, request, answer)
            )
        finally:
            context.quota = None
        # a fault that sends in its own way also decides what happens to the connection
        if quota.throttle_ms <= 0 or isinstance(parts, WireAnswer):
            return parts
        return MutedAnswer(parts, quota.until_ms)

    async def _answer(
        self, handle: Handler, quota: "RequestQuota", context: HandlerContext, request: Request
    ) -> Parts | None:
        """Call the handler, and count its request.

        Rule: V-73.
        """
        answering = handle(context, request)
        try:
            parts = await (OnLoop(answering, quota) if quota.is_timed else answering)
        except CloseConnection:
            if request.api_key == _PRODUCE:  # an error with acks=0
                quota.settle_produce(len(request.body), has_answer=False)
            raise
        if request.api_key == _PRODUCE:
            quota.settle_produce(len(request.body), has_answer=parts is not None)
        elif request.api_key == _FETCH and not quota.is_settled:  # the answer has no records
            quota.settle_fetch(_size_bytes(parts))
        elif request.api_key not in _EXEMPT and not quota.is_settled:
            quota.settle()
        # what is not offered is answered in another version than that of the request
        if parts is None or quota.throttle_ms <= 0 or not context.offers(request):
            return parts
        return await with_throttle_time(request, parts, quota.throttle_ms)


def _size_bytes(parts: Parts | None) -> int:
    """Return the size of an answer, with the four bytes of its size."""
    return _INT32.size + sum(
        len(part) if isinstance(part, bytes) else part.size_bytes for part in parts or ()
    )


async def with_throttle_time(request: Request, parts: Parts, throttle_ms: int) -> Parts:
    """Return an answer with its throttle time; the same answer if the version has none."""
    place = _place(request.api_key, request.api_version)
    if place == _NOWHERE:
        return parts
    first = parts[0]
    assert isinstance(first, bytes)
    if place == _FIRST:
        return [_INT32.pack(throttle_ms) + first[_INT32.size :], *parts[1:]]
    whole = b"".join(cast("list[bytes]", parts))
    kind = _kind(request.api_key)
    value, _ = await in_slices(kind.decode_slices(whole, request.api_version, 0, ELEMENTS_MAX))
    setattr(value, _THROTTLE_TIME, throttle_ms)
    return [await encode_in_turns(kind, value, request.api_version)]


def _kind(api_key: int) -> MessageType:
    _, response = messages.by_api(api_key)
    return response


@cache
def _place(api_key: int, version: int) -> int:
    """Return where an answer has its throttle time."""
    layout = _kind(api_key).layout(version)
    if layout is None:
        return _NOWHERE
    fields = [
        field.attribute
        for field in layout.schema.structs[layout.schema.name]
        if version in field.versions and version not in field.tagged
    ]
    if _THROTTLE_TIME not in fields:
        return _NOWHERE
    return _FIRST if fields[0] == _THROTTLE_TIME else _LATER


class OnLoop:
    """Awaits something, and adds up how long it has the event loop, without its waits."""

    __slots__ = ("_awaited", "_quota")

    def __init__(self, awaited: Awaitable[Parts | None], quota: "RequestQuota") -> None:
        """Wrap an awaitable.

        Args:
            awaited: of a handler; it is awaited once.
            quota: takes the time.
        """
        self._awaited = awaited
        self._quota = quota

    def __await__(self) -> Generator[Any, Any, Parts | None]:
        return self._run(self._awaited.__await__())

    def _run(self, steps: Generator[Any, Any, Parts | None]) -> Generator[Any, Any, Parts | None]:
        quota = self._quota
        sent: object = None
        thrown: BaseException | None = None
        while True:
            quota.resumed_ns = perf_counter_ns()
            try:
                waited_for = steps.send(sent) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return cast("Parts | None", end.value)
            finally:
                thrown = None  # it refers to this frame, and a cycle would keep both
                quota.spent_ns += perf_counter_ns() - quota.resumed_ns
            try:
                sent = yield waited_for
            except BaseException as error:  # a cancellation is for the handler
                sent, thrown = None, error

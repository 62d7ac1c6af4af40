"""GetTelemetrySubscriptions (71), PushTelemetry (72): clients push their own metrics (KIP-714).

- Clients ask which metrics are wanted, and push them compressed, in OpenTelemetry's messages.
- Nobody needs a right for it, as in Kafka. A client that is told of no metrics pushes none.

Not done: metrics of OpenTelemetry's kinds that no client of Kafka's pushes (histograms, summaries)
are counted, but not kept.

A difference to Kafka: GetTelemetrySubscriptions and PushTelemetry are offered, because what clients
push is received here. A Kafka offers both only if one of its metric.reporters is a receiver.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from broker_lite.control.telemetry.clients import Identity, TelemetryClient
from broker_lite.control.telemetry.otlp import HINT, is_imported, is_readable, read_push
from broker_lite.control.telemetry.series import Pushed
from broker_lite.control.telemetry.subscription import Search
from broker_lite.control.telemetry.telemetry import RESERVED, Telemetry
from broker_lite.errors import ErrorCode, InvalidRecord
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, leave_lane
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.stopping import WorkStopped
from broker_lite.wire import messages

logger = logging.getLogger(__name__)

ACCEPTED: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
"""The codecs that clients are told, those that Kafka likes best first."""

INLINE_BYTES_MAX: Final = 4096
"""A larger push, one that is compressed, and the first one are read in a thread."""

SOFTWARE_CHARACTERS_MAX: Final = 250
"""Of the name and of the version that a client tells; the rest is cut off."""

_UNKNOWN: Final = "unknown"
_reading: RunVar[CapacityLimiter] = RunVar("telemetry_reading")


async def handle_subscriptions(context: HandlerContext, request: Request) -> Parts:
    """Tell a client which metrics to push, and how often.

    See: P-151.
    """
    body = decode(messages.GetTelemetrySubscriptionsRequest, request)
    telemetry, identity = context.telemetry.get(), _identity(context, request)
    instance_id = telemetry.instance_id(identity, body.client_instance_id)
    search, now_ms = await _search(context, telemetry, identity, instance_id)
    error, client = telemetry.subscribe(identity, instance_id, now_ms, search)
    response = messages.GetTelemetrySubscriptionsResponse(error_code=int(error))
    if error is ErrorCode.NONE and client.instance is not None:
        response.client_instance_id = client.instance_id
        response.subscription_id = client.instance.subscription_id
        response.accepted_compression_types = list(map(int, ACCEPTED))
        response.push_interval_ms = client.wanted.interval_ms
        response.telemetry_max_bytes = context.settings.telemetry_max_bytes
        response.delta_temporality = True
        response.requested_metrics = list(client.wanted.metrics)
    return encode(messages.GetTelemetrySubscriptionsResponse, response, request)


async def handle_push(context: HandlerContext, request: Request) -> Parts:
    """Take the metrics of a client, also if it closes right after it has sent them.

    Raises:
        CloseConnection: the work was stopped.

    See: P-154, P-156.
    """
    body = decode(messages.PushTelemetryRequest, request)
    telemetry, identity = context.telemetry.get(), _identity(context, request)
    search, now_ms = None, context.clock.steady_ms()
    if body.client_instance_id not in RESERVED:
        search, now_ms = await _search(context, telemetry, identity, body.client_instance_id)
    error, client = telemetry.check_push(
        identity,
        body.client_instance_id,
        body.subscription_id,
        body.compression_type,
        len(body.metrics),
        now_ms,
        search,
        is_terminating=body.terminating,
        bytes_max=context.settings.telemetry_max_bytes,
    )
    if error is ErrorCode.NONE and client is not None:
        error = await _take(context, request, telemetry, client, body)
    response = messages.PushTelemetryResponse(error_code=int(error))
    return encode(messages.PushTelemetryResponse, response, request)


async def _search(
    context: HandlerContext, telemetry: Telemetry, identity: Identity, instance_id: bytes
) -> tuple[Search | None, int]:
    """Find out what a client is to push, unless that is known; also return the time after that.

    Other connections have their turn in between.
    """
    now_ms = context.clock.steady_ms()
    search = telemetry.search(identity, instance_id, now_ms)
    if search is None:
        return None, now_ms
    async for _ in in_turns(search, at_least=1):
        pass
    return search, context.clock.steady_ms()


async def _take(
    context: HandlerContext,
    request: Request,
    telemetry: Telemetry,
    client: TelemetryClient,
    body: messages.PushTelemetryRequest,
) -> ErrorCode:
    """Read the metrics of a push that was checked, and keep them.

    Raises:
        CloseConnection: the work was stopped.
    """
    size_bytes = len(body.metrics)
    pushed = Pushed({}, (), 0)
    if size_bytes:
        try:
            pushed = await _read(context, request, body)
        except InvalidRecord as error:
            telemetry.refuse(client, error.code)
            return error.code
        if not is_readable():
            key = ("unread telemetry",)
            context.client_log.write(logger, logging.WARNING, key, HINT)
    now_ms = context.clock.steady_ms()
    telemetry.take(client, pushed, size_bytes, now_ms, is_terminating=body.terminating)
    return ErrorCode.NONE


async def _read(
    context: HandlerContext, request: Request, body: messages.PushTelemetryRequest
) -> Pushed:
    """Read the metrics, in a thread if that may take long; one push at a time.

    The broker always waits for the thread, so that what a client sent before it closed is kept.

    Raises:
        InvalidRecord: see read_push().
        CloseConnection: the work was stopped.
    """
    read = partial(
        read_push,
        body.compression_type,
        body.metrics,
        bytes_max=context.settings.telemetry_max_bytes,
        stop=context.stop,
    )
    is_short = body.compression_type == Codec.NONE and len(body.metrics) <= INLINE_BYTES_MAX
    if is_short and is_imported():
        outcome = _outcome(read)
    else:
        leave_lane(request)
        with CancelScope(shield=True):
            outcome = await to_thread.run_sync(_outcome, read, limiter=_reader())
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the reading of metrics was stopped")
    if isinstance(outcome, InvalidRecord):
        raise outcome
    return outcome


def _outcome(read: Callable[[], Pushed]) -> Pushed | InvalidRecord | WorkStopped:
    """Read and return an error instead of raising it: a thread would keep what it has raised."""
    try:
        return read()
    except (InvalidRecord, WorkStopped) as error:
        return error.with_traceback(None)


def _reader() -> CapacityLimiter:
    """Return what lets one push be read at a time; others' threads are not kept waiting for it."""
    try:
        return _reading.get()
    except LookupError:
        limiter = CapacityLimiter(1)
        _reading.set(limiter)
        return limiter


def _identity(context: HandlerContext, request: Request) -> Identity:
    name, _, version = context.software.partition(" ")
    address, port = context.client_address
    return Identity(
        context.node_id,
        request.client_id or "",
        name[:SOFTWARE_CHARACTERS_MAX] or _UNKNOWN,
        version[:SOFTWARE_CHARACTERS_MAX] or _UNKNOWN,
        address,
        port,
        context.connection_id,
    )

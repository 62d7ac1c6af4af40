"""Who is the limit of each connection, from a look at all of them for a while."""

import asyncio
from contextlib import suppress
from pathlib import Path
from threading import get_native_id
from typing import Annotated, Final

import msgspec

from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.usage import Usage, usage_of
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.control.routes.connections import connections_of, name_of
from broker_lite.testbench.limits import Busy, limit_of, load_between, sentence
from broker_lite.testbench.loop_waits import LoopWaits
from broker_lite.testbench.turns import Turns

_WINDOW_MS_MAX: Final = 60_000
_NS_PER_S: Final = 1_000_000_000
_DIGITS: Final = 3


class LimitQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """For how long to look, and at what.

    Attributes:
        window_ms: for so long.
        node: only at connections to this broker.
    """

    window_ms: Annotated[int, msgspec.Meta(ge=1, le=_WINDOW_MS_MAX)] = 1000
    node: int | None = None


class LimitView(msgspec.Struct, kw_only=True):
    """What happened on a connection; parts of the time are from 0 to 1.

    Attributes:
        id: c1 is the first one of the process.
        client: HOST:PORT of the client.
        software: name and version as the client told them (KIP-511); empty if it did not.
        requests: how many were handled.
        in_bytes: received, as the kernel counts.
        out_bytes: sent, and taken by the client's kernel.
        not_asking: nothing of a request was there.
        not_reading: the client made no room for the rest of an answer.
        on_network: a request was on its way, or an answer for which the client had room.
        window_closed: the client's kernel had no room for what there was to send.
        nothing_to_give: a Fetch waited for records.
        throttled: the client was above a quota.
        at_broker: a request was with the broker.
        limit: who was the limit, in a word or two.
        sentence: the same with the figures that say so.
    """

    id: str
    client: str
    software: str
    requests: int
    in_bytes: int
    out_bytes: int
    not_asking: float
    not_reading: float
    on_network: float
    window_closed: float
    nothing_to_give: float
    throttled: float
    at_broker: float
    limit: str
    sentence: str


class Limits(msgspec.Struct, kw_only=True):
    """Who was the limit in some time.

    Attributes:
        seconds: how long it was.
        loop_busy: the part of it in which the broker's event loop was at work for all clients, or
            waited for a processor.
        threads_busy: the same of its other threads; two that are always at work make 2.
        loop_wait_ms: how long a byte that arrives waits until the event loop reads it, on average.
        connections: those that were open all the time.
    """

    seconds: float
    loop_busy: float
    threads_busy: float
    loop_wait_ms: float
    connections: list[LimitView]


async def look(call: Call) -> Limits:
    """Look at all connections for a while, and say who is the limit of each."""
    query = call.query
    assert isinstance(query, LimitQuery)
    life, turns = call.bench.life, Turns()
    before: dict[ClientConnection, Usage] = {}
    for each in connections_of(life, query.node):
        if (usage := _usage(each)) is not None:
            before[each] = usage
        await turns.next()
    loop = asyncio.get_running_loop()
    began_s, first_s = loop.time(), _at_work_s()
    with LoopWaits() as waits:
        await asyncio.sleep(query.window_ms / 1000)
        seconds = loop.time() - began_s
        last_s = _at_work_s()
    shares = [max(last - one, 0.0) / seconds for one, last in zip(first_s, last_s, strict=True)]
    looks: list[tuple[ClientConnection, Usage, Usage]] = []
    for each in connections_of(life, query.node):
        first, last = before.get(each), _usage(each)
        if first is not None and last is not None:
            looks.append((each, first, last))
        await turns.next()
    requests = sum(last.requests - first.requests for _, first, last in looks)
    busy = Busy(shares[0], shares[1], waits.mean_s, requests)
    views = []
    for each, first, last in looks:
        views.append(_view(each, first, last, busy))
        await turns.next()
    return Limits(
        seconds=round(seconds, _DIGITS),
        loop_busy=round(busy.loop, _DIGITS),
        threads_busy=round(busy.threads, _DIGITS),
        loop_wait_ms=round(busy.wait_s * 1000, _DIGITS),
        connections=sorted(views, key=lambda view: int(view.id[1:])),
    )


def _at_work_s() -> tuple[float, float]:
    """Return how long this thread, and all others together, have been at work, in seconds.

    Who waits for a processor is at work, too: on a busy machine that is what clients wait for.
    """
    own, others = 0, 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has ended
            ran_ns, waited_ns, _ = map(int, (task / "schedstat").read_text("ascii").split())
            if task.name == str(get_native_id()):
                own = ran_ns + waited_ns
            else:
                others += ran_ns + waited_ns
    return own / _NS_PER_S, others / _NS_PER_S


def _usage(connection: ClientConnection) -> Usage | None:
    """Look at a connection; None if it is lost."""
    try:
        return usage_of(connection)
    except OSError:
        return None


def _view(connection: ClientConnection, first: Usage, last: Usage, busy: Busy) -> LimitView:
    load, context = load_between(first, last, busy), connection.context
    return LimitView(
        id=name_of(connection),
        client=f"{context.client_address[0]}:{context.client_address[1]}",
        software=context.software,
        requests=load.requests,
        in_bytes=load.in_bytes,
        out_bytes=load.out_bytes,
        not_asking=round(load.not_asking, _DIGITS),
        not_reading=round(load.not_reading, _DIGITS),
        on_network=round(load.on_network, _DIGITS),
        window_closed=round(load.window_closed, _DIGITS),
        nothing_to_give=round(load.nothing_to_give, _DIGITS),
        throttled=round(load.throttled, _DIGITS),
        at_broker=round(load.at_broker, _DIGITS),
        limit=limit_of(load, busy).value,
        sentence=sentence(load, busy),
    )


RESOURCES = (Resource("GET", "/v1/limits", look, answer=Limits, query=LimitQuery),)

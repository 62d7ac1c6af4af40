"""Connections: which there are, resets, waits for their number."""

import asyncio

import msgspec

from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.life import Life
from broker_lite.server.nodes import WrongState
from broker_lite.testbench.bounds import TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError

_NOT_FOUND = 404
_MS_PER_S = 1000


class ConnectionView(msgspec.Struct, kw_only=True):
    """A client's connection.

    There is no client id, which may change from request to request: the journal has it while it
    records. What the connection waits for is told by /v1/limits.

    Attributes:
        id: c1 is the first one of the process.
        node: the broker that it goes to.
        listener: by its name.
        client: HOST:PORT of the client.
        software: name and version as the client told them (KIP-511); empty if it did not.
        is_idle: whether no request is in progress.
        open_ms: for how long it has been open.
    """

    id: str
    node: int
    listener: str
    client: str
    software: str
    is_idle: bool
    open_ms: int


class ConnectionQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which connections are listed; all if it is left out.

    Attributes:
        node: only those to this broker.
    """

    node: int | None = None


class ConnectionWait(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How many connections there have to be.

    Attributes:
        count: exactly so many.
        node: only those to this broker count.
        timeout_ms: how long to wait.
    """

    count: int
    node: int | None = None
    timeout_ms: TimeoutMs = 30_000


async def list_connections(call: Call) -> list[ConnectionView]:
    """List the clients' connections, in the order in which they came."""
    assert isinstance(call.query, ConnectionQuery)
    return _views(call.bench.life, call.query.node)


async def reset_connection(call: Call) -> Done:
    """Close a connection by a reset (RST), whatever is in progress."""
    name = call.path["id"]
    for connection in connections_of(call.bench.life, None):
        if name_of(connection) == name:
            connection.answers.reset()
            connection.drop()
            return Done()
    raise ControlError(_NOT_FOUND, f"there is no connection {name!r}")


async def wait_for_connections(call: Call) -> list[ConnectionView]:
    """Wait until there are so many connections."""
    wanted, bench = call.body, call.bench
    assert isinstance(wanted, ConnectionWait)
    return await bench.waits.until(
        lambda: _views(bench.life, wanted.node),
        lambda found: len(found) == wanted.count,
        wanted.timeout_ms,
        "the number of connections",
    )


def _views(life: Life, node_id: int | None) -> list[ConnectionView]:
    now_s = asyncio.get_running_loop().time()
    found = sorted(connections_of(life, node_id), key=lambda each: each.context.connection_id)
    return [
        ConnectionView(
            id=name_of(connection),
            node=context.node_id,
            listener=context.listener.name,
            client=f"{context.client_address[0]}:{context.client_address[1]}",
            software=context.software,
            is_idle=connection.is_idle,
            open_ms=round((now_s - connection.since_s) * _MS_PER_S),
        )
        for connection in found
        for context in (connection.context,)
    ]


def connections_of(life: Life, node_id: int | None) -> list[ClientConnection]:
    """Return the connections to a broker; None for all.

    Raises:
        WrongState: there is no such broker.
    """
    states = life.nodes.states
    if node_id is not None and node_id not in states:
        raise WrongState(f"there is no broker {node_id}; there are {', '.join(map(str, states))}")
    asked = states if node_id is None else (node_id,)
    return [each for one in asked for each in life.nodes.connections(one)]


def name_of(connection: ClientConnection) -> str:
    """Return what the control API calls a connection."""
    return f"c{connection.context.connection_id}"


RESOURCES = (
    Resource(
        "GET",
        "/v1/connections",
        list_connections,
        answer=list[ConnectionView],
        query=ConnectionQuery,
    ),
    Resource("DELETE", "/v1/connections/{id}", reset_connection),
    Resource(
        "POST",
        "/v1/connections/wait",
        wait_for_connections,
        answer=list[ConnectionView],
        body=ConnectionWait,
    ),
)

"""What a test bench can do to requests, answers and connections of a running node."""

import errno
import socket

import anyio
import pytest

from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    ListenerInfo,
    Parts,
    Request,
    Wire,
    WireAnswer,
)
from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.server.seams import Seams
from tests.server.conftest import ECHO, PARKED, Serve, request_frame

pytestmark = pytest.mark.anyio


async def test_an_answer_leaves_in_pieces_after_the_one_before_it(serve: Serve) -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        parts = await handle(context, request)
        assert parts == [b"b"]

        async def leave(wire: Wire) -> None:
            await wire.send(b"odd")
            await wire.send(b"ly")

        return WireAnswer(leave)

    seams = Seams()
    async with serve(seams=seams) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"a"))
        assert await client.answer() == (1, b"a")
        seams.hooks[ECHO] = hook
        await client.send(request_frame(ECHO, b"b"))
        assert await client.receive(5) == b"oddly"


async def test_a_fault_closes_by_a_reset(serve: Serve) -> None:
    async def leave(wire: Wire) -> None:
        await wire.send(b"ha")
        wire.reset()
        raise CloseConnection("a fault")

    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        return WireAnswer(leave)

    seams = Seams()
    seams.hooks[ECHO] = hook
    async with serve(seams=seams) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO))
        await anyio.wait_readable(client.sock)
        await served.until(lambda: served.node.connection_count == 0)
        assert client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


async def test_nothing_is_kept_back_while_a_hook_may_wait(serve: Serve) -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        if bytes(request.body[request.position :]) == b"b":
            await anyio.sleep_forever()
        return await handle(context, request)

    seams = Seams()
    seams.hooks[ECHO] = hook
    seams.hooks.may_wait = True
    async with serve(seams=seams) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"a") + request_frame(ECHO, b"b"))
        assert await client.answer() == (1, b"a")


async def test_the_gate_keeps_a_client_out(serve: Serve) -> None:
    kept: list[tuple[int, socket.socket]] = []

    def gate(
        node_id: int,
        sock: socket.socket,
        _: tuple[str, int],
        info: ListenerInfo,
        descriptors: ClientDescriptors,
    ) -> bool:
        assert info.name == "PLAINTEXT"
        kept.append((node_id, sock))
        return False

    seams = Seams()
    async with serve(seams=seams) as served:
        before = await served.connect()
        await before.send(request_frame(ECHO, b"a"))
        assert await before.answer() == (1, b"a")
        seams.gate = gate
        client = await served.connect()
        await served.until(lambda: bool(kept))
        assert served.node.connection_count == 1
        [(node_id, sock)] = kept
        assert node_id == 1
        sock.close()
        assert await client.is_closed()


async def test_connections_are_numbered_and_can_be_looked_at(serve: Serve) -> None:
    async with serve(seams=Seams()) as served:
        for _ in range(2):
            client = await served.connect()
            await client.send(request_frame(PARKED))
        await served.until(lambda: served.node.connection_count == 2)
        assert {each.context.connection_id for each in served.node.connections} == {1, 2}
        served.parking.release.set()

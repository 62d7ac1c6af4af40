"""Clients that connect to a running node are refused, reset, or left without a word."""

import errno
import socket
from typing import Any

import anyio
import msgspec
import pytest

from broker_lite.server.seams import Seams
from broker_lite.testbench.faults import accept
from broker_lite.testbench.faults.engine import Faults
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.hooks import BenchHooks
from tests.server.conftest import ECHO, Client, Serve, Served, request_frame, serve

__all__ = ["serve"]

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


def bench() -> tuple[Seams, Faults]:
    seams, faults = Seams(), Faults()
    BenchHooks(seams, faults)
    return seams, faults


def add(faults: Faults, **fields: Any) -> Fault:
    [fault] = faults.add([msgspec.convert(fields, Rule)])
    return fault


async def is_served(served: Served) -> bool:
    client = await served.connect()
    await client.send(request_frame(ECHO, b"a"))
    return await client.answer() == (1, b"a")


async def closed_by(client: Client) -> int:
    """Wait for the end of a connection; the error of it, 0 if it was closed in the usual way."""
    await anyio.wait_readable(client.sock)
    code = client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return code or (0 if client.sock.recv(1) == b"" else -1)


@pytest.mark.parametrize(("how", "error"), [("refuse", 0), ("reset", errno.ECONNRESET)])
async def test_a_client_is_kept_out(serve: Serve, how: str, error: int) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, accept=how, nodes=[1], client_address="127.*")
        assert seams.gate is not None
        assert await closed_by(await served.connect()) == error
        assert (fault.hits, seams.gate) == (1, None)
        assert await is_served(served)


async def test_a_client_that_hangs_is_let_go_with_the_rule(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, accept="hang", listener="PLAINTEXT", count=2)
        first, gone = await served.connect(), await served.connect()
        await first.send(request_frame(ECHO, b"a"))
        await served.until(lambda: fault.hits == 2)
        assert faults.gate.hanging == fault.state().held == 2
        assert await is_served(served)
        gone.close()
        await served.until(lambda: faults.gate.hanging == 1)
        faults.remove(fault.id)
        assert await closed_by(first) in (0, errno.ECONNRESET)
        assert faults.gate.hanging == fault.state().held == 0


async def test_a_client_that_hangs_uses_a_descriptor_until_it_goes(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accept, "_SWEEP_S", 0.01)
    seams, faults = bench()
    async with serve(seams=seams, clients_max=1) as served:
        fault = add(faults, accept="hang")
        hanging = await served.connect()
        await served.until(lambda: fault.held == 1)
        waiting = await served.connect()
        await waiting.send(request_frame(ECHO, b"a"))
        await anyio.sleep(0.05)
        assert served.node.connection_count == 0
        hanging.close()
        assert await waiting.answer() == (1, b"a")
        assert fault.held == 0  # though the rule is spent, and nobody has connected


async def test_others_are_served_and_told_of(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, accept="refuse", nodes=[2])
        assert await is_served(served)
        assert fault.near() == ["a client from 127.0.0.1: node 1 is not 2"]
        faults.clear()
        assert seams.gate is None

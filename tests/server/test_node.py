"""Listeners, limits and the end: P-11, P-12, P-16.

Also tests: broker_lite.server.listener.
"""

import gc
import os
import resource
import socket
import struct
import time

import anyio
import psutil
import pytest

from broker_lite.errors import SettingsError
from broker_lite.handler.context import HandlerContext, ListenerInfo, Parts, Request
from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.listener import ListenerAddress, bind, plain_address
from tests.server.conftest import ECHO, PARKED, SILENT, Serve, echo, request_frame
from tests.support.toolchain import lacking

pytestmark = pytest.mark.anyio


async def test_p_16_stops_within_a_second(serve: Serve) -> None:
    async with serve() as served:
        parked, idle = await served.connect(), await served.connect()
        await parked.send(request_frame(PARKED))
        await served.parking.entered.wait()
        await served.until(lambda: served.node.connection_count == 2)
        started = time.monotonic()
        served.node.stop()
        await served.ended.wait()
        assert time.monotonic() - started < 1
        assert served.parking.ended == ["cancelled"]
        assert await parked.is_closed()
        assert await idle.is_closed()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(served.addresses[0])


async def test_p_16_what_is_in_flight_is_finished(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(PARKED) + request_frame(ECHO, b"not any more"))
        await served.parking.entered.wait()
        served.node.stop()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        served.parking.release.set()
        assert await client.answer() == (1, b"late")
        assert await client.is_closed()


async def test_p_12_max_connections(serve: Serve) -> None:
    async with serve(limits=Limits(connections_max=2)) as served:
        first, second = await served.connect(), await served.connect()
        await served.until(lambda: served.node.connection_count == 2)
        third = await served.connect()
        assert await third.is_closed()
        first.close()
        await served.until(lambda: served.node.connection_count == 1)
        fourth = await served.connect()
        for client in (second, fourth):
            await client.send(request_frame(ECHO, b"in"))
            assert await client.answer() == (1, b"in")


async def test_p_12_max_connections_per_ip(serve: Serve) -> None:
    async with serve(limits=Limits(connections_per_ip_max=1)) as served:
        first = await served.connect()
        await served.until(lambda: served.node.connection_count == 1)
        assert await (await served.connect()).is_closed()
        first.close()
        await served.until(lambda: served.node.connection_count == 0)
        again = await served.connect()
        await again.send(request_frame(ECHO, b"in"))
        assert await again.answer() == (1, b"in")


async def test_p_11_idle_connections_are_closed(serve: Serve) -> None:
    async with serve(limits=Limits(connections_max_idle_ms=100)) as served:
        idle, parked = await served.connect(), await served.connect()
        await parked.send(request_frame(PARKED))
        assert await idle.is_closed()
        # A connection with a request in progress is not idle.
        served.parking.release.set()
        assert await parked.answer() == (1, b"late")
        assert await parked.is_closed()


async def test_p_11_an_answer_that_is_not_taken_is_not_a_request_in_progress(serve: Serve) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(16 << 20)]

    async with serve({SILENT: large}, Limits(connections_max_idle_ms=100)) as served:
        slow = await served.connect(receive_buffer_bytes=4096)
        await slow.send(request_frame(SILENT))
        await slow.receive(1)
        await served.until(lambda: served.node.connection_count == 0)


async def test_a_long_poll_for_nobody_ends_behind_unread_bytes(serve: Serve) -> None:
    async with serve(limits=Limits(connections_max_idle_ms=100)) as served:
        client, staying = await served.connect(), await served.connect()
        await client.send(request_frame(PARKED))
        await served.parking.entered.wait()
        await client.send(request_frame(ECHO))
        await staying.send(request_frame(PARKED) + request_frame(ECHO, correlation_id=2))
        client.close()
        await served.parking.has_ended.wait()
        assert served.parking.ended == ["cancelled"]
        await served.until(lambda: served.node.connection_count == 1)
        served.parking.release.set()
        assert await staying.answer() == (1, b"late")
        assert await staying.answer() == (2, b"")


@pytest.mark.parametrize("end", ["closed", "reset", "broken"])
async def test_a_connection_leaves_nothing_for_the_garbage_collector(
    serve: Serve, end: str
) -> None:
    """It would keep the receive buffer, and full collections take long in a large broker."""
    closed: list[int] = []

    def are_gone() -> bool:
        kinds = (ClientConnection, HandlerContext)
        return not any(isinstance(each, kinds) for each in gc.get_objects())

    def has_to_be_told() -> None:
        (context,) = [each for each in gc.get_objects() if isinstance(each, HandlerContext)]
        context.at_close["a session"] = lambda: closed.append(context.connection_id)

    gc.collect()
    gc.disable()
    try:
        async with serve() as served:
            client = await served.connect()
            await client.send(request_frame(ECHO))
            await client.answer()
            assert not are_gone()
            has_to_be_told()
            if end == "reset":
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if end == "broken":
                await client.send(struct.pack(">i", -1))
                assert await client.receive(1) == b""
            client.close()
            await served.until(are_gone)
            assert len(closed) == 1
    finally:
        gc.enable()


async def test_p_02_the_limit_of_requests_without_records_is_a_setting(serve: Serve) -> None:
    async with serve({SILENT: echo}, Limits(control_bytes_max=1000)) as served:
        client = await served.connect()
        await client.send(request_frame(SILENT, bytes(990)))
        assert await client.answer() == (1, bytes(990))
        await client.send(request_frame(SILENT, bytes(991)))
        assert await client.is_closed()


async def test_several_listeners(serve: Serve) -> None:
    async def name(context: HandlerContext, request: Request) -> Parts | None:
        assert context.client_address[0] == context.local_address[0]
        return [b"%s %d" % (context.listener.name.encode(), context.local_address[1])]

    async with serve({SILENT: name}, listeners=("INTERNAL", "EXTERNAL")) as served:
        for number, listener in enumerate((b"INTERNAL", b"EXTERNAL")):
            client = await served.connect(listener=number)
            await client.send(request_frame(SILENT))
            port = served.addresses[number][1]
            assert await client.answer() == (1, b"%s %d" % (listener, port))


async def test_no_descriptor_left_is_survived(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await served.until(lambda: served.node.connection_count == 1)
        late = await served.connect()
        await served.until(lambda: served.node.connection_count == 2)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        waiting = socket.socket()
        waiting.setblocking(False)
        resource.setrlimit(resource.RLIMIT_NOFILE, (waiting.fileno() + 1, limits[1]))
        spare = []
        try:
            while True:
                spare.append(os.dup(0))
        except OSError:
            pass
        try:
            with pytest.raises(BlockingIOError):
                waiting.connect(served.addresses[0])
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            await late.send(request_frame(ECHO, b"served"))
            assert await late.answer() == (1, b"served")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for fd in spare:
                os.close(fd)
        await served.until(lambda: served.node.connection_count == 3)
        waiting.close()
        client.close()


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"127.0.0.1:{port}: Address already in use"):
            bind(ListenerAddress(ListenerInfo("PLAINTEXT"), "127.0.0.1", port), backlog=5)


@pytest.mark.parametrize("host", ["203.0.113.1", "no-such-host.invalid", "a" * 70])
def test_an_address_of_another_machine_is_one_line(host: str) -> None:
    with pytest.raises(SettingsError, match=f"cannot listen on {host}:0: ") as caught:
        bind(ListenerAddress(ListenerInfo("PLAINTEXT"), host, 0), backlog=5)
    assert "\n" not in str(caught.value)
    assert "Errno" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0"])
def test_names_prefer_ipv4(host: str) -> None:
    with bind(ListenerAddress(ListenerInfo("PLAINTEXT"), host, 0), backlog=5) as sock:
        assert sock.family == socket.AF_INET


@pytest.mark.parametrize("client_host", ["127.0.0.1", "::1"])
def test_p_75_without_a_host_every_address_is_listened_on(client_host: str) -> None:
    if not socket.has_dualstack_ipv6():
        lacking("IPv6")
    with bind(ListenerAddress(ListenerInfo("PLAINTEXT"), "", 0), backlog=5) as sock:
        port = sock.getsockname()[1]
        with socket.create_connection((client_host, port)) as client:
            assert plain_address(client.getpeername()) == (client_host, port)


def test_without_ipv6_in_the_kernel_every_address_is_one_of_ipv4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with bind(ListenerAddress(ListenerInfo("PLAINTEXT"), "", 0), backlog=5) as sock:
        assert sock.getsockname()[0] == "0.0.0.0"


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        (("127.0.0.1", 1), ("127.0.0.1", 1)),
        (("::ffff:127.0.0.1", 1, 0, 0), ("127.0.0.1", 1)),
        (("::1", 1, 0, 0), ("::1", 1)),
        (("::ffff:0:1", 1, 0, 0), ("::ffff:0:1", 1)),
    ],
)
def test_p_75_an_ipv4_client_at_an_ipv6_socket(
    address: tuple[object, ...], plain: tuple[str, int]
) -> None:
    assert plain_address(address) == plain


@pytest.mark.slow
async def test_an_idle_connection_costs_little(serve: Serve) -> None:
    async with serve() as served:
        await served.connect()
        gc.collect()
        # Both ends are in this process, so the clients are a part of what is measured.
        before = psutil.Process().memory_info().rss
        clients = [await served.connect() for _ in range(400)]
        for client in clients:
            await client.send(request_frame(ECHO, b"x"))
            await client.answer()
        await served.until(lambda: served.node.connection_count == 401)
        assert (psutil.Process().memory_info().rss - before) / 400 < 30_000

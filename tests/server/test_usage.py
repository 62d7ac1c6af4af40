"""What a connection waits for, with real sockets."""

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.log.files.open_file import FileSlice
from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.tcp_state import tcp_counts
from broker_lite.server.usage import Usage, usage_of
from broker_lite.testbench.limits import Busy, Limit, limit_of, load_between
from tests.server.conftest import ECHO, PARKED, SILENT, Serve, Served, request_frame, silent

pytestmark = pytest.mark.anyio
# linux/socket.h; the socket module does not name it
SO_MAX_PACING_RATE = 47
FILE_BYTES = 2_000_000


def only(served: Served) -> ClientConnection:
    (connection,) = served.node.connections
    return connection


async def test_the_kernel_counts_bytes(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        frame = request_frame(PARKED)
        await client.send(frame)
        await served.parking.entered.wait()
        assert only(served).requests == 1
        assert tcp_counts(only(served).stream.sock).in_bytes == len(frame)
        served.parking.release.set()
        await client.answer()
        assert tcp_counts(only(served).stream.sock).out_bytes > 0


async def test_who_does_not_ask_is_waited_for(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(PARKED))
        await served.parking.entered.wait()
        before = usage_of(only(served))
        await anyio.sleep(0.05)
        between = usage_of(only(served))
        assert between.not_asking_s == before.not_asking_s
        served.parking.release.set()
        await client.answer()
        await anyio.sleep(0.05)
        assert usage_of(only(served)).not_asking_s >= between.not_asking_s + 0.04


async def test_who_gets_no_memory_waits_for_the_broker(serve: Serve) -> None:
    async with serve({ECHO: silent}, Limits(request_memory_bytes=4 << 20)) as served:
        first = await served.connect()
        await first.send(request_frame(ECHO, bytes(5 << 20))[: 1 << 19])
        await served.until(lambda: any(each.events for each in served.node.connections))
        second = await served.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(second.send, request_frame(ECHO, bytes(3 << 20)))
            await served.until(
                lambda: any(each.stream.waits_for_memory for each in served.node.connections)
            )
            (waiting,) = (each for each in served.node.connections if each.stream.waits_for_memory)
            before = usage_of(waiting)
            await anyio.sleep(0.05)
            between = usage_of(waiting)
            assert between.not_asking_s == before.not_asking_s
            assert between.arriving_s == before.arriving_s
            first.close()  # its memory is free, and the rest arrives
            await served.until(lambda: waiting.requests > 0)
        await anyio.sleep(0.05)
        after = usage_of(waiting)
        assert after.not_asking_s >= between.not_asking_s + 0.04
        assert after.arriving_s - between.arriving_s < after.at_s - between.at_s


@pytest.mark.parametrize("is_paced", [True, False])
async def test_a_slow_network_and_a_slow_reader_are_told_apart(
    serve: Serve, tmp_path: Path, is_paced: bool
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(FILE_BYTES))

    async def file(context: HandlerContext, request: Request) -> Parts | None:
        if is_paced:
            sock = only(served).stream.sock
            sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, FILE_BYTES // 2)
        return [b"head", FileSlice(fd, 0, FILE_BYTES, None), b"tail"]

    with ExitStack() as stack:
        fd = os.open(path, os.O_RDONLY)
        stack.callback(os.close, fd)
        async with serve({SILENT: file}) as served:
            client = await served.connect(receive_buffer_bytes=0 if is_paced else 16_384)
            await served.until(lambda: bool(served.node.connections))
            before = usage_of(only(served))
            await client.send(request_frame(SILENT))
            if not is_paced:
                await anyio.sleep(0.5)
            await client.receive(FILE_BYTES // 2)
            found = limit_between(before, usage_of(only(served)))
            assert found is (Limit.NETWORK if is_paced else Limit.NOT_READING)


async def test_a_request_that_arrives_in_parts_is_waited_for(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        frame = request_frame(PARKED)
        await client.send(frame[:6])
        await served.until(lambda: bool(served.node.connections))
        await served.until(lambda: only(served).stream.arriving.is_running)
        await anyio.sleep(0.05)
        await client.send(frame[6:])
        await served.parking.entered.wait()
        found = usage_of(only(served))
        assert 0.04 <= found.arriving_s <= found.not_asking_s
        assert not only(served).stream.arriving.is_running
        served.parking.release.set()
        await client.answer()


async def test_the_rest_of_a_request_behind_another_is_waited_for(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(ECHO) + request_frame(ECHO)[:6])
        await client.answer()
        await served.until(lambda: only(served).stream.arriving.is_running)


def limit_between(before: Usage, after: Usage) -> Limit:
    busy = Busy(0.1, 0.0)
    return limit_of(load_between(before, after, busy), busy)

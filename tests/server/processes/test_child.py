"""A process that does not end, as the first one sees it."""

import logging
import socket
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.server.processes import child as module
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import Channel, Kind
from broker_lite.server.processes.child import Child
from broker_lite.server.processes.feed import Feed
from broker_lite.server.processes.plan import Hello, Plan
from broker_lite.server.processes.serving import Serving
from broker_lite.server.processes.spawning import Spawned

pytestmark = pytest.mark.anyio

HELLO = Hello("AAAAAAAAAAAAAAAAAAAAAQ", True, [], [], "h:1")


class Process:
    """Ends when it is killed."""

    def __init__(self) -> None:
        self.timeouts_s: list[float] = []

    def wait(self, timeout_s: float) -> int:
        self.timeouts_s.append(timeout_s)
        return -9


class Scene:
    """A child whose process says what a test lets it say."""

    def __init__(self) -> None:
        self.fenced: list[int] = []
        self.process = Process()
        self.child = Child(2, [], 3600.0)
        self.ready = anyio.Event()
        self.end = ""

    async def live(self, sock: socket.socket) -> None:
        membership = SimpleNamespace(fence=self.fenced.append)
        cluster = SimpleNamespace(membership=membership, register=lambda *_: None)
        self.end = await self.child.run(
            (cast("Spawned", self.process), sock),
            cast("Plan", SimpleNamespace(encode=lambda: b"plan")),
            cast("Cluster", cluster),
            cast("Feed", SimpleNamespace(catch_up=_nothing, forget=lambda _: None)),
            cast("Serving", None),
            self.ready.set,
        )


async def _nothing(*_: object) -> bytes:
    return b""


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_process_that_hangs_as_it_stops_is_ended(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_told: bool
) -> None:
    monkeypatch.setattr(module, "_WRITE_TIMEOUT_S", 0.05)
    caplog.set_level(logging.INFO, "broker_lite.server")
    own, other = socket.socketpair()
    scene = Scene()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(scene.live, own)
            channel = await Channel.open(other, _nothing, _nothing)
            group.start_soon(channel.run)
            await channel.call(bytes((Call.HELLO,)), HELLO.encode())
            await scene.ready.wait()
            if is_told:
                scene.child.stop()
            channel.tell(Kind.LEAVING)
    assert scene.end == "SIGKILL"
    assert "process hangs as it stops and is ended node=2" in caplog.text
    assert scene.process.timeouts_s == [1.0]
    # Nobody is left to see it when all stop.
    assert scene.fenced == ([] if is_told else [2])

"""Descriptors of clients, and those that are kept for log files."""

import logging
import resource
import subprocess
import sys
from collections.abc import Iterator

import anyio
import pytest

from broker_lite.rate_limited_log import LINES_MAX, RateLimitedLog
from broker_lite.server.limits.descriptors import (
    ClientDescriptors,
    clients_max,
    raise_descriptor_limit,
)
from tests.server.conftest import ECHO, Serve, request_frame

pytestmark = pytest.mark.anyio


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_is_raised_to_what_the_system_allows() -> None:
    program = (
        "import resource as r; "
        "from broker_lite.server.limits.descriptors import raise_descriptor_limit; "
        "r.setrlimit(r.RLIMIT_NOFILE, (200, 300)); raise_descriptor_limit(); "
        "print(r.getrlimit(r.RLIMIT_NOFILE))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stdout == "(300, 300)\n", ended.stderr


def test_a_limit_that_cannot_be_raised_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    raise_descriptor_limit()
    assert "the limit of descriptors stays at" in caplog.text


@pytest.mark.parametrize(
    ("limit", "open_files", "expected"),
    [(1024, 256, 640), (1024, 100, 835), (128, 32, 24), (64, 16, 8)],
)
def test_what_is_left_for_clients(
    limits: tuple[int, int], limit: int, open_files: int, expected: int
) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
    assert clients_max(open_files) == expected


def test_without_a_limit_all_clients_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (-1, -1))
    assert clients_max(16_384) > 1_000_000


async def test_accepting_pauses_and_goes_on(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serve(clients_max=2) as served:
        first, second = await served.connect(), await served.connect()
        await served.until(lambda: served.node.connection_count == 2)
        third = await served.connect()
        await third.send(request_frame(ECHO, b"waits"))
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        assert served.node.connection_count == 2
        await second.send(request_frame(ECHO, b"served"))
        assert await second.answer() == (1, b"served")
        first.close()
        assert await third.answer() == (1, b"waits")
        assert served.node.connection_count == 2
    assert caplog.text.count("accepting no clients until one goes") == 1
    assert caplog.text.count("accepting clients again") == 1


async def test_the_log_tells_of_a_few_pauses(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    descriptors = ClientDescriptors(1, RateLimitedLog(lambda: 0))
    await descriptors.wait()
    for _ in range(20):
        descriptors.take()
        async with anyio.create_task_group() as group:
            group.start_soon(descriptors.wait)
            await anyio.lowlevel.checkpoint()
            descriptors.give_back()
    assert caplog.text.count("accepting no clients") == LINES_MAX
    assert caplog.text.count("accepting clients again clients=0") == LINES_MAX

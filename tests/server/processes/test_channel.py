"""Both ends of a channel in one loop.

Also tests: broker_lite.server.processes.calls.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import (
    ANSWERS_BYTES_MAX,
    UNSENT_BYTES_MAX,
    CallFailed,
    Channel,
    ChannelClosed,
    Kind,
)


class End:
    """One end, which keeps what it is told."""

    def __init__(self) -> None:
        self.taken: list[tuple[Kind, bytes]] = []
        self.answer: Callable[[bytes], Awaitable[bytes]] = self.echo
        self.channel: Channel

    async def echo(self, payload: bytes) -> bytes:
        return payload[::-1]

    async def take(self, kind: Kind, payload: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        self.taken.append((kind, payload))

    async def open(self, sock: socket.socket) -> None:
        async def answer(payload: bytes) -> bytes:
            return await self.answer(payload)

        self.channel = await Channel.open(sock, answer, self.take)


@asynccontextmanager
async def ends(*, is_read: bool = True) -> AsyncIterator[tuple[End, End]]:
    one, other = socket.socketpair()
    here, there = End(), End()
    await here.open(one)
    await there.open(other)
    async with anyio.create_task_group() as group:
        group.start_soon(here.channel.run)
        if is_read:
            group.start_soon(there.channel.run)
        yield here, there
        here.channel.close()
        there.channel.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    asyncio.run(main())


def test_a_call_is_answered() -> None:
    async def test() -> None:
        async with ends() as (here, there):
            assert await here.channel.call(bytes((Call.ASK,)), b"ab") == b"ba\x01"
            assert await there.channel.call(b"x" * 3_000_000) == b"x" * 3_000_000

    run(test)


def test_calls_do_not_wait_for_each_other() -> None:
    async def test() -> None:
        async with ends() as (here, there):
            gate = anyio.Event()

            async def slow(payload: bytes) -> bytes:
                if payload == b"slow":
                    await gate.wait()
                return payload

            there.answer = slow
            waiting = asyncio.create_task(here.channel.call(b"slow"))
            assert await here.channel.call(b"quick") == b"quick"
            gate.set()
            assert await waiting == b"slow"

    run(test)


def test_what_is_told_before_an_answer_is_taken_before_it() -> None:
    async def test() -> None:
        async with ends() as (here, there):

            async def answer(_: bytes) -> bytes:
                there.channel.tell(Kind.METADATA, b"1")
                there.channel.tell(Kind.METADATA, b"2")
                return b""

            there.answer = answer
            await here.channel.call(b"")
            assert here.taken == [(Kind.METADATA, b"1"), (Kind.METADATA, b"2")]

    run(test)


def test_a_call_that_is_given_up_is_cancelled_at_the_other_end() -> None:
    async def test() -> None:
        async with ends() as (here, there):
            begun, cancelled = anyio.Event(), anyio.Event()

            async def wait(_: bytes) -> bytes:
                begun.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    cancelled.set()

            there.answer = wait
            waiting = asyncio.create_task(here.channel.call(b""))
            await begun.wait()
            waiting.cancel()
            await cancelled.wait()
            there.answer = there.echo
            assert await here.channel.call(b"ab") == b"ba"

    run(test)


def test_a_bug_fails_the_call_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with ends() as (here, there):

            async def break_down(_: bytes) -> bytes:
                raise RuntimeError("bug")

            there.answer = break_down
            with pytest.raises(CallFailed, match="bug"):
                await here.channel.call(b"")
            there.answer = there.echo
            assert await here.channel.call(b"ab") == b"ba"

    run(test)
    assert "call of another process failed" in caplog.text


def test_calls_fail_when_the_other_end_closes() -> None:
    async def test() -> None:
        async with ends() as (here, there):

            async def close(_: bytes) -> bytes:
                there.channel.close()
                return b""

            there.answer = close
            with pytest.raises(ChannelClosed):
                await here.channel.call(b"")
            with pytest.raises(ChannelClosed):
                await here.channel.call(b"")
            here.channel.tell(Kind.STOP)

    run(test)


def test_what_is_told_to_a_process_that_was_just_killed_is_lost_and_nothing_else() -> None:
    async def test() -> None:
        one, other = socket.socketpair()
        here = End()
        await here.open(one)
        other.close()
        for _ in range(3):  # the first write fails; run() has not seen the end yet
            here.channel.tell(Kind.METADATA, b"a record")
            await anyio.sleep(0.01)
        with pytest.raises(ChannelClosed):
            await here.channel.call(b"")
        here.channel.close()

    anyio.run(test, backend="asyncio", backend_options={"use_uvloop": True})


def test_what_is_told_before_the_end_arrives() -> None:
    async def test() -> None:
        async with ends() as (here, there):
            there.channel.tell(Kind.REFUSED, b"y" * 1_000_000)
            await there.channel.finish()
            while not here.taken:
                await anyio.lowlevel.checkpoint()
            assert here.taken == [(Kind.REFUSED, b"y" * 1_000_000)]

    run(test)


def test_an_end_that_reads_nothing_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with ends(is_read=False) as (here, _):
            part = bytes(UNSENT_BYTES_MAX // 4)
            for _each in range(6):
                here.channel.tell(Kind.METADATA, part)
            with pytest.raises(ChannelClosed):
                await here.channel.call(b"")

    run(test)
    assert "another process does not read" in caplog.text


def test_large_answers_wait_until_there_is_room() -> None:
    async def test() -> None:
        one, other = socket.socketpair()
        here, there = End(), End()
        await here.open(one)
        await there.open(other)
        part = ANSWERS_BYTES_MAX // 4

        async def large(_: bytes) -> bytes:
            return bytes(part)

        there.answer = large
        async with anyio.create_task_group() as group:
            group.start_soon(there.channel.run)
            calls = [asyncio.create_task(here.channel.call(b"")) for _ in range(9)]
            for _ in range(100):  # nobody reads the answers yet
                await anyio.lowlevel.checkpoint()
            group.start_soon(here.channel.run)
            found = await asyncio.gather(*calls, return_exceptions=True)
            here.channel.close()
            there.channel.close()
        answered = [one for one in found if isinstance(one, bytes)]
        refused = [one for one in found if isinstance(one, CallFailed)]
        assert len(answered) + len(refused) == 9
        assert 4 <= len(answered) < 9
        assert all(len(one) == part for one in answered)

    run(test)

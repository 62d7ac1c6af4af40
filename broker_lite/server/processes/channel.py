"""The socket between the first process and another one: messages in order, calls and their answers.

A frame is its size, its kind, a number, and a payload. Frames arrive in the order in which they
were sent, so an answer comes after the metadata that was written before it.
"""

import asyncio
import itertools
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import IntEnum
from typing import Final, Self

import anyio
from anyio.abc import TaskGroup

logger = logging.getLogger("broker_lite.server")

UNSENT_BYTES_MAX: Final = 64 * 1024 * 1024
"""A process that leaves so much unread hangs, and its channel is closed."""

ANSWERS_BYTES_MAX: Final = 64 * 1024 * 1024
"""So much may wait in large answers until the other process has read what was sent before; one more
large answer is not given, unless it is alone."""
LARGE_BYTES: Final = 64 * 1024
"""What is larger waits until the other process has read nearly all that was sent before."""

_UNREAD_BYTES: Final = 1024 * 1024
_HEAD: Final = struct.Struct(">IBQ")
_NO_NUMBER: Final = 0


class Kind(IntEnum):
    """What a frame is."""

    CALL = 0
    ANSWER = 1
    FAILURE = 2
    CANCEL = 3
    START = 4
    METADATA = 5
    BEGIN = 6
    NODES = 7
    STOP = 8
    STEP = 9
    REFUSED = 10
    HOOKS = 11
    HEARTBEAT = 12
    LEAVING = 13
    SHARE_STARTS = 14


class ChannelClosed(Exception):
    """The other process has ended, or will."""


class CallFailed(Exception):
    """The other process could not answer; it has logged why."""


Answer = Callable[[bytes], Awaitable[bytes]]
Take = Callable[[Kind, bytes], Awaitable[None]]


class Channel:
    """One end of the socket; used by the event loop."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer, take: Take
    ) -> None:
        """Use an open connection; run() reads from it.

        Args:
            reader: of the socket.
            writer: of the socket.
            answer: answers a call; it is cancelled when the caller has gone.
            take: takes the other frames, one after the other, before the next frame is read.
        """
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._take = take
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._answering: dict[int, anyio.CancelScope] = {}
        self._is_closed = False
        self._waiting_bytes = 0
        self._turn = anyio.Lock()
        writer.transport.set_write_buffer_limits(high=_UNREAD_BYTES)

    @property
    def _is_lost(self) -> bool:
        """Whether nothing can be sent: a write may have failed before run() sees the end."""
        return self._is_closed or self._writer.transport.is_closing()

    @classmethod
    async def open(cls, sock: socket.socket, answer: Answer, take: Take) -> Self:
        """Take over a connected stream socket."""
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        return cls(reader, writer, answer, take)

    async def run(self) -> None:
        """Read frames until the other end closes; then calls that wait for an answer fail."""
        try:
            async with anyio.create_task_group() as group:
                try:
                    while True:
                        await self._read_one(group)
                except (OSError, asyncio.IncompleteReadError):
                    pass
                group.cancel_scope.cancel()
        finally:
            self.close()

    async def _read_one(self, group: TaskGroup) -> None:
        size, code, number = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
        payload = await self._reader.readexactly(size)
        kind = Kind(code)
        if kind is Kind.CALL:
            scope = self._answering[number] = anyio.CancelScope()
            group.start_soon(self._serve, number, payload, scope)
        elif kind is Kind.CANCEL:
            called = self._answering.get(number)
            if called is not None:
                called.cancel()
        elif kind in (Kind.ANSWER, Kind.FAILURE):
            self._take_answer(kind, number, payload)
        else:
            await self._take(kind, payload)

    def _take_answer(self, kind: Kind, number: int, payload: bytes) -> None:
        future = self._waiting.get(number)
        if future is None or future.done():
            return
        if kind is Kind.ANSWER:
            future.set_result(payload)
        else:
            future.set_exception(CallFailed(payload.decode()))

    async def _serve(self, number: int, payload: bytes, scope: anyio.CancelScope) -> None:
        kind, answer = Kind.FAILURE, b"cancelled"
        with scope:
            try:
                kind, answer = Kind.ANSWER, await self._answer(payload)
            except Exception as bug:  # the caller gets an error, and goes on
                logger.exception("call of another process failed")
                kind, answer = Kind.FAILURE, repr(bug).encode()
        del self._answering[number]
        if scope.cancelled_caught:
            return
        if len(answer) > LARGE_BYTES:
            if self._waiting_bytes and self._waiting_bytes + len(answer) > ANSWERS_BYTES_MAX:
                kind, answer = Kind.FAILURE, b"too many large answers wait"
            else:
                await self._send_large(kind, number, answer)
                return
        if not self._is_lost:
            self._send(kind, number, answer)

    async def _send_large(self, kind: Kind, number: int, *parts: bytes) -> None:
        """Send when nearly all is read that was sent before; one after the other."""
        size_bytes = sum(map(len, parts))
        self._waiting_bytes += size_bytes
        try:
            async with self._turn:
                await self.drain()
                if not self._is_lost:
                    self._write(kind, number, *parts)
        except ChannelClosed:
            pass  # who waits for it is told by close()
        finally:
            self._waiting_bytes -= size_bytes

    async def call(self, *parts: bytes) -> bytes:
        """Ask the other process, and return its answer; a cancellation is told to it.

        Raises:
            ChannelClosed: it has ended.
            CallFailed: it could not answer.
        """
        number = next(self._numbers)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self._is_lost:
            raise ChannelClosed
        self._waiting[number] = future
        try:
            if sum(map(len, parts)) > LARGE_BYTES:
                await self._send_large(Kind.CALL, number, *parts)
            else:
                self._send(Kind.CALL, number, *parts)
            return await future
        except asyncio.CancelledError:
            if not self._is_lost:
                self._send(Kind.CANCEL, number)
            raise
        finally:
            del self._waiting[number]

    def tell(self, kind: Kind, payload: bytes = b"") -> None:
        """Send something that has no answer; nothing happens if the other process has ended."""
        if not self._is_lost:
            self._send(kind, _NO_NUMBER, payload)

    async def drain(self) -> None:
        """Wait until the other process has read nearly everything.

        Raises:
            ChannelClosed: it has ended.
        """
        try:
            await self._writer.drain()
        except OSError as error:
            raise ChannelClosed from error

    def _send(self, kind: Kind, number: int, *parts: bytes) -> None:
        if self._is_lost:
            raise ChannelClosed
        self._write(kind, number, *parts)
        if self._writer.transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            logger.error("another process does not read, its channel is closed")
            self.close()

    def _write(self, kind: Kind, number: int, *parts: bytes) -> None:
        size = sum(map(len, parts))
        self._writer.write(b"".join((_HEAD.pack(size, kind, number), *parts)))

    async def finish(self) -> None:
        """Close the socket when everything is sent, or the other end is closed."""
        with suppress(OSError):
            self._writer.close()
            await self._writer.wait_closed()
        self.close()

    def close(self) -> None:
        """Close the socket; calls that wait for an answer fail."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._writer.transport.is_closing():
            self._writer.transport.abort()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ChannelClosed())

"""Receive from and send to one client's socket, as it becomes readable and writable.

The reader is registered once and stays: a request that is answered at once costs one poll, one
receive and one send. The readiness callback receives the bytes. The connection answers a request
right there if nothing has to be waited for; for any other one its task is woken. While the
connection wants no bytes, a client that goes on sending pauses the registration (its bytes wait in
the kernel: backpressure). A client that goes away while its request is being handled is reported,
so that its long poll ends. Resets reports a connection that is reset: after an error uvloop calls
no reader any more, so the rest is received without the loop.
"""

import socket
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from broker_lite.handler.context import Rest
from broker_lite.protocol.framing import Request, RequestFraming
from broker_lite.protocol.request_memory import NoMemory, Pool
from broker_lite.server.departures import Departures
from broker_lite.server.resets import Resets
from broker_lite.server.security.tls_socket import TlsSocket
from broker_lite.server.sendfile import Outgoing
from broker_lite.server.tcp_state import is_closed_by_client
from broker_lite.stopwatch import Stopwatch

Received: TypeAlias = tuple[Request, Rest | None]
"""A request that the connection's task is woken for; and, if it has begun, what is left to do."""

# After so many full buffers for one event, other connections have their turn.
_RECEIVES_PER_EVENT: Final = 16


class Stream:
    """A connected non-blocking socket and the framing of the bytes that arrive on it.

    The connection sets `handling` while a handler runs. `is_sending` is set while the client has
    not read all of an answer. `events` counts receives and sends, so that idle connections can be
    found. `not_asking` runs while a whole request is waited for, `arriving` while a part of one is
    there, `not_reading` while the client has to make room for the rest of an answer.
    """

    __slots__ = (
        "_answer",
        "_departures",
        "_is_reset",
        "_loop",
        "_on_gone",
        "_pool",
        "_reading",
        "_resets",
        "_tls",
        "_waiter",
        "arriving",
        "events",
        "fd",
        "framing",
        "handling",
        "is_sending",
        "not_asking",
        "not_reading",
        "sock",
    )

    def __init__(
        self,
        sock: socket.socket,
        framing: RequestFraming,
        loop: AbstractEventLoop,
        on_gone: Callable[[], object],
        resets: Resets,
        departures: Departures,
        answer: Callable[[Request], Received | None],
    ) -> None:
        """Take over a socket; close() gives it back to the system.

        Args:
            sock: connected and non-blocking.
            framing: takes what is received.
            loop: the running loop.
            on_gone: called when the client has closed while `handling`.
            resets: of the node; calls when the connection is reset.
            departures: of the node; ends this connection, a little later, when its client has gone.
            answer: called with a whole request while the connection waits for one. Answers it, and
                those that follow it, and returns None; or returns what wakes the task.
        """
        self.sock = sock
        self._tls = sock if isinstance(sock, TlsSocket) else None
        self.fd = sock.fileno()
        self.framing = framing
        self.handling = False
        self.is_sending = False
        self.events = 0
        self.not_asking = Stopwatch()
        self.arriving = Stopwatch()
        self.not_reading = Stopwatch()
        self._loop = loop
        self._on_gone = on_gone
        self._answer = answer
        self._resets = resets
        self._departures = departures
        self._reading = False
        self._is_reset = False
        # The pool in whose line this connection waits, because it needs memory to receive.
        self._pool: Pool | None = None
        self._waiter: Future[Received | None] | None = None
        resets.watch(self.fd, self._on_reset)

    @property
    def is_waiting(self) -> bool:
        """True if the connection waits for a request."""
        return self._waiter is not None

    @property
    def waits_for_memory(self) -> bool:
        """True if nothing is received until other connections give memory back."""
        return self._pool is not None

    def is_closed_by_client(self) -> bool:
        """True if the client has closed, even if unread bytes hide that."""
        try:
            return is_closed_by_client(self.sock)
        except OSError:
            return True

    async def receive_request(self) -> Received | None:
        """Wait for the next whole request that is not answered at once.

        Returns:
            None if the client has closed, or finish() was called.

        Raises:
            ProtocolError, DecodeError: see RequestFraming.next_request().
            OSError: the connection is lost.
            Exception: what `answer` has raised.
        """
        self.framing.rest()
        if not self._reading:
            self._resume()
        waiter: Future[Received | None] = self._loop.create_future()
        self._waiter = waiter
        if self._tls is not None and self._tls.has_more:
            self._loop.call_soon(self._on_readable)
        self._wait()
        try:
            return await waiter
        finally:
            self.not_asking.run(False)
            self.arriving.run(False)
            self._waiter = None
            del waiter  # its error refers to this frame, and a cycle would keep both

    async def send_rest(self, outgoing: Outgoing) -> None:
        """Send the rest of an answer whenever the client makes room, until all is sent.

        Raises:
            TruncatedFile, OSError: see Outgoing.advance().
        """
        waiter: Future[None] = self._loop.create_future()
        self._loop.add_writer(self.fd, self._on_writable, outgoing, waiter)
        self.is_sending = True
        self.not_reading.start()
        try:
            await waiter
        finally:
            self.not_reading.stop()
            self.is_sending = False
            self._loop.remove_writer(self.fd)
            del waiter  # see receive_request()

    def finish(self) -> None:
        """Make a waiting receive_request() return None."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Close the socket; tasks that wait here must have been cancelled before."""
        # The owner refers to this stream. Without the reference back, both are freed at once, with
        # the receive buffer, and no garbage collection has to find them.
        self._on_gone = _nobody
        self._answer = _unanswered
        self._resets.forget(self.fd)
        self._pause()
        if self._tls is not None:
            self._loop.remove_writer(self.fd)
        self._leave_line()
        self.framing.close()
        self.sock.close()

    def _resume(self) -> None:
        if self._is_reset:
            self._loop.call_soon(self._on_readable)
        else:
            self._loop.add_reader(self.fd, self._on_readable)
            self._reading = True

    def _pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self.fd)
            self._reading = False

    def _on_readable(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._on_unwanted()
            return
        self.events += 1
        try:
            request = self._receive()
        except BlockingIOError:
            self._await_wanted_write()
        except NoMemory as short:
            self._stand_in_line(short.pool)
        except EOFError:
            self._pause()
            self._departures.add(self.finish)
        except OSError as lost:
            self._pause()
            self._departures.add(partial(self._fail, lost.with_traceback(None)))
        except Exception as error:  # the task that waits is the one to handle it
            waiter.set_exception(error)
            del waiter  # see receive_request()
        else:
            if request is None:
                self.arriving.run(True)
                self._receive_without_event()
            elif not self._is_answered(request, waiter):
                return
            else:
                self.framing.rest()
                self._wait()
                self._receive_without_event()

    def _is_answered(self, request: Request, waiter: "Future[Received | None]") -> bool:
        """Answer a request, and those behind it, without the task; wake the task if it is needed.

        Returns:
            True if nothing is left to do before more bytes arrive.
        """
        self.not_asking.run(False)
        self.arriving.run(False)
        try:
            received = self._answer(request)
        except Exception as error:  # the task that waits is the one to handle it
            waiter.set_exception(error)
            del waiter  # see receive_request()
            return False
        if received is not None:
            waiter.set_result(received)
            return False
        return True

    def _wait(self) -> None:
        self.not_asking.start()
        if self.framing.pending_bytes:
            self.arriving.start()

    def _receive_without_event(self) -> None:
        """Receive again soon if no event comes for the bytes that are left."""
        if self._is_reset:
            self._resume()
        elif self._tls is not None and self._tls.has_more:
            self._loop.call_soon(self._on_readable)

    def _await_wanted_write(self) -> None:
        if self._tls is not None and self._tls.wants_write:
            self._loop.add_writer(self.fd, self._on_wanted_write)

    def _on_wanted_write(self) -> None:
        """Read again, after a read of TLS had to send and could not."""
        self._loop.remove_writer(self.fd)
        self._on_readable()

    def _receive(self) -> Request | None:
        """Receive until a request is whole or the socket is empty, whichever comes first."""
        framing = self.framing
        for _ in range(_RECEIVES_PER_EVENT):
            space = framing.get_buffer()
            count = self.sock.recv_into(space)
            if count == 0:
                raise EOFError
            framing.bytes_received(count)
            request = framing.next_request()
            if request is not None or count < len(space):
                return request
        return None

    def _on_unwanted(self) -> None:
        """Find out whether these are bytes for later or the end of the connection."""
        gone = False
        if self.handling:
            try:
                gone = not self.sock.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return
            except OSError:
                gone = True
        self._pause()
        if gone:
            self._departures.add(self._abandon)

    def _fail(self, error: OSError) -> None:
        """Let a waiting receive_request() raise how the connection was lost."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def _abandon(self) -> None:
        """Report that the client has gone, unless its request was answered meanwhile."""
        if self.handling:
            self._on_gone()

    def _on_reset(self) -> None:
        """End the request in progress, or receive the bytes before the reset and then its error."""
        self._is_reset = True
        self._pause()
        if self.handling:
            self._departures.add(self._abandon)
        elif self.waits_for_memory:
            self.finish()
        elif self.is_waiting:
            self._resume()

    def _stand_in_line(self, pool: Pool) -> None:
        """Leave the client's bytes in the kernel until there is memory for them."""
        if self._is_reset:
            self.finish()
            return
        self._pause()
        self.not_asking.run(False)  # it is the broker that waits
        self.arriving.run(False)
        self._pool = pool
        pool.wait(self._on_memory)

    def _leave_line(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.forget(self._on_memory)

    def _on_memory(self) -> None:
        self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Go on with the memory that is free now, or leave the line if none is needed any more."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._leave_line()
        elif self._pool is not None:
            self._pool = None
            self.not_asking.run(True)
            self.arriving.run(self.framing.pending_bytes > 0)
            self._resume()
            self._on_readable()

    def _on_writable(self, outgoing: Outgoing, waiter: "Future[None]") -> None:
        if waiter.done():
            return
        self.events += 1
        try:
            if outgoing.advance(self.sock):
                waiter.set_result(None)
        except Exception as error:  # the task that waits is the one to handle it
            waiter.set_exception(error)
            del waiter  # see receive_request()


def _unanswered(request: Request) -> Received:
    """Leave a request to the task, which has ended."""
    return request, None


def _nobody() -> None:
    """Do nothing; a closed stream calls it when its client has gone."""

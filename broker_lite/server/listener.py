"""Listening sockets: bind them, and accept clients as long as there are descriptors."""

import errno
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import anyio

from broker_lite.errors import SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.server.pacing import accept_unpaced
from broker_lite.settings import join_address

logger = logging.getLogger("broker_lite.server")

Admit: TypeAlias = Callable[[socket.socket, tuple[str, int], ListenerInfo], None]
Delay: TypeAlias = Callable[[ListenerInfo], int]
"""Returns after how many milliseconds the next client of a listener is served."""

_ACCEPTS_PER_EVENT: Final = 64
# If no descriptor or memory is left, clients are left in the backlog for so long.
_EXHAUSTED_PAUSE_S: Final = 0.1
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class ListenerAddress(NamedTuple):
    """An address to listen on, and its listener: port 0 takes a free one, host "" every address."""

    info: ListenerInfo
    host: str
    port: int


def bind(address: ListenerAddress, *, backlog: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        SettingsError: the address cannot be used; one line that names it.
    """
    where = join_address(address.host, address.port)
    try:
        family, target = _resolve(address) if address.host else _every_address(address.port)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"cannot listen on {where}: {reason}") from error
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not address.host and family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        accept_unpaced(sock)
        sock.setblocking(False)
        sock.bind(target)
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        raise SettingsError(f"cannot listen on {where}: {error.strerror}") from error
    return sock


def _resolve(address: ListenerAddress) -> tuple[int, tuple[Any, ...]]:
    """Return the family and the address of a host.

    A name such as localhost has addresses of both families. IPv4 is preferred, because clients try
    it wherever it exists.
    """
    found = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, _, _, _, target = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, target


def _every_address(port: int) -> tuple[int, tuple[Any, ...]]:
    """Return the address for all of IPv4 and IPv6, as Kafka; of IPv4 if the kernel has no IPv6."""
    if socket.has_dualstack_ipv6():
        return socket.AF_INET6, ("::", port)
    return socket.AF_INET, ("", port)


class Listeners:
    """The listening sockets of a broker: opened once, and open until the broker stops for good.

    While no node accepts, clients that connect wait in the backlog.
    """

    def __init__(self) -> None:
        """Begin without sockets."""
        self._sockets: list[tuple[socket.socket, ListenerInfo]] = []

    def __iter__(self) -> Iterator[tuple[socket.socket, ListenerInfo]]:
        return iter(self._sockets)

    def open(self, addresses: Sequence[ListenerAddress], *, backlog: int) -> None:
        """Open a socket for each address; does nothing if they are open already.

        Raises:
            SettingsError: one of the addresses cannot be used; then none stays open.
        """
        if self._sockets:
            return
        try:
            for address in addresses:
                sock = bind(address, backlog=backlog)
                info = address.info._replace(bound_port=sock.getsockname()[1])
                self._sockets.append((sock, info))
        except BaseException:
            self.close()
            raise

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each socket; a port of 0 has become a real one."""
        return [sock.getsockname()[:2] for sock, _ in self._sockets]

    def close(self) -> None:
        """Close all sockets; no task may be accepting."""
        for sock, _ in self._sockets:
            sock.close()
        self._sockets.clear()


def plain_address(address: tuple[Any, ...]) -> tuple[str, int]:
    """Return host and port of a socket's address; an IPv4 client at an IPv6 socket gets IPv4's."""
    host, port = address[:2]
    mapped = host.removeprefix("::ffff:")
    return (mapped if "." in mapped else host), port


async def accept_forever(
    listener: socket.socket,
    info: ListenerInfo,
    admit: Admit,
    delay: Delay,
    descriptors: ClientDescriptors,
) -> None:
    """Accept clients and pass them to `admit`, until cancelled; the listening socket stays open.

    `delay` is asked for each client. While one has to wait, those behind it stay in the backlog.

    Without a free descriptor it pauses, because the backlog keeps the socket readable: the loop
    would spin.
    """
    exhausted = False
    while True:
        await anyio.wait_readable(listener)
        await descriptors.wait()
        try:
            for _ in range(_ACCEPTS_PER_EVENT):
                if not descriptors.has_free():
                    break
                sock, address = listener.accept()
                exhausted = False
                delay_ms = delay(info)
                if delay_ms:
                    await _keep(sock, delay_ms)
                admit(sock, plain_address(address), info)
        except BlockingIOError:
            continue
        except OSError as error:
            # Any other error concerns only the client that was accepted, and it has gone.
            if error.errno not in _EXHAUSTED:
                continue
            if not exhausted:
                logger.error("cannot accept clients: %s", error.strerror)
            exhausted = True
            await anyio.sleep(_EXHAUSTED_PAUSE_S)


async def _keep(sock: socket.socket, delay_ms: int) -> None:
    """Let a client wait; its connection is closed if that is cancelled."""
    try:
        await anyio.sleep(delay_ms / 1000)
    except BaseException:
        sock.close()
        raise

"""The congestion control of connections that stay on this host: one that does not pace.

A machine that is set to BBR paces every connection: a timer for each piece of 64 KB, and the
client is woken for each. Over a network that keeps queues short; between two sockets of one host
there is none, and it was half of what a large fetch cost. A connection that was paced once stays
so whatever is set later, so the listening socket goes without, and clients from elsewhere get the
system's choice back.
"""

import contextlib
import functools
import socket
from typing import Final

# In every Linux kernel, and allowed to every user.
_UNPACED: Final = b"reno"
# Linux only.
_OPTION: Final[int | None] = getattr(socket, "TCP_CONGESTION", None)
_NAME_BYTES_MAX: Final = 16


def accept_unpaced(listener: socket.socket) -> None:
    """Let the connections that will be accepted here go without pacing, where that can be had."""
    if _OPTION is not None:
        # a system that does not let it be chosen serves its clients as well
        with contextlib.suppress(OSError):
            _of_system(listener.family, _OPTION)  # now, while there is a descriptor for it
            listener.setsockopt(socket.IPPROTO_TCP, _OPTION, _UNPACED)


def pace_across_hosts(sock: socket.socket, client: str, local: str) -> None:
    """Give an accepted connection the system's congestion control back, if it leaves this host.

    Args:
        sock: accepted from a listener of accept_unpaced().
        client: the client's address, without its port.
        local: the address that it dialled, likewise.
    """
    if _OPTION is not None and client != local and not client.startswith("127."):
        # a connection that is lost tells so when it is read
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, _OPTION, _of_system(sock.family, _OPTION))


@functools.cache
def _of_system(family: int, option: int) -> bytes:
    """Ask a new socket, once."""
    with socket.socket(family) as fresh:
        return fresh.getsockopt(socket.IPPROTO_TCP, option, _NAME_BYTES_MAX).rstrip(b"\0")

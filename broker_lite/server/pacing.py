"""Turn off the pacing of connections that stay on this host, by their congestion control.

A machine that is set to BBR paces every connection: it sets a timer for each piece of 64 KB, and
the client is woken for each. Over a network that keeps queues short. Between two sockets of one
host there are no queues, and pacing was half of the cost of a large fetch. A connection that was
paced once stays so whatever is set later. So the listening socket is set not to pace, and
connections from other hosts get the system's choice back.
"""

import contextlib
import functools
import socket
from typing import Final

# Every Linux kernel has it, and every user may choose it.
_UNPACED: Final = b"reno"
# It exists on Linux only.
_OPTION: Final[int | None] = getattr(socket, "TCP_CONGESTION", None)
_NAME_BYTES_MAX: Final = 16


def accept_unpaced(listener: socket.socket) -> None:
    """Turn off pacing for the connections that are accepted here, if the system allows it."""
    if _OPTION is not None:
        # If the system does not allow the choice, clients are served all the same.
        with contextlib.suppress(OSError):
            _of_system(listener.family, _OPTION)  # now, while there is a descriptor for it
            listener.setsockopt(socket.IPPROTO_TCP, _OPTION, _UNPACED)


def pace_across_hosts(sock: socket.socket, client: str, local: str) -> None:
    """Set an accepted connection to the system's congestion control, if it leaves this host.

    Args:
        sock: accepted from a listener that accept_unpaced() has set.
        client: the client's address, without its port.
        local: the address to which the client connected, without its port.
    """
    if _OPTION is not None and client != local and not client.startswith("127."):
        # An error here means a lost connection, which is noticed when it is read.
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, _OPTION, _of_system(sock.family, _OPTION))


@functools.cache
def _of_system(family: int, option: int) -> bytes:
    """Return the system's choice; a new socket has it. It is read only once."""
    with socket.socket(family) as fresh:
        return fresh.getsockopt(socket.IPPROTO_TCP, option, _NAME_BYTES_MAX).rstrip(b"\0")

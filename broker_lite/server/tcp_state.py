"""What the kernel knows of a connection."""

import socket
from typing import Final

# States of a TCP connection that its client has closed (tcp_states.h): CLOSE and CLOSE_WAIT.
_CLOSED_BY_CLIENT: Final = frozenset({7, 8})


def is_closed_by_client(sock: socket.socket) -> bool:
    """True if the client has closed, even if unread bytes hide that.

    Raises:
        OSError: the connection is lost.
    """
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in _CLOSED_BY_CLIENT

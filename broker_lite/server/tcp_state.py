"""What the kernel knows of a connection."""

import socket
import struct
from typing import Final, NamedTuple

# States of a TCP connection that its client has closed (tcp_states.h): CLOSE and CLOSE_WAIT.
_CLOSED_BY_CLIENT: Final = frozenset({7, 8})
# struct tcp_info of linux/tcp.h: bytes_acked and bytes_received, then busy_time and rwnd_limited in
# microseconds.
_COUNTS: Final = struct.Struct("=120xQQ32xQQ")
_US_PER_S: Final = 1_000_000


class TcpCounts(NamedTuple):
    """What the kernel has counted of a connection.

    Attributes:
        in_bytes: received.
        out_bytes: sent, and taken by the client's kernel.
        sending_s: how long there was something that the client's kernel had not taken yet.
        window_closed_s: how long that was because the client's kernel had no room for it.
    """

    in_bytes: int
    out_bytes: int
    sending_s: float
    window_closed_s: float


def is_closed_by_client(sock: socket.socket) -> bool:
    """True if the client has closed, even if unread bytes hide that.

    Raises:
        OSError: the connection is lost.
    """
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in _CLOSED_BY_CLIENT


def tcp_counts(sock: socket.socket) -> TcpCounts:
    """Return what the kernel has counted; nothing of it costs the broker anything.

    Raises:
        OSError: the connection is lost.
    """
    data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS.size)
    out_bytes, in_bytes, sending_us, window_closed_us = _COUNTS.unpack(data)
    return TcpCounts(in_bytes, out_bytes, sending_us / _US_PER_S, window_closed_us / _US_PER_S)

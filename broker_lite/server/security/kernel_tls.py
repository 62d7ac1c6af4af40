"""TLS by the kernel: it has the keys of a connection, and encrypts what is sent from a file.

Untried: no kernel that the tests have run on had the module tls. OpenSSL hands a connection's keys
to the kernel after the hand-shake if the context asks for it. It does so only where the kernel, the
version of TLS and the cipher suite allow it, and says nothing if they do not: so the kernel is
asked.
"""

import socket
import ssl
from functools import cache
from typing import Final

KERNEL_TLS: Final = ssl.Options(1 << 3)
"""SSL_OP_ENABLE_KTLS of OpenSSL 3, which Python names from 3.12 on."""
# linux/tcp.h and linux/tls.h
_TCP_ULP: Final = 31
_SOL_TLS: Final = 282
_TLS_TX: Final = 1
_TLS_RX: Final = 2
_VERSION_AND_CIPHER_BYTES: Final = 4


@cache
def has_kernel_tls() -> bool:
    """Tell whether the kernel has TLS; its module is loaded for that, if there is one.

    Only a connection can be asked, so there is one for a moment, on the loopback.
    """
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname()) as sock,
        ):
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_ULP, b"tls")
    except OSError:
        return False
    return True


def encrypts(sock: socket.socket) -> bool:
    """Tell whether the kernel encrypts what is sent."""
    return _has_keys(sock, _TLS_TX)


def decrypts(sock: socket.socket) -> bool:
    """Tell whether the kernel decrypts what is received."""
    return _has_keys(sock, _TLS_RX)


def _has_keys(sock: socket.socket, direction: int) -> bool:
    # so few bytes are the version and the cipher, without a key
    try:
        sock.getsockopt(_SOL_TLS, direction, _VERSION_AND_CIPHER_BYTES)
    except OSError:
        return False
    return True

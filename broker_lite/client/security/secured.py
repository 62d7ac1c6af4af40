"""TLS, SASL or both, as the connections of one client have them."""

import socket

from broker_lite.client.address import Address
from broker_lite.client.broker_connection import Connection
from broker_lite.client.security.authentication import Login, log_in
from broker_lite.client.security.hand_shake import Tls


class Secured:
    """What the connections of a client do before their first request; see Security."""

    def __init__(self, tls: Tls | None, login: Login | None) -> None:
        """Keep both; None for without."""
        self._tls = tls
        self._login = login

    def protect(self, sock: socket.socket, address: Address) -> socket.socket:
        """Put TLS on a connected socket, if the properties say so."""
        return sock if self._tls is None else self._tls.protect(sock, address)

    def log_in(self, connection: Connection) -> float:
        """Say who the client is, if the properties say so; return how long that is for."""
        return 0 if self._login is None else log_in(connection, self._login)

    def meaning_of(self, error: OSError) -> str | None:
        """Return what an error after protect() means; None for one of the network."""
        return None if self._tls is None else self._tls.meaning_of(error)

    @property
    def guess(self) -> str:
        """Why a broker may close a connection before it answers anything; empty for no idea."""
        if self._tls is None:
            return "perhaps its listener has TLS: see security.protocol"
        return self._tls.guess

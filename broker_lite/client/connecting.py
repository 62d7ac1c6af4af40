"""Connects to an address, and says in one line why that fails."""

import select
import socket
from typing import Protocol, cast

from broker_lite.client.address import Address
from broker_lite.client.errors import NoAnswer, NoConnection, UnknownHost


class HasDescriptor(Protocol):
    """A socket, or what has one."""

    def fileno(self) -> int:
        """Return its descriptor."""


def connect(address: Address, timeout_s: float) -> socket.socket:
    """Return a connected socket.

    Raises:
        UnknownHost: the name cannot be resolved.
        NoConnection: no broker listens there.
        NoAnswer: there is no connection in time.
    """
    try:
        # as bytes, because importing the idna codec takes longer than connecting
        host = address.host.encode("ascii" if address.host.isascii() else "idna")
        found = socket.create_connection((cast("str", host), address.port), timeout_s)
    except TimeoutError as error:
        raise NoAnswer(f"{address}: no connection within {timeout_s:g} s") from error
    except (socket.gaierror, UnicodeError) as error:
        raise UnknownHost(f"{address}: the host's name cannot be resolved") from error
    except OSError as error:
        raise NoConnection(f"{address}: {reason_of(error)}") from error
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def is_readable(connection: HasDescriptor, wait_s: float) -> bool:
    """Wait until there is something to read, or the end; return whether there is."""
    poll = select.poll()  # select() takes no descriptor above 1023
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(wait_s * 1000))


def reason_of(error: OSError) -> str:
    """Return the reason of an error of the network, in lower case."""
    return (error.strerror or str(error)).lower()

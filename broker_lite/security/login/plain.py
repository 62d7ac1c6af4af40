"""The client's side of the mechanism PLAIN (RFC 4616)."""

from broker_lite.security.login.mechanism import BrokerRefused


class PlainLogin:
    """One authentication by PLAIN."""

    def __init__(self, name: str, password: str) -> None:
        """Keep who the client is."""
        self._message = f"\0{name}\0{password}".encode()

    def first(self) -> bytes:
        """Return the only message.

        See: X-13.
        """
        return self._message

    def take(self, answer: bytes) -> bytes | None:
        """Take the broker's answer, which is empty.

        See: X-15.
        """
        if answer:
            raise BrokerRefused("the broker answers to PLAIN with bytes")
        return None

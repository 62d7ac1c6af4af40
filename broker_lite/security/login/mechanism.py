"""What the client's sides of all mechanisms have in common."""

from typing import Protocol


class BrokerRefused(Exception):
    """The client does not go on: the broker's answer breaks the protocol, or proves nothing.

    The text is for a person and has no secret.
    """


class ClientMechanism(Protocol):
    """The client's side of one authentication."""

    def first(self) -> bytes:
        """Return the first message."""

    def take(self, answer: bytes) -> bytes | None:
        """Take an answer of the broker, and return the next message; None at the end.

        Raises:
            BrokerRefused: the client does not go on.
        """

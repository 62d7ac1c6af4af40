"""What all mechanisms have in common: a message comes in, a step or a refusal goes out."""

from typing import Final, NamedTuple, Protocol

SASLNAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
"""The pattern of a name in messages (RFC 5801): commas and equals signs are escaped."""
DIFFERENT_ID: Final = "Authentication failed: Client requested an authorization id"
"""How the refusal of a client begins that wants to be somebody else."""
DIFFERENT_NAME: Final = f"{DIFFERENT_ID} that is different from username"


class Refused(Exception):
    """The client is not who it says; the text is told to it.

    See: X-11 (SaslAuthenticationException).
    """


class InvalidCredentials(Exception):
    """The client is refused, and is not told why: the text would say which users there are.

    See: X-11 (SaslException).
    """


class Unanswered(Exception):
    """Kafka fails at a message in a way that closes the connection at once, without an answer."""


class Step(NamedTuple):
    """What the broker answers to one message of the client.

    Attributes:
        answer: bytes of the mechanism; mostly empty at the end.
        name: of the user, once the exchange is complete; None before.
        expires_ms: when the credentials end, in milliseconds since the epoch; None for never.
        is_by_token: whether they are those of a delegation token.
    """

    answer: bytes
    name: str | None = None
    expires_ms: int | None = None
    is_by_token: bool = False


class Mechanism(Protocol):
    """The broker's side of one authentication."""

    def take(self, message: bytes, now_ms: int) -> Step:
        """Take the next message of the client.

        Args:
            message: as the client sent it, at most sasl.server.max.receive.size bytes.
            now_ms: milliseconds since the epoch.

        Raises:
            Refused: with the text for the client.
            InvalidCredentials: the client is not told why.
            Unanswered: the connection closes.
        """

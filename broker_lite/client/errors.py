"""What can go wrong between a client and a broker; each text is one line for a person.

ClientError (broker_lite.errors)
├── UnknownHost     the name of the broker's host cannot be resolved
├── NoConnection    nobody listens there, or the connection ended
├── NoAnswer        the broker is silent for longer than the caller waits
├── BadAnswer       what came back is not what a Kafka broker sends
├── NotSupported    client and broker have no version of an API in common
└── Refused         the broker answered with an error code of the protocol
"""

from broker_lite.errors import ClientError, ErrorCode


class UnknownHost(ClientError):
    """The name of the broker's host cannot be resolved."""


class NoConnection(ClientError):
    """Nobody listens there, or the connection ended."""


class NoAnswer(ClientError):
    """The broker is silent for longer than the caller waits."""


class BadAnswer(ClientError):
    """What came back is not what a Kafka broker sends."""


class NotSupported(ClientError):
    """Client and broker have no version in common that can carry the request."""


class Refused(ClientError):
    """The broker answered with an error code.

    The text is `what: CODE: message`.
    """

    def __init__(self, what: str, code: int, message: str | None = None) -> None:
        super().__init__(": ".join(filter(None, (what, error_name(code), message))))
        self.what = what
        self.code = code
        self.message = message


def error_name(code: int) -> str:
    """The protocol's name of an error code; `error N` for one that is not known here."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def check(what: str, code: int, message: str | None = None) -> None:
    """Let a code of 0 pass.

    Args:
        what: the topic, group or the like that the code is about; may be empty.
        code: as the broker sent it.
        message: the text that came with it, if one did.

    Raises:
        Refused: any other code.
    """
    if code != ErrorCode.NONE:
        raise Refused(what, code, message)

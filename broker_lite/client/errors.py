"""The errors of the client; each text is one line for the user.

ClientError (broker_lite.errors)
├── UnknownHost     the name of the broker's host cannot be resolved
├── NoConnection    no broker listens there, or the connection ended
├── NoAnswer        the broker is silent for longer than the caller waits
├── NotTrusted      TLS fails, or the broker's certificate is not trusted
├── LoginRefused    the broker refuses the login, or the client the broker
├── BadAnswer       what came back is not what a Kafka broker sends
├── NotSupported    client and broker have no version of an API in common
└── Refused         the broker answered with an error code of the protocol
"""

from broker_lite.errors import ClientError, ErrorCode


class UnknownHost(ClientError):
    """The name of the broker's host cannot be resolved."""


class NoConnection(ClientError):
    """No broker listens there, or the connection ended."""


class NoAnswer(ClientError):
    """The broker did not respond in time."""


class NotTrusted(ClientError):
    """TLS fails: one side does not trust the other's certificate, or does not speak it."""


class LoginRefused(ClientError):
    """The broker does not accept who the client says it is, or does not prove who it is itself."""


class BadAnswer(ClientError):
    """The response is not one of a Kafka broker."""


class NotSupported(ClientError):
    """Client and broker have no common version that can encode the request."""


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
    """Return the name of an error code; `error N` for an unknown one."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def check(what: str, code: int, message: str | None = None) -> None:
    """Raise an error for a code other than 0.

    Args:
        what: the topic, group or other subject of the code; may be empty.
        code: the error code.
        message: the broker's text, if there is one.

    Raises:
        Refused: the code is not 0.
    """
    if code != ErrorCode.NONE:
        raise Refused(what, code, message)

"""The exchange of SASL at the beginning of a connection, and again before its session ends."""

from collections.abc import Callable
from typing import Final, NamedTuple

from broker_lite.client.address import Address
from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import BadAnswer, LoginRefused, error_name
from broker_lite.errors import ErrorCode
from broker_lite.security.login.mechanism import BrokerRefused, ClientMechanism
from broker_lite.wire import messages

_MESSAGES_MAX: Final = 8  # no mechanism has so many


class Login(NamedTuple):
    """How a client says who it is.

    Attributes:
        mechanism: its name.
        begin: begins an authentication.
    """

    mechanism: str
    begin: Callable[[], ClientMechanism]

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Login({self.mechanism})"


def log_in(connection: Connection, login: Login) -> float:
    """Authenticate on a connection that has no request in flight.

    Returns:
        How many seconds the session lasts; 0 for no end.

    Raises:
        LoginRefused: the broker refuses the client, or the client the broker.
        ClientError: there is no answer.

    See: X-06, X-09, X-10, X-31, X-34.
    """
    try:
        return _lifetime_ms(connection, login) / 1000
    except BrokerRefused as error:
        connection.close()
        raise LoginRefused(f"{connection.address}: {login.mechanism}: {error}") from None
    except BaseException:
        connection.close()
        raise


def _lifetime_ms(connection: Connection, login: Login) -> int:
    request = messages.SaslHandshakeRequest
    version = connection.version_of(request)
    answer = connection.request(request(mechanism=login.mechanism), version_max=version)
    _check_offer(connection.address, login.mechanism, answer)
    mechanism = login.begin()
    token: bytes | None = mechanism.first()
    lifetime_ms = 0
    for _ in range(_MESSAGES_MAX):
        if token is None:
            return lifetime_ms
        if version == 0:
            received = connection.exchange_raw(token)
        else:
            received, lifetime_ms = _exchange(connection, token)
        token = mechanism.take(received)
    raise BadAnswer(f"{connection.address}: {login.mechanism} does not come to an end")


def _check_offer(address: Address, mechanism: str, answer: messages.SaslHandshakeResponse) -> None:
    if answer.error_code == ErrorCode.NONE:
        return
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(answer.mechanisms)
        reason = f"sasl.mechanism={mechanism} is not enabled, only {offered or 'none'}"
    elif answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        reason = "the listener has no SASL: see security.protocol"
    else:
        reason = error_name(answer.error_code)
    raise LoginRefused(f"{address}: {reason}")


def _exchange(connection: Connection, token: bytes) -> tuple[bytes, int]:
    """Send a message of the mechanism; return the answer and how long the session lasts."""
    answer = connection.request(messages.SaslAuthenticateRequest(auth_bytes=token))
    if answer.error_code != ErrorCode.NONE:
        reason = answer.error_message or error_name(answer.error_code)
        raise LoginRefused(f"{connection.address}: {reason}")
    return answer.auth_bytes, answer.session_lifetime_ms

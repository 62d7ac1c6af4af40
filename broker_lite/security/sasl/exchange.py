"""The states of a connection that authenticates by SASL, and those after it has done so.

The order is ApiVersions (once, or not at all), SaslHandshake, then the mechanism's messages: in
SaslAuthenticate after a handshake of version 1, as raw frames after version 0. Who has
authenticated may do so again on the same connection (KIP-368); any other request is refused until
that is done.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import ErrorCode
from broker_lite.security.principal import USER, Principal, TokenPrincipal
from broker_lite.security.sasl.mechanism import InvalidCredentials, Mechanism, Refused

SASL_HANDSHAKE_KEY: Final = 17
SASL_AUTHENTICATE_KEY: Final = 36
_REPEAT_MS_MIN: Final = 1000
"""How long after a re-authentication began the next one may begin."""


class SaslRules(NamedTuple):
    """How clients of a listener authenticate.

    Attributes:
        makers: what begins an exchange, by the name of the mechanism, in the order of the settings.
        session_ms_max: how long a session may be, by mechanism; 0 for no limit.
        message_bytes_max: the largest frame before the end of the exchange.
        refusal_delay_ms: how long a refused client waits for its answer and the close.
        ready: what has to be awaited before a message of a mechanism is taken, by its name.
    """

    makers: Mapping[str, Callable[[], Mechanism]]
    session_ms_max: Mapping[str, int]
    message_bytes_max: int
    refusal_delay_ms: int
    ready: Mapping[str, Callable[[], Awaitable[None]]] = MappingProxyType({})


class State(Enum):
    """What is expected next."""

    START = auto()
    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    RAW = auto()
    WRONG_MECHANISM = auto()


class Session(NamedTuple):
    """A client that has authenticated.

    Attributes:
        expires_ms: when the session ends, in milliseconds since the epoch; None for never.
    """

    mechanism: str
    principal: Principal
    expires_ms: int | None


class Reply(NamedTuple):
    """The answer to one message of a mechanism; with an error, the connection ends after it.

    Attributes:
        lifetime_ms: how long the session lasts from now on; 0 for no end, or no session yet.
    """

    code: ErrorCode = ErrorCode.NONE
    message: str = ""
    token: bytes = b""
    lifetime_ms: int = 0


class Exchange:
    """One authentication.

    Attributes:
        state: what is expected next.
        before: the session that it renews; None for a new connection.
        session: of the client, once the exchange is complete.
    """

    def __init__(self, rules: SaslRules, before: Session | None = None) -> None:
        """Begin; a renewal begins with the handshake."""
        self._rules = rules
        self.before = before
        self.state = State.START if before is None else State.HANDSHAKE
        self.session: Session | None = None
        self._name = ""
        self._mechanism: Mechanism | None = None

    @property
    def offered(self) -> list[str]:
        """The names of the mechanisms."""
        return list(self._rules.makers)

    async def ready(self) -> None:
        """Wait for what the mechanism needs to take a message; mostly there is nothing."""
        ready = self._rules.ready.get(self._name)
        if ready is not None:
            await ready()

    def versions_told(self) -> None:
        """Note that an ApiVersions request was answered without an error.

        Rule: X-05.
        """
        self.state = State.HANDSHAKE

    def shake_hands(self, mechanism: str, version: int) -> bool:
        """Begin with a mechanism; return False if it is not offered.

        Rule: X-06, X-35 (the same mechanism again).
        """
        make = self._rules.makers.get(mechanism)
        if make is None:
            return False
        if self.before is not None and self.before.mechanism != mechanism:
            self.state = State.WRONG_MECHANISM
            return True
        self._name = mechanism
        self._mechanism = make()
        self.state = State.RAW if version == 0 else State.AUTHENTICATE
        return True

    def take(self, message: bytes, now_ms: int) -> Reply:
        """Take a message of the mechanism, from a SaslAuthenticate request or a raw frame.

        Args:
            message: of the client.
            now_ms: milliseconds since the epoch.

        Raises:
            Unanswered: the connection closes.

        Rule: X-10, X-11, X-35 (the same principal again).
        """
        assert self._mechanism is not None
        try:
            step = self._mechanism.take(message, now_ms)
            if step.name is None:
                return Reply(token=step.answer)
            make = TokenPrincipal if step.is_by_token else Principal
            principal = make(USER, step.name)
            self._check_same(principal)
        except Refused as refused:
            return Reply(ErrorCode.SASL_AUTHENTICATION_FAILED, str(refused))
        except InvalidCredentials:
            what = "authentication" if self.before is None else "re-authentication"
            return Reply(
                ErrorCode.SASL_AUTHENTICATION_FAILED,
                f"Authentication failed during {what} due to invalid credentials with SASL "
                f"mechanism {self._name}",
            )
        lifetime_ms = _lifetime_ms(self._rules.session_ms_max[self._name], step.expires_ms, now_ms)
        has_end = lifetime_ms or step.expires_ms is not None
        expires_ms = now_ms + lifetime_ms if has_end else None
        self.session = Session(self._name, principal, expires_ms)
        return Reply(token=step.answer, lifetime_ms=lifetime_ms)

    def _check_same(self, principal: Principal) -> None:
        before = None if self.before is None else self.before.principal
        if before is not None and before != principal:
            raise Refused(
                "Cannot change principals during re-authentication from "
                f"{before.kind}.{before.name}: {principal.kind}.{principal.name}"
            )


def _lifetime_ms(session_ms_max: int, expires_ms: int | None, now_ms: int) -> int:
    """Return how long a session lasts; 0 if it has no end.

    Rule: X-30, X-31, X-32 (SaslServerAuthenticator.ReauthInfo).
    """
    if expires_ms is None:
        return max(session_ms_max, 0)
    left_ms = max(expires_ms - now_ms, 0)
    return min(left_ms, session_ms_max) if session_ms_max > 0 else left_ms


class SessionOver(Exception):
    """The session has ended, and the client did not renew it.

    See: X-33.
    """


class Authenticated:
    """A connection whose client has authenticated.

    Attributes:
        session: the current one; the owner replaces it after a renewal.
        exchange: the renewal in progress; None if there is none.
    """

    def __init__(self, rules: SaslRules, session: Session) -> None:
        """Start with the first session."""
        self._rules = rules
        self.session = session
        self.exchange: Exchange | None = None
        self._began_ms: int | None = None

    @property
    def refusal_delay_ms(self) -> int:
        """How long a client waits whose renewal is refused."""
        return self._rules.refusal_delay_ms

    @property
    def message_bytes_max(self) -> int:
        """The largest frame of a renewal, after the one that begins it."""
        return self._rules.message_bytes_max

    def renews(self, api_key: int, now_ms: int) -> bool:
        """Return whether a request belongs to a renewal of the session, or begins one.

        Args:
            api_key: of the request.
            now_ms: milliseconds since the epoch.

        Raises:
            SessionOver: the session has ended, and this request is no renewal.

        Rule: X-33, X-34 (KafkaChannel.maybeBeginServerReauthentication).
        """
        if self.exchange is not None:
            return True
        if self.session.expires_ms is None:
            return False
        began_ms = self._began_ms
        may_begin = began_ms is None or now_ms - began_ms >= _REPEAT_MS_MIN
        if api_key == SASL_HANDSHAKE_KEY and may_begin:
            self._began_ms = now_ms
            self.exchange = Exchange(self._rules, self.session)
            return True
        if now_ms >= self.session.expires_ms:
            raise SessionOver(f"the session of {self.session.principal} has ended")
        return False

    def renewed(self) -> None:
        """Take over the session of a complete renewal; without one, this does nothing."""
        if self.exchange is not None and self.exchange.session is not None:
            self.session = self.exchange.session
            self.exchange = None

"""How tokens of OAUTHBEARER are checked on a listener, from the settings of the broker.

Without a callback handler of the broker, tokens are unsecured ones, and options of the JAAS module
say what they must have. With Kafka's handler for signed tokens, settings sasl.oauthbearer.* do. A
broker that is secured by one word accepts the tokens of its own issuer beside unsecured ones.

A difference to Kafka: the URL of the keys needs no permission
(org.apache.kafka.sasl.oauthbearer.allowed.urls), because there is no such property of Java.

A difference to Kafka: a URL of keys without the handler for signed tokens stops the start. Kafka
accepts unsecured tokens then.

Not done: options ssl.* of the JAAS module, for an https URL whose certificate the machine does not
trust; they are refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.oauthbearer import CheckToken, TokenRules, check_unsecured
from broker_lite.security.sasl.signed_tokens import SignedTokenRules, SignedTokens
from broker_lite.settings import Settings
from broker_lite.settings.declared.declarations import listener_prefix
from broker_lite.settings.values import Value

if TYPE_CHECKING:
    from broker_lite.security.sasl.jwks import KeySet

_MECHANISM: Final = "OAUTHBEARER"
_HANDLER: Final = "sasl.server.callback.handler.class"
_LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer."
_SIGNED: Final = frozenset(
    (
        f"{_PACKAGE}OAuthBearerValidatorCallbackHandler",
        f"{_PACKAGE}secured.OAuthBearerValidatorCallbackHandler",
    )
)
_UNSECURED: Final = frozenset(
    (
        f"{_PACKAGE}internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
        f"{_PACKAGE}OAuthBearerUnsecuredValidatorCallbackHandler",
    )
)
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_PROTOCOLS: Final = ("https:", "http:", "file:")
_VALIDATOR: Final = "unsecuredValidator"
_LOGIN: Final = "unsecuredLogin"


class KeyPlace(NamedTuple):
    """Where the keys of signed tokens are, and how often they are fetched.

    Attributes:
        url: https:, http: or file:.
        refresh_ms: how long fetched keys are used.
        backoff_ms: how long to wait after a failure; twice as long each time.
        backoff_ms_max: how long to wait at most.
    """

    url: str
    refresh_ms: int
    backoff_ms: int
    backoff_ms_max: int


class KeySource(Protocol):
    """The keys of an issuer, which are fetched where they may change."""

    def keys(self) -> "KeySet | None":
        """Return the keys as they are known; None if they could not be fetched yet."""

    def miss(self, kid: str) -> None:
        """Note that a token names a key that the set does not have: it may be a new one."""

    def ready(self) -> Awaitable[None]:
        """Wait for keys that are due, for some seconds at most."""


OpenKeys = Callable[[KeyPlace], KeySource]
"""Opens the source of keys; raises SettingsError if there will never be any."""


class TokenCheck(NamedTuple):
    """How tokens are checked.

    Attributes:
        check: of one token.
        ready: to be awaited before; None if there is nothing to wait for.
    """

    check: CheckToken
    ready: Callable[[], Awaitable[None]] | None = None


def token_check(
    settings: Settings, listener: str, options: Mapping[str, str], open_keys: OpenKeys
) -> TokenCheck:
    """Return how tokens are checked on a listener.

    Args:
        settings: of the broker.
        listener: its name.
        options: of the JAAS module.
        open_keys: opens the source of the keys of signed tokens.

    Raises:
        SettingsError: what is asked for is not served.
    """
    if settings.own_of_listener(listener, _LOGIN_HANDLER, _MECHANISM) is None:
        _check_login(listener, options)
    if settings.value(_HANDLER) is not None:
        raise SettingsError(
            f"{_HANDLER} has to be set as {listener_prefix(listener, _MECHANISM)}{_HANDLER}"
        )

    def value(name: str) -> Value:
        return settings.value_for_listener(listener, f"sasl.oauthbearer.{name}", _MECHANISM)

    handler = settings.own_of_listener(listener, _HANDLER, _MECHANISM)
    if handler is None or handler.text in _UNSECURED:
        if value("jwks.endpoint.url") is not None:
            raise SettingsError(
                f"listener {listener}: {_URL} has no effect without the handler for signed tokens "
                f"({_HANDLER})"
            )
        check = partial(check_unsecured, _unsecured_rules(options))
        return TokenCheck(_with_own_tokens(settings, check))
    if handler.text not in _SIGNED:
        raise SettingsError(f"listener {listener}: {_HANDLER} {handler.text} is not served")
    if any(name.startswith("ssl.") for name in options):
        raise SettingsError(f"listener {listener}: ssl.* in the JAAS text are not served")
    source = open_keys(_key_place(listener, value))
    tokens = SignedTokens(_signed_rules(value), source.keys, source.miss)
    return TokenCheck(tokens.check, source.ready)


def _with_own_tokens(settings: Settings, check: CheckToken) -> CheckToken:
    """Return a check that also accepts the tokens of the broker's issuer, if it has one."""
    if not settings.broker_lite_security:
        return check
    from broker_lite.security.one_word.own_tokens import with_own_tokens

    return with_own_tokens(settings, check)


def _key_place(listener: str, value: Callable[[str], Value]) -> KeyPlace:
    url = value("jwks.endpoint.url")
    if not isinstance(url, str) or not url.lower().startswith(_PROTOCOLS):
        raise SettingsError(
            f"listener {listener}: signed tokens need {_URL}, which begins with "
            f"{', '.join(_PROTOCOLS)}"
        )
    return KeyPlace(
        url,
        _number(value, "jwks.endpoint.refresh.ms"),
        _number(value, "jwks.endpoint.retry.backoff.ms"),
        _number(value, "jwks.endpoint.retry.backoff.max.ms"),
    )


def _signed_rules(value: Callable[[str], Value]) -> SignedTokenRules:
    issuer, audiences = value("expected.issuer"), value("expected.audience")
    assert isinstance(audiences, tuple)
    return SignedTokenRules(
        issuer=issuer if isinstance(issuer, str) else None,
        audiences=tuple(map(str, audiences)),
        skew_ms=_number(value, "clock.skew.seconds") * 1000,
        scope_claim=str(value("scope.claim.name")),
        name_claim=str(value("sub.claim.name")),
    )


def _number(value: Callable[[str], Value], name: str) -> int:
    number = value(name)
    assert isinstance(number, int)
    return max(number, 0)


def _unsecured_rules(options: Mapping[str, str]) -> TokenRules:
    skew = options.get(f"{_VALIDATOR}AllowableClockSkewMs", "0")
    if not (skew.isascii() and skew.isdigit() and len(skew) < 10):
        raise SettingsError(f"{_VALIDATOR}AllowableClockSkewMs is not a number of milliseconds")
    return TokenRules(
        name_claim=options.get(f"{_VALIDATOR}PrincipalClaimName") or "sub",
        scope_claim=options.get(f"{_VALIDATOR}ScopeClaimName") or "scope",
        required_scope=tuple(options.get(f"{_VALIDATOR}RequiredScope", "").split()),
        skew_ms=int(skew),
    )


def _check_login(listener: str, options: Mapping[str, str]) -> None:
    """Check the options from which Kafka makes a token for itself, once there are any options.

    Source: OAuthBearerUnsecuredLoginCallbackHandler.
    """
    claim = options.get(f"{_LOGIN}PrincipalClaimName", "").strip() or "sub"
    wanted = f"{_LOGIN}StringClaim_{claim}"
    if options and not options.get(wanted, "").strip():
        raise SettingsError(
            f"listener {listener}: a JAAS module of OAUTHBEARER with options needs {wanted}, too, "
            "as in Kafka, whose broker makes a token for itself"
        )

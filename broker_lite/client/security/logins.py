"""Reads who a client is from `sasl.mechanism` and `sasl.jaas.config`.

Without sasl.jaas.config, the section KafkaClient of the JAAS file counts that
-Djava.security.auth.login.config names in KAFKA_OPTS, as for Kafka's tools.
"""

import base64
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from broker_lite.client.security.authentication import Login
from broker_lite.errors import SettingsError
from broker_lite.security.login.mechanism import ClientMechanism
from broker_lite.security.login.oauthbearer import (
    OAuthBearerLogin,
    UnsecuredClaims,
    check_extensions,
)
from broker_lite.security.login.plain import PlainLogin
from broker_lite.security.login.scram import ScramLogin
from broker_lite.security.sasl.jaas import JaasError, LoginModule, parse_file, parse_module
from broker_lite.security.sasl.scram_mechanisms import SCRAM_MECHANISMS

_MECHANISM: Final = "sasl.mechanism"
_JAAS: Final = "sasl.jaas.config"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_DEFAULT: Final = "GSSAPI, Kafka's default"
_SERVED: Final = ("PLAIN", *SCRAM_MECHANISMS, "OAUTHBEARER")
_CLASSES: Final = (
    "sasl.login.callback.handler.class",
    "sasl.client.callback.handler.class",
    "sasl.login.class",
)
# those of Kafka; which one does not matter, because the properties say where tokens come from
_HANDLERS: Final = (".OAuthBearerLoginCallbackHandler", ".OAuthBearerUnsecuredLoginCallbackHandler")
_SECTION: Final = "KafkaClient"
_NONCE_BYTES: Final = 24
_UNSECURED: Final = "unsecuredLogin"
_LIFETIME: Final = f"{_UNSECURED}LifetimeSeconds"
_LIFETIME_DEFAULT: Final = "3600"


def login_of(properties: Mapping[str, str]) -> Login:
    """Return how the client says who it is.

    Raises:
        SettingsError: a property is wrong or missing.
    """
    mechanism = properties.get(_MECHANISM, "").strip()
    if mechanism not in _SERVED:
        served = ", ".join(_SERVED)
        if not mechanism:
            raise SettingsError(f"{_MECHANISM} is missing: it is one of {served} (not {_DEFAULT})")
        raise SettingsError(f"{_MECHANISM}={mechanism}: not supported, only {served}")
    for name in _CLASSES:
        text = properties.get(name, "").strip()
        if text and not text.endswith(_HANDLERS):
            raise SettingsError(f"{name}: classes of your own are not supported")
    options = _module(properties).options
    if mechanism == "OAUTHBEARER":
        return Login(mechanism, _bearer(properties, options))
    for name in ("username", "password"):
        if not options.get(name):
            raise SettingsError(f"{_JAAS}: {name} is missing")
    user, password = options["username"], options["password"]
    if mechanism == "PLAIN":
        return Login(mechanism, lambda: PlainLogin(user, password))
    is_token = options.get("tokenauth", "").lower() == "true"
    extensions = {"tokenauth": "true"} if is_token else None
    return Login(mechanism, lambda: ScramLogin(mechanism, user, password, _nonce(), extensions))


def _nonce() -> str:
    return base64.b64encode(os.urandom(_NONCE_BYTES)).decode()


def _module(properties: Mapping[str, str]) -> LoginModule:
    """Return the login module with its options.

    Raises:
        SettingsError: there is none, or the text is no JAAS.
    """
    where, text = _JAAS, properties.get(_JAAS, "")
    try:
        if text.strip():
            return parse_module(text)
        # imports all settings of a broker, which takes longer than asking one
        from broker_lite.settings.sources.open_broker import jaas_file

        path = jaas_file(os.environ)
        if path is None:
            raise SettingsError(f"{_JAAS} is missing: it has the login module with its options")
        where = path
        modules = parse_file(Path(where).read_text("utf-8")).get(_SECTION)
    except JaasError as error:
        raise SettingsError(f"{where}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise SettingsError(f"{where}: {reason}") from None
    if not modules:
        raise SettingsError(f"{where}: it has no section {_SECTION}")
    return modules[0]


def _bearer(
    properties: Mapping[str, str], options: Mapping[str, str]
) -> Callable[[], ClientMechanism]:
    """Return what begins an authentication by a token, a new one or that of an endpoint."""
    if properties.get(_ENDPOINT, "").strip():
        # imported only if needed, for a faster start
        from broker_lite.client.security.token_endpoint import token_endpoint_of

        make_token: Callable[[], str] = token_endpoint_of(properties, options).token
        extensions = _with_prefix(options, "extension_")
    else:
        claims = _claims(options)

        def make_token() -> str:
            return claims.token(time.time_ns() // 1_000_000)

        extensions = _with_prefix(options, f"{_UNSECURED}Extension_")
    try:
        check_extensions(extensions)
    except ValueError as error:
        raise SettingsError(f"{_JAAS}: {error}") from None
    return partial(OAuthBearerLogin, make_token, extensions)


def _claims(options: Mapping[str, str]) -> UnsecuredClaims:
    """Return what an unsecured token says.

    Raises:
        SettingsError: an option is wrong, or there is none of them.
    """
    claims: dict[str, object] = dict(_with_prefix(options, f"{_UNSECURED}StringClaim_"))
    for name, text in _with_prefix(options, f"{_UNSECURED}NumberClaim_").items():
        try:
            claims[name] = float(text)
        except ValueError:
            raise SettingsError(f"{_JAAS}: the claim {name} is not a number") from None
    for name, text in _with_prefix(options, f"{_UNSECURED}ListClaim_").items():
        claims[name] = text[1:].split(text[0]) if text else []  # it begins with what separates
    principal = options.get(f"{_UNSECURED}PrincipalClaimName") or "sub"
    if not claims.get(principal):
        raise SettingsError(
            f"{_JAAS}: {_UNSECURED}StringClaim_{principal} is missing, and {_ENDPOINT} is not set"
        )
    lifetime = options.get(_LIFETIME) or _LIFETIME_DEFAULT
    if not (lifetime.isascii() and lifetime.isdigit() and 0 < len(lifetime) <= 10):
        raise SettingsError(f"{_JAAS}: {_LIFETIME} is not a number of seconds")
    return UnsecuredClaims(claims, int(lifetime))


def _with_prefix(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): text for name, text in options.items() if name.startswith(prefix)
    }

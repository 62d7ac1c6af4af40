"""How clients of a listener authenticate, from the settings of the broker.

A setting of a listener and a mechanism wins over that of the listener, and that over the broker's.
The users of a mechanism are in its sasl.jaas.config, or in the JAAS file.

Source: SaslChannelBuilder, JaasContext.loadServerContext; a mechanism without users' module is
refused at the start, as in Kafka.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.exchange import SaslRules
from broker_lite.security.sasl.jaas import JaasError, LoginModule, parse_file, parse_module
from broker_lite.security.sasl.mechanism import Mechanism
from broker_lite.security.sasl.oauthbearer import OAuthBearer
from broker_lite.security.sasl.plain import Plain
from broker_lite.security.sasl.scram import Credential, Scram, TokenCredential
from broker_lite.security.sasl.scram_mechanisms import SCRAM_MECHANISMS
from broker_lite.security.sasl.token_rules import OpenKeys, token_check
from broker_lite.settings import InvalidValue, Settings
from broker_lite.settings.declared.declarations import listener_prefix

FindUser = Callable[[str, int], Credential | None]
"""Finds a SCRAM credential by the user's name and the number of the mechanism."""
FindToken = Callable[[str, str], TokenCredential | None]
"""Finds the credential of a delegation token by its id and the name of the mechanism."""
RandomBytes = Callable[[int], bytes]


class Sources(NamedTuple):
    """Where credentials and keys come from.

    Attributes:
        find: asked at each authentication, so that users may come and go (X-24).
        find_token: the same for delegation tokens.
        random_bytes: returns so many bytes for nonces.
        open_keys: opens the source of the keys of signed tokens.
    """

    find: FindUser
    find_token: FindToken
    random_bytes: RandomBytes
    open_keys: OpenKeys


_JAAS: Final = "sasl.jaas.config"
_SECTION: Final = "KafkaServer"
_PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_OAUTHBEARER_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_NONCE_BYTES: Final = 24
_USER: Final = "user_"
_OAUTHBEARER: Final = "OAUTHBEARER"
_SERVED: Final = ("PLAIN", *SCRAM_MECHANISMS, _OAUTHBEARER)


def sasl_rules(settings: Settings, listener: str, sources: Sources) -> SaslRules:
    """Return how clients of a listener authenticate.

    Args:
        settings: of the broker.
        listener: its name, in upper case.
        sources: where credentials and keys come from.

    Raises:
        SettingsError: a mechanism is not served, or has no users' module; one line for a person.

    Rule: X-24.
    See: X-03, X-04, X-32.
    """
    try:
        return _sasl_rules(settings, listener, sources)
    except InvalidValue as error:
        raise SettingsError(f"listener {listener}: {error}") from error


def _sasl_rules(settings: Settings, listener: str, sources: Sources) -> SaslRules:
    mechanisms = settings.value_for_listener(listener, "sasl.enabled.mechanisms")
    assert isinstance(mechanisms, tuple)
    if not mechanisms:
        raise SettingsError(f"listener {listener}: sasl.enabled.mechanisms has no mechanism")
    makers: dict[str, Callable[[], Mechanism]] = {}
    ready: dict[str, Callable[[], Awaitable[None]]] = {}
    session_ms_max = {}
    for mechanism in mechanisms:
        if mechanism not in _SERVED:
            raise SettingsError(
                f"listener {listener}: the SASL mechanism {mechanism} is not served, only "
                f"{', '.join(_SERVED)} (sasl.enabled.mechanisms)"
            )
        modules = _modules(settings, listener, mechanism)
        if mechanism == _OAUTHBEARER:
            options = _options(modules, _OAUTHBEARER_MODULE)
            tokens = token_check(settings, listener, options, sources.open_keys)
            makers[mechanism] = partial(OAuthBearer, tokens.check)
            if tokens.ready is not None:
                ready[mechanism] = tokens.ready
        else:
            makers[mechanism] = _maker(mechanism, modules, sources)
        reauth_ms = settings.value_for_listener(listener, "connections.max.reauth.ms", mechanism)
        assert isinstance(reauth_ms, int)
        session_ms_max[mechanism] = reauth_ms
    message_bytes_max = settings.value_for_listener(listener, "sasl.server.max.receive.size")
    assert isinstance(message_bytes_max, int)
    return SaslRules(
        makers,
        session_ms_max,
        message_bytes_max,
        settings.connection_failed_authentication_delay_ms,
        ready,
    )


def _modules(settings: Settings, listener: str, mechanism: str) -> Sequence[LoginModule]:
    own = listener_prefix(listener, mechanism) + _JAAS
    key = own
    given = settings.own_of_listener(listener, _JAAS, mechanism)
    try:
        if given is not None:
            return [parse_module(given.text)]
        path = settings.broker_lite_jaas_file
        key = path or key
        sections = parse_file(Path(path).read_text("utf-8")) if path else {}
    except JaasError as error:
        raise SettingsError(f"{key}: {error}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(f"{key}: {reason}") from error
    section = f"{listener.lower()}.{_SECTION}"
    found = sections.get(section) or sections.get(_SECTION)
    if not found:
        raise SettingsError(
            f"listener {listener}: {own} is not set, and no JAAS file has a section "
            f"{section} or {_SECTION}"
        )
    return found


def _maker(
    mechanism: str, modules: Sequence[LoginModule], sources: Sources
) -> Callable[[], Mechanism]:
    """Return what begins an exchange of a mechanism."""
    if mechanism == "PLAIN":
        options = _options(modules, _PLAIN_MODULE)
        return partial(
            Plain,
            {
                name.removeprefix(_USER): password
                for name, password in options.items()
                if name.startswith(_USER)
            },
        )
    number = SCRAM_MECHANISMS[mechanism]

    def make_nonce() -> str:
        return base64.b64encode(sources.random_bytes(_NONCE_BYTES)).decode()

    return lambda: Scram(
        mechanism,
        lambda user: sources.find(user, number),
        make_nonce,
        lambda token_id: sources.find_token(token_id, mechanism),
    )


def _options(modules: Sequence[LoginModule], name: str) -> Mapping[str, str]:
    """Return the options of a module of this class; empty if there is none."""
    return next((module.options for module in modules if module.name == name), {})

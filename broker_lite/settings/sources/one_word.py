"""What the one word of `broker.lite.security` means: the settings of Kafka that secure a broker.

| word | clients |
| --- | --- |
| `ssl` | speak TLS |
| `mtls` | speak TLS, and have a certificate |
| `sasl_plaintext` | log in |
| `sasl_ssl` | speak TLS, and log in |

Settings of Kafka that somebody has set stay as they are. The listeners that would speak PLAINTEXT
speak the protocol of the word instead. One listener PLAINTEXT is added on the loopback, for health
checks and for the commands of the same machine, unless `broker.lite.security.only` is set.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.settings.declared.declarations import listener_prefix
from broker_lite.settings.listeners import Listener, parse_listeners
from broker_lite.settings.settings import Settings
from broker_lite.settings.sources.load import with_flags

CA_FILE: Final = "broker-lite-ca.pem"
"""The certificate of the CA, in the data directory."""
CLIENT_FILE: Final = "broker-lite-client.pem"
"""The private key and certificate of the user called user, in the data directory."""
SERVER_FILE: Final = "broker-lite-server.pem"
"""The server's private key and certificate, in the data directory."""
PLAIN_LISTENER: Final = "PLAINTEXT"
"""The name of the listener for health checks."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

_WORD: Final = "broker.lite.security"
_USERS: Final = f"{_WORD}.users"
_MAP: Final = "listener.security.protocol.map"
_SUPER_USERS: Final = "super.users"
_PROTOCOLS: Final[Mapping[str, str]] = {
    "ssl": "SSL",
    "mtls": "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_ssl": "SASL_SSL",
}
_LOOPBACK: Final = "127.0.0.1"
_PORT_STEP: Final = 10_000
_PORT_MAX: Final = 65535
_USERS_MAX: Final = 1000
_USER_NAME: Final = re.compile(r"[\w.@+-]{1,255}")
_MODULES: Final[Mapping[str, str]] = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}


class User(NamedTuple):
    """A user; `repr` leaves the password out.

    Attributes:
        name: without blanks.
        password: for all mechanisms.
        is_public: whether the password may be shown: everybody has these users.
    """

    name: str
    password: str
    is_public: bool = False

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"User({self.name})"


ADMIN: Final = User("admin", "admin-secret", True)
"""The super user."""
USER: Final = User("user", "user-secret", True)


def secured(settings: Settings, data_dir: Path) -> Settings:
    """Return the settings with those that the word stands for.

    Args:
        settings: as given.
        data_dir: where keys and certificates are kept, see security.one_word.

    Raises:
        SettingsError: users are wrong, or there is no word that other settings need.
    """
    word = settings.broker_lite_security
    if not word:
        for name in (_USERS, f"{_WORD}.san", f"{_WORD}.only"):
            if settings.value(name):
                raise SettingsError(f"{settings.origin_of(name)}: {name} needs {_WORD}")
        return settings
    origin = settings.origin_of(_WORD)
    protocol = _PROTOCOLS[word]
    settings = _with_listeners(settings, protocol, origin)
    texts = {_SUPER_USERS: f"User:{ADMIN.name}"}
    if protocol.endswith("SSL"):
        texts |= _tls(settings, data_dir, is_mutual=word == "mtls")
    if protocol.startswith("SASL"):
        texts |= _sasl(settings, protocol)
    kept = {name: text for name, text in texts.items() if name not in settings.given}
    return with_flags(settings, kept, origin)


def users_of(settings: Settings) -> dict[str, User]:
    """Return the users of a secured broker by name, those that everybody has first.

    Raises:
        SettingsError: one is not written as NAME:PASSWORD; one line without a password.
    """
    found = {one.name: one for one in (ADMIN, USER)}
    text = settings.value(_USERS)
    lines = str(text or "").splitlines()
    for number, line in enumerate(filter(None, (each.strip() for each in lines)), 1):
        name, colon, password = line.partition(":")
        if not (colon and password and _USER_NAME.fullmatch(name)):
            raise SettingsError(
                f"{settings.origin_of(_USERS)}: user {number} is not NAME:PASSWORD; a name has "
                "letters, digits and . _ @ + -"
            )
        found[name] = User(name, password)
    if len(found) > _USERS_MAX:
        raise SettingsError(f"{_USERS}: there are more than {_USERS_MAX} users")
    return found


def secured_listeners(settings: Settings) -> list[Listener]:
    """Return the listeners that speak the protocol of the word, in their order."""
    protocol = _PROTOCOLS.get(settings.broker_lite_security)
    return [one for one in parse_listeners(settings) if one.security_protocol == protocol]


def plain_listener(settings: Settings) -> Listener | None:
    """Return the first listener that speaks PLAINTEXT; None if there is none."""
    plain = (one for one in parse_listeners(settings) if one.security_protocol == "PLAINTEXT")
    return next(plain, None)


def _with_listeners(settings: Settings, protocol: str, origin: str) -> Settings:
    """Let the listeners speak the protocol that would speak PLAINTEXT, unless some do already."""
    before = parse_listeners(settings)
    if any(one.security_protocol == protocol for one in before):
        return settings
    changed = [one.name for one in before if one.security_protocol == "PLAINTEXT"]
    if not changed:
        raise SettingsError(f"{origin}: {_WORD}: no listener can speak {protocol}")
    texts = {}
    if _MAP not in settings.given and changed == [PLAIN_LISTENER]:
        for name in ("listeners", "advertised.listeners"):
            entries = settings.value(name)
            if isinstance(entries, tuple) and entries:
                texts[name] = ",".join(_renamed(each, protocol) for each in entries)
    pairs = _protocols(settings)
    pairs |= dict.fromkeys(changed, protocol) if "listeners" not in texts else {}
    pairs.setdefault(protocol, protocol)
    if not settings.broker_lite_security_only:
        name = PLAIN_LISTENER if "listeners" in texts else "HEALTH"
        pairs[name] = "PLAINTEXT"
        listeners = texts.get("listeners") or ",".join(settings.listeners)
        texts["listeners"] = f"{listeners},{name}://{_LOOPBACK}:{_plain_port(before[0].port)}"
    texts[_MAP] = ",".join(f"{name}:{spoken}" for name, spoken in pairs.items())
    return with_flags(settings, texts, origin)


def _protocols(settings: Settings) -> dict[str, str]:
    entries = settings.listener_security_protocol_map.split(",")
    pairs = (each.strip().upper().split(":") for each in entries if each)
    return {pair[0].strip(): pair[1].strip() for pair in pairs}


def _renamed(entry: str, protocol: str) -> str:
    name, separator, address = entry.partition("://")
    return f"{protocol if name.upper() == PLAIN_LISTENER else name}{separator}{address}"


def _plain_port(port: int) -> int:
    """Return the port for health checks: 9092 becomes 19092, and 0 stays any free one."""
    if not port:
        return 0
    return port + _PORT_STEP if port + _PORT_STEP <= _PORT_MAX else port - _PORT_STEP


def _tls(settings: Settings, data_dir: Path, *, is_mutual: bool) -> dict[str, str]:
    texts = {}
    for listener in secured_listeners(settings):
        prefix = f"{listener_prefix(listener.name)}ssl."
        if any(_has_keys(settings, name) for name in (prefix, "ssl.")):
            continue
        texts[f"{prefix}keystore.type"] = "PEM"
        texts[f"{prefix}keystore.location"] = str(data_dir / SERVER_FILE)
        if is_mutual:
            texts[f"{prefix}client.auth"] = "required"
            texts[f"{prefix}truststore.type"] = "PEM"
            texts[f"{prefix}truststore.location"] = str(data_dir / CA_FILE)
            # so that user is the same user, however it comes
            texts[f"{prefix}principal.mapping.rules"] = "RULE:^CN=([^,]+)$/$1/,DEFAULT"
    return texts


def _has_keys(settings: Settings, prefix: str) -> bool:
    return f"{prefix}keystore.location" in settings.given or f"{prefix}keystore.key" in (
        settings.given
    )


def _sasl(settings: Settings, protocol: str) -> dict[str, str]:
    users = " ".join(
        f'user_{one.name}="{_escaped(one.password)}"' for one in users_of(settings).values()
    )
    texts = {}
    for listener in secured_listeners(settings):
        enabled = f"{listener_prefix(listener.name)}sasl.enabled.mechanisms"
        texts[enabled] = ",".join(MECHANISMS)
        for mechanism, module in _MODULES.items():
            options = f" {users}" if mechanism == "PLAIN" else ""
            texts[f"{listener_prefix(listener.name, mechanism)}sasl.jaas.config"] = (
                f"org.apache.kafka.common.security.{module} required{options};"
            )
    return texts


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

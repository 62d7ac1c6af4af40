"""How clients reach the broker of this process, for the resources about security."""

from pathlib import Path
from typing import Final

from broker_lite.security.one_word.client_settings import Access, key_and_certificate
from broker_lite.security.one_word.keep import Kept, read_kept
from broker_lite.server.life import Life
from broker_lite.settings import Listener, Settings, join_address, parse_listeners
from broker_lite.settings.sources.one_word import (
    User,
    plain_listener,
    secured_listeners,
    users_of,
)
from broker_lite.testbench.errors import ControlError

MECHANISM: Final = "SCRAM-SHA-512"
"""Of clients that name none."""
_NOT_FOUND: Final = 404
_WILDCARDS: Final = frozenset(("", "0.0.0.0", "::"))  # noqa: S104 - not bound here
_LOOPBACK: Final = "127.0.0.1"
_UNKNOWN: Final = "PASSWORD"


def kept_of(life: Life) -> Kept:
    """Return the keys and certificates of a secured broker.

    Raises:
        ControlError: it is not secured by one word.
    """
    is_secured = life.cluster.settings.broker_lite_security
    kept = read_kept(Path(life.cluster.logs.data_dir)) if is_secured else None
    if kept is None:
        raise ControlError(_NOT_FOUND, "the broker makes no keys; start it with --security")
    return kept


def user_of(life: Life, name: str) -> User:
    """Return a user of a secured broker by name.

    Raises:
        ControlError: there is none.
    """
    users = users_of(life.cluster.settings)
    if name not in users:
        raise ControlError(
            _NOT_FOUND, f"there is no user {name!r}, only {', '.join(users)}", "?user"
        )
    return users[name]


def access_of(life: Life, caller_host: str, name: str, mechanism: str) -> Access:
    """Return how a user reaches the broker.

    Args:
        life: of the broker.
        caller_host: HOST or HOST:PORT by which the caller has reached this machine; may be empty.
        name: of the user.
        mechanism: of SASL, if the listener wants one.

    Raises:
        ControlError: the broker is secured in another way, or there is no such user.
    """
    settings = life.cluster.settings
    listener = main_listener(settings)
    access = Access(bootstrap(life, listener, caller_host), listener.security_protocol)
    if not settings.broker_lite_security:
        return access
    user, kept = user_of(life, name), kept_of(life)
    if listener.security_protocol.startswith("SASL"):
        password = user.password if user.is_public else _UNKNOWN
        access = access._replace(mechanism=mechanism, user=user.name, password=password)
    if listener.security_protocol.endswith("SSL"):
        access = access._replace(ca=kept.ca)
    if settings.broker_lite_security == "mtls":
        key, certificate = key_and_certificate(kept.clients[user.name]["pem"])
        access = access._replace(client_key=key, client_certificate=certificate, user=user.name)
    return access


def main_listener(settings: Settings) -> Listener:
    """Return the listener that clients are to use.

    Raises:
        ControlError: it is secured by other settings, whose users and keys are not known here.
    """
    if settings.broker_lite_security:
        return secured_listeners(settings)[0]
    plain = plain_listener(settings)
    if plain is None:
        protocol = parse_listeners(settings)[0].security_protocol
        text = (
            f"the broker speaks {protocol} by settings of its own; what its clients need is there"
        )
        raise ControlError(_NOT_FOUND, text)
    return plain


def bootstrap(life: Life, listener: Listener, caller_host: str) -> str:
    """Return HOST:PORT of a listener of each broker, as a caller reaches them."""
    found = []
    for node_id in life.cluster.node_ids:
        info = life.nodes.listener(node_id, listener.name)
        if info is not None:
            host = info.advertised_host or listener.host
            if host in _WILDCARDS:
                host = _host(caller_host) or _LOOPBACK
            found.append(join_address(host, info.advertised_port or info.bound_port))
    return ",".join(found)


def _host(text: str) -> str:
    """Return the host of HOST or HOST:PORT, without the brackets of IPv6."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]

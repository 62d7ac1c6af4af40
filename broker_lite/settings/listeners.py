"""The addresses that a broker listens on, and those that it tells its clients."""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings.settings import Settings

_PORT_MAX = 65535
_EVERY_ADDRESS = frozenset(("0.0.0.0", "::"))  # noqa: S104 - refused
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
WITH_TLS: Final = (SSL, SASL_SSL)
WITH_SASL: Final = (SASL_PLAINTEXT, SASL_SSL)
_PROTOCOLS: Final = ("PLAINTEXT", SSL, SASL_PLAINTEXT, SASL_SSL)
_GATEWAY: Final = "broker.lite.gateway.advertised"
_HOST_AND_PORT: Final = re.compile(
    r"(?:\[(?P<ipv6>[0-9a-f:.]+)\]|(?P<name>[\w.-]+))(?::(?P<port>\d{1,5}))?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One listener.

    Args:
        name: the configured name, in upper case.
        host: the address to listen on; empty for all interfaces.
        port: the port to listen on; 0 for any free one.
        security_protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        advertised_host: the host that clients are told; None for the one they connected to.
        advertised_port: the port that clients are told; None for the one they connected to.
        gateway_host: the host that clients are told if they connect through the default gateway;
            None for the same host as all others.
        gateway_port: the same for the port.
    """

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"
    advertised_host: str | None = None
    advertised_port: int | None = None
    gateway_host: str | None = None
    gateway_port: int | None = None


def parse_listeners(settings: Settings) -> tuple[Listener, ...]:
    """Return the listeners to open, in the order of their configuration.

    Listeners for a KRaft controller are accepted, but left out: nothing connects to them here.

    Raises:
        SettingsError: an address, name or protocol cannot be used.

    Rule: P-75, X-01 (SocketServerConfigs, EndPoint).
    """
    addresses = _addresses("listeners", settings.listeners)
    advertised = _advertised(settings.advertised_listeners or (), addresses)
    protocols = _protocol_map(settings.listener_security_protocol_map)
    gateway_host, gateway_port = _gateway(settings.broker_lite_gateway_advertised)
    controllers = {name.upper() for name in settings.controller_listener_names}
    found = []
    for name, (host, port) in addresses.items():
        if name in controllers:
            continue
        told_host, told_port = advertised.get(name, (None, None))
        follows_gateway = name not in advertised
        found.append(
            Listener(
                name=name,
                host=host,
                port=port,
                security_protocol=_protocol(protocols, name),
                advertised_host=told_host or None,
                advertised_port=told_port or None,
                gateway_host=gateway_host if follows_gateway else None,
                gateway_port=gateway_port if follows_gateway else None,
            )
        )
    if not found:
        raise SettingsError("listeners: there is none for clients")
    if sum(listener.gateway_port is not None for listener in found) > 1:
        raise SettingsError(f"{_GATEWAY}: a port belongs to one listener, but there are several")
    return tuple(found)


def join_address(host: str, port: int) -> str:
    """Return HOST:PORT, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _gateway(text: str) -> tuple[str | None, int | None]:
    """Return host and port of HOST or HOST:PORT; None for a part that is missing."""
    if not text:
        return None, None
    found = _HOST_AND_PORT.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 1) <= _PORT_MAX:
        raise SettingsError(f"{_GATEWAY}: {text!r} is not HOST or HOST:PORT, IPv6 in brackets")
    host = found["ipv6"] or found["name"]
    if host in _EVERY_ADDRESS:
        raise SettingsError(f"{_GATEWAY}: clients cannot connect to {host}")
    return host, int(found["port"]) if found["port"] else None


def _protocol_map(text: str) -> dict[str, str]:
    protocols = {}
    for pair in filter(None, (item.strip() for item in text.split(","))):
        name, colon, protocol = pair.partition(":")
        if not colon or not name.strip():
            raise SettingsError(f"listener.security.protocol.map: {pair!r} is not NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def _protocol(protocols: Mapping[str, str], name: str) -> str:
    protocol = protocols.get(name)
    if protocol is None:
        raise SettingsError(f"listener.security.protocol.map: no protocol for listener {name}")
    if protocol not in _PROTOCOLS:
        raise SettingsError(
            f"listener {name}: {protocol} is not supported, only {', '.join(_PROTOCOLS)}"
        )
    return protocol


def _advertised(entries: Iterable[str], listeners: Container[str]) -> dict[str, tuple[str, int]]:
    found = _addresses("advertised.listeners", entries)
    for name, (host, _) in found.items():
        if name not in listeners:
            raise SettingsError(f"advertised.listeners: {name} is not in listeners")
        if host in _EVERY_ADDRESS:
            raise SettingsError(f"advertised.listeners: clients cannot connect to {host}")
    return found


def with_first_address(settings: Settings, host: str | None, port: int | None) -> str:
    """Return the text of `listeners` with another address for the first listener that is opened.

    Args:
        settings: the settings with the current listeners.
        host: the new host; None keeps the current one.
        port: the new port; None keeps the current one.

    Raises:
        SettingsError: as in parse_listeners().
    """
    first = parse_listeners(settings)[0]
    new_host = first.host if host is None else host
    if ":" in new_host and not new_host.startswith("["):
        new_host = f"[{new_host}]"
    address = f"{first.name}://{new_host}:{first.port if port is None else port}"
    return ",".join(
        address if entry.upper().startswith(f"{first.name}://") else entry
        for entry in settings.listeners
    )


def _addresses(key: str, entries: Iterable[str]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for entry in entries:
        name, host, port = _split(key, entry)
        if name in found:
            raise SettingsError(f"{key}: {name} is given twice")
        found[name] = (host, port)
    return found


def _split(key: str, entry: str) -> tuple[str, str, int]:
    name, separator, address = entry.partition("://")
    host, colon, port = address.rpartition(":")
    is_number = port.isascii() and port.isdigit() and len(port) <= 5
    if not separator or not name or not colon or not is_number or int(port) > _PORT_MAX:
        raise SettingsError(f"{key}: {entry!r} is not NAME://HOST:PORT")
    return name.upper(), host.removeprefix("[").removesuffix("]"), int(port)

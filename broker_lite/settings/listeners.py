"""Which addresses a broker listens on and which it tells its clients."""

from collections.abc import Iterable
from dataclasses import dataclass

from broker_lite.errors import SettingsError
from broker_lite.settings.settings import Settings

_PORT_MAX = 65535
_EVERY_ADDRESS = frozenset(("0.0.0.0", "::"))  # noqa: S104 - refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One listener.

    Args:
        name: as configured, upper case.
        host: where to listen; empty for all interfaces.
        port: 0 takes a free one.
        security_protocol: PLAINTEXT.
        advertised_host: what clients are told, None for the address at which they came.
        advertised_port: the same for the port.
    """

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"
    advertised_host: str | None = None
    advertised_port: int | None = None


def parse_listeners(settings: Settings) -> tuple[Listener, ...]:
    """The listeners to open, in the order in which they are configured.

    Those of a KRaft controller are accepted and left out: nobody connects to them here.

    Raises:
        SettingsError: an address, name or protocol that cannot be used.

    Rule: P-75 (SocketServerConfigs, EndPoint).
    """
    protocols = _protocol_map(settings.listener_security_protocol_map)
    addresses = _addresses("listeners", settings.listeners)
    advertised = _addresses("advertised.listeners", settings.advertised_listeners or ())
    controllers = {name.upper() for name in settings.controller_listener_names}
    for name in advertised.keys() - addresses.keys():
        raise SettingsError(f"advertised.listeners: {name} is not one of listeners")
    for host, _ in advertised.values():
        if host in _EVERY_ADDRESS:
            raise SettingsError(f"advertised.listeners: nobody can connect to {host}")
    found = []
    for name, (host, port) in addresses.items():
        if name in controllers:
            continue
        protocol = protocols.get(name)
        if protocol is None:
            raise SettingsError(f"listener.security.protocol.map: no protocol for listener {name}")
        if protocol != "PLAINTEXT":
            raise SettingsError(f"listener {name}: {protocol} is not supported, PLAINTEXT is")
        told_host, told_port = advertised.get(name, (None, None))
        found.append(
            Listener(
                name=name,
                host=host,
                port=port,
                security_protocol=protocol,
                advertised_host=told_host or None,
                advertised_port=told_port or None,
            )
        )
    if not found:
        raise SettingsError("listeners: none is left to open")
    return tuple(found)


def join_address(host: str, port: int) -> str:
    """HOST:PORT, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _protocol_map(text: str) -> dict[str, str]:
    protocols = {}
    for pair in filter(None, (item.strip() for item in text.split(","))):
        name, colon, protocol = pair.partition(":")
        if not colon or not name.strip():
            raise SettingsError(f"listener.security.protocol.map: {pair!r} is not NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def _addresses(key: str, entries: Iterable[str]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for entry in entries:
        name, host, port = _split(key, entry)
        if name in found:
            raise SettingsError(f"{key}: {name} is there twice")
        found[name] = (host, port)
    return found


def _split(key: str, entry: str) -> tuple[str, str, int]:
    name, separator, address = entry.partition("://")
    host, colon, port = address.rpartition(":")
    is_number = port.isascii() and port.isdigit() and len(port) <= 5
    if not separator or not name or not colon or not is_number or int(port) > _PORT_MAX:
        raise SettingsError(f"{key}: {entry!r} is not NAME://HOST:PORT")
    return name.upper(), host.removeprefix("[").removesuffix("]"), int(port)

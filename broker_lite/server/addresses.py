"""Where each node of the process listens, and what its clients are told."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.listener import ListenerAddress
from broker_lite.settings import Listener, Settings, parse_listeners

_PORT_MAX: Final = 65535
_NUMBER: Final = re.compile("[0-9]{1,5}")


def addresses_by_node(settings: Settings) -> Mapping[int, Sequence[ListenerAddress]]:
    """Return the addresses of each node, by its id.

    The ports of the first node are those of the settings; each further node has the next ones, the
    advertised ones too. Port 0 takes a free one for each. broker.lite.ports is stronger.

    Raises:
        SettingsError: an address cannot be used, or two nodes would have the same port.
    """
    listeners = parse_listeners(settings)
    count = settings.broker_count
    first_ports = _first_ports(settings.broker_lite_ports, count)
    addresses = {
        settings.node_id + step: [
            _address(listener, step, first_ports[step] if first_ports and not position else None)
            for position, listener in enumerate(listeners)
        ]
        for step in range(count)
    }
    _check_ports(addresses)
    return addresses


def _first_ports(text: str, count: int) -> Sequence[int]:
    """Return the port of each broker's first listener; empty where they are side by side."""
    if not text:
        return ()
    ports = [each.strip() for each in text.split(",")]
    if len(ports) != count:
        raise SettingsError(f"broker.lite.ports: {len(ports)} ports for {count} brokers")
    if not all(_NUMBER.fullmatch(port) and int(port) <= _PORT_MAX for port in ports):
        raise SettingsError(f"broker.lite.ports: {text!r} are not port numbers")
    return [int(port) for port in ports]


def _check_ports(addresses: Mapping[int, Sequence[ListenerAddress]]) -> None:
    """Check that each port is there, and that no two listeners want one port of one host."""
    users: dict[tuple[str, int], str] = {}
    for node_id, listeners in addresses.items():
        for address in listeners:
            user = f"listener {address.info.name} of broker {node_id}"
            if address.port > _PORT_MAX:
                raise SettingsError(f"{user}: there is no port {address.port}")
            if max(address.info.advertised_port or 0, address.info.gateway_port or 0) > _PORT_MAX:
                raise SettingsError(f"{user}: there is no port {_PORT_MAX + 1} to advertise")
            key = address.host, address.port
            if address.port and users.setdefault(key, user) is not user:
                raise SettingsError(f"{user}: port {address.port} is that of {users[key]}")


def _address(listener: Listener, step: int, port: int | None) -> ListenerAddress:
    """Return the address of a listener for the broker that is so many steps from the first."""
    info = ListenerInfo(
        listener.name,
        listener.security_protocol,
        listener.advertised_host,
        _further(listener.advertised_port, step),
        gateway_host=listener.gateway_host,
        gateway_port=_further(listener.gateway_port, step),
    )
    if port is None:
        port = listener.port + step if listener.port else 0
    return ListenerAddress(info, listener.host, port)


def _further(port: int | None, step: int) -> int | None:
    return port + step if port else port

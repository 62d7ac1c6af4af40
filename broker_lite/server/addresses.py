"""Where each node of the process listens, and what its clients are told."""

from collections.abc import Mapping, Sequence

from broker_lite.errors import SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.listener import ListenerAddress
from broker_lite.settings import Listener, Settings, parse_listeners

_PORT_MAX = 65535


def addresses_by_node(settings: Settings) -> Mapping[int, Sequence[ListenerAddress]]:
    """Return the addresses of each node, by its id.

    The ports of the first node are those of the settings; each further node has the next ones, the
    advertised ones too. Port 0 takes a free one for each.

    Raises:
        SettingsError: an address cannot be used, or two nodes would have the same port.
    """
    listeners = parse_listeners(settings)
    count = settings.broker_lite_brokers
    _check_ports(listeners, count)
    return {
        settings.node_id + step: [_address(listener, step) for listener in listeners]
        for step in range(count)
    }


def at_ports(
    addresses: Mapping[int, Sequence[ListenerAddress]], ports: Sequence[int]
) -> Mapping[int, Sequence[ListenerAddress]]:
    """Return the same addresses, but other ports of the first listener of each node.

    Args:
        addresses: by node.
        ports: in the order of the nodes; for another number of nodes they are not used.
    """
    if len(ports) != len(addresses):
        return addresses
    return {
        node_id: [each[0]._replace(port=port), *each[1:]]
        for (node_id, each), port in zip(addresses.items(), ports, strict=True)
    }


def _check_ports(listeners: Sequence[Listener], count: int) -> None:
    used: dict[int, str] = {}
    for listener in listeners:
        if not listener.port:
            continue
        if listener.port + count - 1 > _PORT_MAX:
            raise SettingsError(
                f"listener {listener.name}: {count} brokers need ports up to "
                f"{listener.port + count - 1}, and {_PORT_MAX} is the last one"
            )
        for port in range(listener.port, listener.port + count):
            if used.setdefault(port, listener.name) != listener.name:
                raise SettingsError(
                    f"listener {listener.name}: port {port} is also wanted by listener "
                    f"{used[port]}: each has {count} ports, one for each broker"
                )


def _address(listener: Listener, step: int) -> ListenerAddress:
    info = ListenerInfo(
        listener.name,
        listener.security_protocol,
        listener.advertised_host,
        _further(listener.advertised_port, step),
        gateway_host=listener.gateway_host,
        gateway_port=_further(listener.gateway_port, step),
    )
    return ListenerAddress(info, listener.host, listener.port + step if listener.port else 0)


def _further(port: int | None, step: int) -> int | None:
    return port + step if port else port

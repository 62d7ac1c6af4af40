"""The settings of each broker of a cluster that has several, in one process or in several.

They share the given settings, except for what belongs to one broker: its id, its rack, its ports
and the release that it acts as.
"""

from collections.abc import Sequence

from broker_lite.settings.settings import Given, Settings

_BROKERS = "broker.lite.brokers"
_PROCESSES = "broker.lite.processes"
_RACKS = "broker.lite.racks"
_EMULATE = "emulate"
_PORTS = "broker.lite.ports"
_LISTENERS = "listeners"
_ADDRESSES = (_LISTENERS, "advertised.listeners")


def settings_of_node(settings: Settings, step: int) -> Settings:
    """Return the settings of one broker of the process.

    Args:
        settings: as given, without dynamic ones.
        step: 0 for the first broker, 1 for the next one and so on.
    """
    own = {**_identity(settings, step), **_place(settings, step)}
    if not own:
        return settings
    given = {**settings.given, **own}
    return Settings({name: one for name, one in given.items() if one is not None})


def settings_of_process(settings: Settings, step: int) -> Settings:
    """Return the settings of the process of one broker, which knows nothing of other processes.

    Args:
        settings: as given, without dynamic ones.
        step: 1 for the second process, 2 for the next one and so on.
    """
    given = dict(settings_of_node(settings, step).given)
    for name in (_PROCESSES, _RACKS, _PORTS):
        given.pop(name, None)
    return Settings(given)


def releases(settings: Settings) -> tuple[str, ...]:
    """Return the release that each broker acts as, in the order of their ids.

    Args:
        settings: as given; not those of one broker.
    """
    found = tuple(one.strip() for one in settings.emulate.split(","))
    return found if len(found) > 1 else found * settings.broker_count


def _identity(settings: Settings, step: int) -> dict[str, Given]:
    """Return the id of one of several brokers, and its addresses if it is not the first one."""
    if settings.broker_count == 1:
        return {}
    origin = _origin(settings, _BROKERS if settings.process_count == 1 else _PROCESSES)
    node_id = Given(str(settings.node_id + step), origin)
    found = {"node.id": node_id, "broker.id": node_id}
    for name in _ADDRESSES if step else ():
        addresses = settings.value(name)
        if isinstance(addresses, tuple):
            found[name] = Given(",".join(_shifted(each, step) for each in addresses), origin)
    ports = settings.broker_lite_ports.split(",")
    if settings.broker_lite_ports and len(ports) > step:
        texts = found[_LISTENERS].text.split(",") if step else settings.listeners
        port = ports[step].strip()
        found[_LISTENERS] = Given(_with_first_port(settings, texts, port), _PORTS)
    return found


def _place(settings: Settings, step: int) -> dict[str, Given | None]:
    """Return what lists have for a broker: its rack, which may be none, and its release."""
    found: dict[str, Given | None] = {}
    if settings.broker_lite_racks:
        racks = settings.broker_lite_racks.split(",")
        rack = racks[step % len(racks)].strip()
        found["broker.rack"] = Given(rack, _origin(settings, _RACKS)) if rack else None
    if "," in settings.emulate:
        found[_EMULATE] = Given(releases(settings)[step], _origin(settings, _EMULATE))
    return found


def _shifted(address: str, step: int) -> str:
    """Return an address whose port is `step` further; port 0 stays any free one."""
    rest, _, port = address.rpartition(":")
    return f"{rest}:{int(port) + step if int(port) else 0}"


def _with_first_port(settings: Settings, addresses: Sequence[str], port: str) -> str:
    """Return the text of addresses, of which the first one for clients has another port."""
    controllers = {name.upper() for name in settings.controller_listener_names}
    names = [address.partition("://")[0].upper() for address in addresses]
    first = next(index for index, name in enumerate(names) if name not in controllers)
    changed = list(addresses)
    changed[first] = f"{addresses[first].rpartition(':')[0]}:{port}"
    return ",".join(changed)


def _origin(settings: Settings, name: str) -> str:
    given = settings.given.get(name)
    return name if given is None else given.origin

"""The names and addresses by which clients reach a broker; its certificate has all of them.

Nothing is asked of a name server, which could take seconds: the addresses of this machine are read
from the kernel's tables.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, parse_listeners

_ALWAYS: Final = ("localhost", "127.0.0.1", "::1", "broker", "kafka")
_IPV4_TABLE: Final = Path("/proc/net/fib_trie")
_IPV6_TABLE: Final = Path("/proc/net/if_inet6")
_LOCAL_IPV4: Final = re.compile(r"\|-- ([\d.]+)\n\s+/32 host LOCAL")
_DNS_NAME: Final = re.compile(r"(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
_NAMES_MAX: Final = 500
_SAN: Final = "broker.lite.security.san"


def names_of(settings: Settings) -> frozenset[str]:
    """Return the names and addresses for a certificate.

    Raises:
        SettingsError: a given one is no name and no address.
    """
    given = [text.strip() for text in settings.broker_lite_security_san]
    for text in given:
        if _normal(text) is None:
            raise SettingsError(
                f"{settings.origin_of(_SAN)}: {text!r} is no name and no address for a certificate"
            )
    found = (*_ALWAYS, socket.gethostname(), *_own_addresses(), *_configured(settings), *given)
    names = frozenset(filter(None, map(_normal, found)))
    if len(names) > _NAMES_MAX:
        raise SettingsError(f"{_SAN}: a certificate has at most {_NAMES_MAX} names")
    return names


def local_addresses(ipv4_table: str, ipv6_table: str) -> Iterator[str]:
    """Yield this machine's addresses in the texts of /proc/net/fib_trie and /proc/net/if_inet6."""
    yield from _LOCAL_IPV4.findall(ipv4_table)
    for line in ipv6_table.splitlines():
        yield str(ipaddress.IPv6Address(bytes.fromhex(line.split()[0])))


def _own_addresses() -> Iterator[str]:
    return local_addresses(_read(_IPV4_TABLE), _read(_IPV6_TABLE))


def _configured(settings: Settings) -> Iterator[str]:
    for listener in parse_listeners(settings):
        yield listener.host
        yield listener.advertised_host or ""
        yield listener.gateway_host or ""


def _normal(name: str) -> str | None:
    """Return an address in its usual form, or a name in lower case; None for neither."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower() if _DNS_NAME.fullmatch(name) else None
    return None if address.is_unspecified else str(address)


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except OSError:
        return ""  # no IPv6, or not Linux

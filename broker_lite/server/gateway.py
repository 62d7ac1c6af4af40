"""The machine's default gateways, as the kernel's routing tables name them.

In a container the gateway is the host's side of the network: clients that use a published port come
from its address, whichever address they dialled.
"""

import socket
import struct
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Final

from broker_lite.handler.context import ListenerInfo

_IPV4_ROUTES: Final = Path("/proc/net/route")
_IPV6_ROUTES: Final = Path("/proc/net/ipv6_route")
# RTF_UP and RTF_GATEWAY of linux/route.h
_USABLE: Final = 0x1 | 0x2


def default_gateways() -> frozenset[str]:
    """Return the addresses of the default gateways, as sockets have them; none if not on Linux.

    Raises:
        OSError: a routing table cannot be read now, because no descriptor is free.
    """
    return frozenset(
        (
            *ipv4_gateways(_read(_IPV4_ROUTES)),
            *ipv6_gateways(_read(_IPV6_ROUTES)),
        )
    )


def as_seen_from(
    client_host: str,
    listener: ListenerInfo,
    gateways: Callable[[], Container[str]] = default_gateways,
) -> ListenerInfo:
    """Return a listener with the addresses that are told to a client of this address.

    The gateways are read again each time, because a container may join another network later.
    """
    if listener.gateway_host is None:
        return listener
    address, _, _ = client_host.partition("%")  # a link-local address names its interface
    return listener.through_gateway() if address in gateways() else listener


def ipv4_gateways(routes: str) -> Iterator[str]:
    """Yield the gateways of default routes in the text of /proc/net/route.

    The file has addresses as numbers in the machine's own byte order.
    """
    for line in routes.splitlines()[1:]:
        _, destination, gateway, flags, _, _, _, mask, *_ = line.split()
        is_default = int(destination, 16) == int(mask, 16) == 0
        if is_default and int(flags, 16) & _USABLE == _USABLE:
            yield socket.inet_ntop(socket.AF_INET, struct.pack("=I", int(gateway, 16)))


def ipv6_gateways(routes: str) -> Iterator[str]:
    """Yield the gateways of default routes in the text of /proc/net/ipv6_route."""
    for line in routes.splitlines():
        _, prefix_bits, _, _, gateway, _, _, _, flags, _ = line.split()
        if int(prefix_bits, 16) == 0 and int(flags, 16) & _USABLE == _USABLE:
            yield socket.inet_ntop(socket.AF_INET6, bytes.fromhex(gateway))


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (FileNotFoundError, PermissionError):
        return ""  # the kernel has no IPv6, or it is not Linux: then no gateway is known

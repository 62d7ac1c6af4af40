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
    """The addresses of the default gateways, as sockets have them; none on other systems.

    Raises:
        OSError: a routing table cannot be read now, for want of a descriptor.
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
    """A listener with the addresses that a client of this address is told.

    The gateways are those of now: a network that a container joins later may bring another one.
    """
    if listener.gateway_host is None:
        return listener
    address, _, _ = client_host.partition("%")  # a link-local one names its interface
    return listener.through_gateway() if address in gateways() else listener


def ipv4_gateways(routes: str) -> Iterator[str]:
    """The gateways of default routes in the text of /proc/net/route.

    Addresses are there as numbers of the machine's own byte order.
    """
    for line in routes.splitlines()[1:]:
        _, destination, gateway, flags, _, _, _, mask, *_ = line.split()
        is_default = int(destination, 16) == int(mask, 16) == 0
        if is_default and int(flags, 16) & _USABLE == _USABLE:
            yield socket.inet_ntop(socket.AF_INET, struct.pack("=I", int(gateway, 16)))


def ipv6_gateways(routes: str) -> Iterator[str]:
    """The gateways of default routes in the text of /proc/net/ipv6_route."""
    for line in routes.splitlines():
        _, prefix_bits, _, _, gateway, _, _, _, flags, _ = line.split()
        if int(prefix_bits, 16) == 0 and int(flags, 16) & _USABLE == _USABLE:
            yield socket.inet_ntop(socket.AF_INET6, bytes.fromhex(gateway))


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (FileNotFoundError, PermissionError):
        return ""  # no IPv6 in this kernel, or not Linux: nobody is known to come through a gateway

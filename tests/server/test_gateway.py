import socket
import sys

import pytest

from broker_lite.handler.context import ListenerInfo
from broker_lite.server.gateway import (
    as_seen_from,
    default_gateways,
    ipv4_gateways,
    ipv6_gateways,
)

IPV4_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
ZEROS = "0" * 32
DOCKER_GATEWAY = "fd00dead000000000000000000000001"


def ipv4_route(destination: str, gateway: str, mask: str, flags: int) -> str:
    numbers = [
        f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"
        for address in (destination, gateway, mask)
    ]
    row = ["eth0", *numbers[:2], f"{flags:04X}", "0", "0", "0", numbers[2], "0", "0", "0"]
    return "\t".join(row).ljust(127) + "\n"


def ipv6_route(destination: str, prefix_bits: int, gateway: str, flags: int) -> str:
    row = [destination, f"{prefix_bits:02x}", ZEROS, "00", gateway]
    return " ".join((*row, "00000400", "00000001", "00000000", f"{flags:08x}", "    eth0")) + "\n"


@pytest.mark.parametrize(
    ("route", "gateways"),
    [
        pytest.param(("0.0.0.0", "172.17.0.1", "0.0.0.0", 0x3), ["172.17.0.1"], id="default"),
        pytest.param(("172.17.0.0", "0.0.0.0", "255.255.0.0", 0x1), [], id="local"),
        pytest.param(("10.0.0.0", "172.17.0.9", "255.0.0.0", 0x3), [], id="of another network"),
        pytest.param(("0.0.0.0", "172.17.0.9", "128.0.0.0", 0x3), [], id="of half the world"),
        pytest.param(("0.0.0.0", "0.0.0.0", "0.0.0.0", 0x1), [], id="without a gateway"),
        pytest.param(("0.0.0.0", "172.17.0.9", "0.0.0.0", 0x2), [], id="down"),
    ],
)
def test_ipv4_routes(route: tuple[str, str, str, int], gateways: list[str]) -> None:
    assert list(ipv4_gateways(IPV4_HEAD + ipv4_route(*route))) == gateways


@pytest.mark.parametrize(
    ("route", "gateways"),
    [
        pytest.param((ZEROS, 0, DOCKER_GATEWAY, 0x3), ["fd00:dead::1"], id="default"),
        pytest.param((ZEROS, 0, ZEROS, 0x200200), [], id="unreachable"),
        pytest.param(("fd00" + ZEROS[4:], 64, ZEROS, 0x1), [], id="local"),
        pytest.param(("fd01" + ZEROS[4:], 64, DOCKER_GATEWAY, 0x3), [], id="of another network"),
        pytest.param((ZEROS, 0, DOCKER_GATEWAY, 0x2), [], id="down"),
    ],
)
def test_ipv6_routes(route: tuple[str, int, str, int], gateways: list[str]) -> None:
    assert list(ipv6_gateways(ipv6_route(*route))) == gateways


def test_several_routes() -> None:
    routes = [
        ipv4_route("0.0.0.0", "10.0.0.1", "0.0.0.0", 0x3),
        ipv4_route("10.0.0.0", "0.0.0.0", "255.0.0.0", 0x1),
        ipv4_route("0.0.0.0", "10.0.0.2", "0.0.0.0", 0x3),
    ]
    assert list(ipv4_gateways(IPV4_HEAD + "".join(routes))) == ["10.0.0.1", "10.0.0.2"]


def test_no_routes() -> None:
    """As of a kernel without IPv6, or another system."""
    assert list(ipv4_gateways("")) == []
    assert list(ipv6_gateways("")) == []


def test_this_machines_tables_can_be_read() -> None:
    for address in default_gateways():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        assert socket.inet_ntop(family, socket.inet_pton(family, address)) == address


FOLLOWING = ListenerInfo("PLAINTEXT", gateway_host="localhost", gateway_port=19092)


def gateways() -> frozenset[str]:
    return frozenset({"172.17.0.1", "fe80::1"})


@pytest.mark.parametrize("client_host", ["172.17.0.1", "fe80::1%eth0"])
def test_a_client_behind_the_gateway_is_told_the_gateways_address(client_host: str) -> None:
    seen = as_seen_from(client_host, FOLLOWING, gateways)
    assert (seen.advertised_host, seen.advertised_port) == ("localhost", 19092)


@pytest.mark.parametrize("client_host", ["127.0.0.1", "::1", "172.17.0.3", "fe80::2%eth0"])
def test_others_are_told_what_they_dialled(client_host: str) -> None:
    assert as_seen_from(client_host, FOLLOWING, gateways) is FOLLOWING


def test_an_advertised_address_is_for_everybody() -> None:
    listener = ListenerInfo("PLAINTEXT", advertised_host="broker", advertised_port=9092)
    assert as_seen_from("172.17.0.1", listener, gateways) is listener

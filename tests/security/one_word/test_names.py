import ipaddress
import socket

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.names import local_addresses, names_of
from broker_lite.settings import load_settings

FIB_TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
        |-- 127.255.255.255
           /32 link BROADCAST
     |-- 172.17.0.2
        /32 host LOCAL
"""
IF_INET6 = """00000000000000000000000000000001 01 80 10 80       lo
fe8000000000000000fc00fffe000001 02 40 20 80     eth0
"""


def test_addresses_of_the_kernels_tables() -> None:
    assert list(local_addresses(FIB_TRIE, IF_INET6)) == [
        "127.0.0.1",
        "172.17.0.2",
        "::1",
        "fe80::fc:ff:fe00:1",
    ]


def test_names_that_are_always_there() -> None:
    names = names_of(load_settings(None, {}))
    assert {"localhost", "127.0.0.1", "::1", "broker", "kafka"} <= names
    assert socket.gethostname().lower() in names


def test_addresses_of_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        assert probe.getsockname()[0] in names_of(load_settings(None, {}))


def test_what_the_settings_have() -> None:
    texts = {
        "listeners": "PLAINTEXT://0.0.0.0:9092,B://[fd00:0::7]:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,B:PLAINTEXT",
        "advertised.listeners": "PLAINTEXT://Kafka.Example.org:9092",
        "broker.lite.gateway.advertised": "host.docker.internal",
        "broker.lite.security.san": "my_service, *.example.org,10.0.0.7",
    }
    names = names_of(load_settings(None, {}, texts))
    assert {
        *("kafka.example.org", "fd00::7", "host.docker.internal"),
        *("my_service", "*.example.org", "10.0.0.7"),
    } <= names
    assert not names & {"0.0.0.0", ""}
    assert all(not _is_unspecified(name) for name in names)


@pytest.mark.parametrize("text", ["a b", "http://x", "0.0.0.0", "ä", "x/24"])
def test_what_is_no_name(text: str) -> None:
    settings = load_settings(None, {}, {"broker.lite.security.san": text})
    with pytest.raises(SettingsError, match=r"--set: .* is no name and no address"):
        names_of(settings)


def test_too_many_names() -> None:
    text = ",".join(f"n{number}" for number in range(501))
    with pytest.raises(SettingsError, match="at most 500 names"):
        names_of(load_settings(None, {}, {"broker.lite.security.san": text}))


def _is_unspecified(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False

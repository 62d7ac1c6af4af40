"""SASL over real sockets, against a whole broker in a process of its own.

Also tests: broker_lite.handler.authentication.
Also tests: broker_lite.handler.security.sasl_requests.
Also tests: broker_lite.security.sasl.listener_rules.
"""

import random
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.exchange import SaslRules
from broker_lite.security.sasl.listener_rules import Sources, sasl_rules
from broker_lite.server.security.key_sources import open_keys
from broker_lite.settings import Settings, load_settings
from broker_lite.testing import Broker
from tests.differential.compare_sasl import (
    PREFIX,
    outcome,
    ports_and_settings,
    upsertion,
)
from tests.differential.sasl_over_tls import tls_listener
from tests.support.certificates import Certificates, write_certificates
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def all_ports(files: Certificates) -> Iterator[tuple[int, int, int]]:
    """Ports of a plain listener, one of SASL_PLAINTEXT and one of SASL_SSL."""
    plain, sasl, settings = ports_and_settings()
    address, of_tls = tls_listener(files)
    for name in ("listeners", "advertised.listeners"):
        settings[name] += f",{address}"
    settings[PREFIX + "plain.connections.max.reauth.ms"] = "1500"
    with Broker({**settings, **of_tls}, port=plain):
        yield plain, sasl, int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def ports(all_ports: tuple[int, int, int]) -> tuple[int, int]:
    return all_ports[:2]


@pytest.fixture(scope="module")
def tls(files: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=files.ca)


HELLO = ("handshake", 1, "PLAIN")
ALICE = ("token", 2, b"\0alice\0alice-secret")
OFFERED = (0, ["OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])


def test_x10_x31_a_session(ports: tuple[int, int]) -> None:
    told = outcome(ports[1], [("versions", 3), HELLO, ALICE, ("metadata",)])
    assert told == [("versions", 0), OFFERED, (0, "", b"", "to the end of a token"), "metadata"]


def test_x04_a_wrong_password(ports: tuple[int, int]) -> None:
    began = time.monotonic()
    told = outcome(ports[1], [HELLO, ("token", 2, b"\0alice\0wrong")])
    assert told[1:] == [
        (58, "Authentication failed: Invalid username or password", b"", 0),
        "closed",
    ]
    assert time.monotonic() - began >= 0.1


def test_x09_raw_frames(ports: tuple[int, int]) -> None:
    old = ("handshake", 0, "PLAIN")
    assert outcome(ports[1], [old, ("raw", ALICE[2]), ("metadata",)]) == [OFFERED, b"", "metadata"]
    assert outcome(ports[1], [old, ("raw", b"x")]) == [OFFERED, "closed"]


@pytest.mark.parametrize(
    "steps",
    [
        [("metadata",)],
        [ALICE],
        [("announce", 524_289)],
        [("announce", -1)],
        [("frame", b"")],
        [HELLO, ("metadata",)],
        [HELLO, ALICE, HELLO, ("metadata",)],
        [HELLO, ALICE, ("handshake", 0, "PLAIN")],
        [HELLO, ALICE, ("handshake", 1, "SCRAM-SHA-256"), ALICE],
        [HELLO, ALICE, ("handshake", 1, "NONE")],
        [("versions", 3), ("versions", 3)],
        [HELLO, ("frame", b"\0\x24\0\x09\0\0\0\1\xff\xff")],
    ],
)
def test_x03_x05_x07_x08_x35_closes(ports: tuple[int, int], steps: list[Any]) -> None:
    assert outcome(ports[1], steps)[-1] == "closed"


@pytest.mark.parametrize("second", [HELLO, ("versions", 3)])
def test_x08_a_second_beginning(ports: tuple[int, int], second: Any) -> None:
    told = outcome(ports[1], [HELLO, second])
    assert 34 in told[1]
    assert told[2:] == ["closed"] or second[0] == "versions"


def test_x06_an_unknown_mechanism(ports: tuple[int, int]) -> None:
    assert outcome(ports[1], [("handshake", 1, "GSSAPI")]) == [(33, OFFERED[1]), "closed"]
    assert outcome(ports[1], [("versions", 77), HELLO])[0] == ("versions", 35)


def test_x02_x12_nothing_to_authenticate(ports: tuple[int, int]) -> None:
    told = outcome(ports[0], [HELLO])
    assert told[0] == (34, [])
    again = outcome(ports[1], [HELLO, ALICE, ALICE, ("metadata",)])
    assert again[2][:2] == (34, "SaslAuthenticate request received after successful authentication")
    assert again[3] == "metadata"


def test_x33_x34_sessions_end_unless_they_are_renewed(ports: tuple[int, int]) -> None:
    wait = ("wait", 1.6)
    assert outcome(ports[1], [HELLO, ALICE, wait, ("metadata",)])[-1] == "closed"
    told = outcome(ports[1], [HELLO, ALICE, wait, HELLO, ALICE, ("metadata",)])
    assert told[-1] == "metadata"


def test_x03_a_large_frame_in_a_renewal_closes(ports: tuple[int, int]) -> None:
    token = ("token", 2, b"x" * 524_289)
    assert outcome(ports[1], [HELLO, ALICE, HELLO, token])[3:] == ["closed"]


def test_x24_users_come_and_change(ports: tuple[int, int]) -> None:
    carol = ("scram", 2, "SCRAM-SHA-256", "carol", "new")
    hello = ("handshake", 1, "SCRAM-SHA-256")
    assert outcome(ports[1], [hello, carol])[1][0] == 58
    with RawClient("127.0.0.1", ports[0]) as client:
        new = upsertion("carol", "SCRAM-SHA-256", "new")
        client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
    assert outcome(ports[1], [hello, carol])[1][:3] == (0, "", b"v=")


def test_x07_random_frames_close_or_are_answered(ports: tuple[int, int]) -> None:
    dice = random.Random(7)
    for _ in range(60):
        frame = dice.randbytes(dice.randint(0, 60))
        steps = [("frame", frame)] if dice.random() < 0.5 else [HELLO, ("frame", frame)]
        last = outcome(ports[1], steps)[-1]
        assert last in ("closed", "silent") or isinstance(last, tuple)
    assert outcome(ports[1], [HELLO, ALICE])[1][0] == 0


def test_x01_x38_over_tls_the_answers_are_the_same(
    all_ports: tuple[int, int, int], tls: ssl.SSLContext, files: Certificates
) -> None:
    """Also for a client with a certificate, which says nothing here about who it is."""
    port = all_ports[2]
    tls.load_cert_chain(files.client)
    told = outcome(port, [("versions", 3), HELLO, ALICE, ("metadata",)], tls)
    assert told == [("versions", 0), OFFERED, (0, "", b"", 600_000), "metadata"]
    assert outcome(port, [HELLO, ("token", 2, b"\0alice\0wrong")], tls)[1:] == [
        (58, "Authentication failed: Invalid username or password", b"", 0),
        "closed",
    ]
    old = ("handshake", 0, "PLAIN")
    told = outcome(port, [old, ("raw", ALICE[2]), ("metadata",)], tls)
    assert told == [OFFERED, b"", "metadata"]
    again = outcome(port, [HELLO, ALICE, HELLO, ALICE, ("metadata",)], tls)
    assert again[-1] == "metadata"


@pytest.mark.parametrize("size", [524_289, -1])
def test_x03_over_tls_a_large_frame_closes(
    all_ports: tuple[int, int, int], tls: ssl.SSLContext, size: int
) -> None:
    assert outcome(all_ports[2], [("announce", size)], tls) == ["closed"]


def test_x03_over_tls_a_frame_comes_in_records_of_one_byte(
    all_ports: tuple[int, int, int], tls: ssl.SSLContext
) -> None:
    """All of them are a bad token."""
    hello = b"\0\x11\0\1\0\0\0\1\xff\xff\0\5PLAIN"
    token = b"\0\x24\0\0\0\0\0\2\xff\xff\0\1\x86\xa0" + b"x" * 100_000
    with (
        socket.create_connection(("127.0.0.1", all_ports[2]), 30) as plain,
        tls.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        client.sendall(struct.pack(">i", len(hello)) + hello)
        assert client.recv(1000)
        for byte in struct.pack(">i", len(token)) + token:
            client.send(bytes([byte]))
        (size,) = struct.unpack(">i", client.recv(4))
        assert client.recv(size)[4:6] == b"\0\x3a"
        assert client.recv(1) == b""


def test_x40_plain_bytes_close(all_ports: tuple[int, int, int]) -> None:
    assert outcome(all_ports[2], [HELLO]) == ["closed"]


@pytest.mark.parametrize("is_over_tls", [False, True])
def test_x65_a_client_that_is_never_done(
    is_over_tls: bool, tls: ssl.SSLContext, files: Certificates
) -> None:
    """It sends a byte now and then, so it is not idle."""
    plain, sasl, settings = ports_and_settings()
    if is_over_tls:
        settings = {
            **settings,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL",
        }
        settings["ssl.keystore.type"] = "PEM"
        settings["ssl.keystore.location"] = str(files.server)
    with (
        Broker({**settings, "connections.max.idle.ms": "600"}, port=plain),
        socket.create_connection(("127.0.0.1", sasl), timeout=5) as sock,
        tls.wrap_socket(sock, server_hostname="localhost") if is_over_tls else sock as client,
    ):
        client.settimeout(0.1)
        began = time.monotonic()
        client.send(b"\0\0\1\0")
        while time.monotonic() - began < 10:
            try:
                client.send(b"\0")
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                pass
            except ConnectionError:  # the byte came after the close
                break
        assert 0.5 < time.monotonic() - began < 5


def rules_of(settings: Settings) -> SaslRules:
    def find(_user: str, _mechanism: int | str) -> None:
        return None

    return sasl_rules(settings, "SASL", Sources(find, find, bytes, open_keys))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "the SASL mechanism GSSAPI is not served"),
        ({"sasl.enabled.mechanisms": ""}, "has no mechanism"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "plain.sasl.jaas.config is not set"),
        (
            {
                "sasl.enabled.mechanisms": "PLAIN",
                PREFIX + "plain.sasl.jaas.config": "Plain required user_a=hidden",
            },
            "plain.sasl.jaas.config: a ; is missing|the name of an option",
        ),
        (
            {"sasl.enabled.mechanisms": "PLAIN", "broker.lite.jaas.file": "/none"},
            "/none: No such file",
        ),
    ],
)
def test_what_cannot_be_served(settings: dict[str, str], text: str) -> None:
    listener = {
        "listeners": "SASL://127.0.0.1:0",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
    }
    loaded = load_settings(overrides={**listener, **settings})
    with pytest.raises(SettingsError, match=text) as caught:
        rules_of(loaded)
    assert "hidden" not in str(caught.value)


def test_a_jaas_file_of_kafka_opts(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    path.write_text(f'KafkaServer {{ {module} required user_eve="e"; }};')
    env = {
        "KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={path}",
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
        "KAFKA_LISTENER_NAME_SASL_PLAIN_CONNECTIONS_MAX_REAUTH_MS": "70",
    }
    rules = rules_of(load_settings(env=env))
    assert rules.makers["PLAIN"]().take(b"\0eve\0e", 0).name == "eve"
    assert rules.session_ms_max == {"PLAIN": 70}


def test_settings_of_a_listener_that_were_changed_count_at_the_next_start() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    changed = {
        PREFIX + "sasl.enabled.mechanisms": "PLAIN",
        PREFIX + "plain.sasl.jaas.config": f'{module} required user_eve="e";',
        PREFIX + "plain.connections.max.reauth.ms": "70",
        PREFIX + "sasl.server.max.receive.size": "1000",
    }
    settings = load_settings().with_dynamic(changed)
    rules = rules_of(settings)
    assert rules.makers["PLAIN"]().take(b"\0eve\0e", 0).name == "eve"
    assert (rules.session_ms_max, rules.message_bytes_max) == ({"PLAIN": 70}, 1000)
    broken = settings.with_dynamic({**changed, PREFIX + "sasl.server.max.receive.size": "much"})
    with pytest.raises(SettingsError, match=r"listener SASL: .*sasl\.server\.max\.receive\.size"):
        rules_of(broken)

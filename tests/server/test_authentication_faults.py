"""What the test bench does to clients that authenticate: rules, the journal, nodes that hang.

Also tests: broker_lite.handler.authentication.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_sasl import (
    Talk,
    bearer,
    outcome,
    ports_and_settings,
    token,
    upsertion,
)
from tests.support.raw_client import RawClient

HELLO = ("handshake", 1, "PLAIN")
ALICE = ("token", 2, b"\0alice\0alice-secret")
REFUSED = "SASL_AUTHENTICATION_FAILED"


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Broker, int, int]]:
    plain, sasl, settings = ports_and_settings()
    with Broker({**settings, "broker.session.timeout.ms": "0"}, port=plain) as broker:
        yield broker, plain, sasl


@pytest.fixture
def broker(running: tuple[Broker, int, int]) -> Iterator[Broker]:
    running[0].record_requests("bodies")
    running[0].control("DELETE", "/v1/requests")
    yield running[0]
    running[0].clear_faults()


@pytest.fixture
def port(running: tuple[Broker, int, int]) -> int:
    return running[2]


def test_authentication_is_refused_twice(broker: Broker, port: int) -> None:
    fault = broker.fault("SaslAuthenticate", error=REFUSED, count=2)
    for _ in range(2):
        told = outcome(port, [HELLO, ALICE])
        assert told[1][0] == 58
        assert told[1][1].startswith("fault ")
        assert told[2] == "closed"
    assert outcome(port, [HELLO, ALICE, ("metadata",)])[-1] == "metadata"
    assert fault.hits == 2


def test_a_client_that_is_refused_all_the_same_is_not_let_in(broker: Broker, port: int) -> None:
    broker.fault("SaslAuthenticate", error=REFUSED, applied=True)
    assert outcome(port, [HELLO, ALICE])[1:][0][0] == 58
    broker.fault("SaslAuthenticate", rewrite={"error_code": 0})
    told = outcome(port, [HELLO, ("token", 2, b"\0alice\0wrong"), ("metadata",)])
    assert (told[1][0], told[2]) == (0, "closed")


def test_the_other_requests_of_the_exchange(broker: Broker, port: int) -> None:
    broker.fault("SaslHandshake", error="UNSUPPORTED_SASL_MECHANISM")
    told = outcome(port, [HELLO])
    assert (told[0][0], told[1]) == (33, "closed")
    broker.fault("ApiVersions", error="INVALID_REQUEST", count=2)
    versions = ("versions", 3)
    told = outcome(port, [versions, versions, versions, HELLO, ALICE, ("metadata",)])
    assert told[:3] == [("versions", 42), ("versions", 42), ("versions", 0)]
    assert told[-1] == "metadata"


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate", "ApiVersions"])
def test_closes_and_delays(broker: Broker, port: int, api: str) -> None:
    steps = [("versions", 3), HELLO, ALICE, ("metadata",)]
    broker.fault(api, drop="before")
    assert outcome(port, steps)[-1] == "closed"
    broker.fault(api, cut_at=3)
    assert outcome(port, steps)[-1] == "closed"
    began = time.monotonic()
    broker.fault(api, delay_ms=200)
    broker.fault(api, split=[2, 3])
    assert outcome(port, steps)[-1] == "metadata"
    assert outcome(port, steps)[-1] == "metadata"
    assert time.monotonic() - began >= 0.2


def test_x09_raw_frames_are_seen(broker: Broker, port: int) -> None:
    raw = [("handshake", 0, "PLAIN"), ("raw", ALICE[2]), ("metadata",)]
    fault = broker.fault("SaslAuthenticate", error=REFUSED)
    assert outcome(port, raw)[1:] == ["closed"]
    broker.fault("SaslAuthenticate", drop="after")
    assert outcome(port, raw)[1:] == ["closed"]
    assert outcome(port, raw)[1:] == [b"", "metadata"]
    assert fault.hits == 1
    told = broker.requests("SaslAuthenticate")
    assert [one.version for one in told[-3:]] == [0, 0, 0]


def test_a_renewal_meets_faults(broker: Broker, port: int) -> None:
    steps = [HELLO, ALICE, HELLO, ALICE, ("metadata",)]
    fault = broker.fault("SaslAuthenticate", error=REFUSED, skip=1)
    told = outcome(port, steps)
    assert [one[0] for one in told[:4]] == [0, 0, 0, 58]
    assert told[4:] == ["closed"]
    broker.fault("SaslAuthenticate", drop="before", skip=1)
    assert outcome(port, steps)[3:] == ["closed"]
    assert outcome(port, steps)[-1] == "metadata"
    assert fault.hits == 1


def test_the_journal_lists_the_exchange_without_secrets(broker: Broker, port: int) -> None:
    outcome(port, [("versions", 3), HELLO, ALICE, ("metadata",)])
    outcome(port, [("metadata",)])
    outcome(port, [HELLO, ("token", 1, b"\0alice\0wrong-secret")])
    with RawClient("127.0.0.1", int(broker.bootstrap.rpartition(":")[2])) as client:
        new = upsertion("erin", "SCRAM-SHA-256", "erin-secret")
        client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
    salted = new.salted_password
    told = broker.requests()
    assert [one.api for one in told[:4]] == [
        "ApiVersions",
        "SaslHandshake",
        "SaslAuthenticate",
        "Metadata",
    ]
    failed = [one for one in told if one.api == "SaslAuthenticate"][-1]
    assert failed.errors == [REFUSED]
    assert failed.body["auth_bytes"] == "(19 bytes, not shown)"
    scram = next(one for one in told if one.api == "AlterUserScramCredentials")
    for one in told:
        for which in ("request", "answer"):
            data = broker.control("GET", f"/v1/requests/{one.id}/{which}")
            assert isinstance(data, bytes)
            assert b"secret" not in data
            assert salted not in data
    data = broker.control("GET", f"/v1/requests/{scram.id}/request")
    assert isinstance(data, bytes)
    assert b"erin" in data
    assert b"*" * 32 in data


def test_a_node_that_hangs_holds_the_exchange_back(broker: Broker, port: int) -> None:
    node = next(iter(broker.brokers.values()))
    frames = [
        b"\0\x11\0\1\0\0\0\1\xff\xff\0\5PLAIN",
        b"\0\x24\0\0\0\0\0\2\xff\xff" + len(ALICE[2]).to_bytes(4, "big") + ALICE[2],
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        for frame in frames:
            node.hang()
            sock.sendall(len(frame).to_bytes(4, "big") + frame)
            sock.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            node.up()
            sock.settimeout(5)
            size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
            assert sock.recv(size, socket.MSG_WAITALL)[3:6] == frame[7:8] + b"\0\0"


def test_x30_x33_a_session_ends_with_its_token_by_the_clock(broker: Broker, port: int) -> None:
    message = bearer(token(int(time.time())))
    with closing(Talk(port)) as talk:
        assert talk.request("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0
        told = talk.request("SaslAuthenticate", 2, auth_bytes=message)
        assert 0 < told.session_lifetime_ms <= 300_000
        assert talk.request("Metadata", 4, topics=[]) is not None
        broker.advance(timedelta(minutes=6))
        assert talk.request("Metadata", 4, topics=[]) is None
    with closing(Talk(port)) as talk:
        talk.request("SaslHandshake", 1, mechanism="OAUTHBEARER")
        told = talk.request("SaslAuthenticate", 2, auth_bytes=message)
        assert bytes(told.auth_bytes) == b'{"status":"invalid_token"}'

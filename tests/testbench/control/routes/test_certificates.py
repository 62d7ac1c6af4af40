"""Faults of certificates by the control API: what is told, what ends them, what is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.support.tls_client import seen_by_python

PATH = "/v1/security/certificates"
FINE = {"broker": 1, "listener": "SSL", "fault": ""}


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker(security="ssl", topics=["t"]) as broker:
        yield broker


@pytest.fixture
def broker(started: Broker) -> Broker:
    started.control("DELETE", PATH)
    return started


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("expired", "certificate has expired"),
        ("not_yet_valid", "certificate is not yet valid"),
        ("wrong_host", "IP address mismatch, certificate is not valid for '127.0.0.1'."),
        ("self_signed", "self-signed certificate"),
        ("unknown_ca", "unable to get local issuer certificate"),
    ],
)
def test_a_fault_and_its_end(broker: Broker, fault: str, text: str) -> None:
    assert broker.control("GET", PATH) == [FINE]
    told = [{**FINE, "fault": fault}]
    assert broker.control("PUT", PATH, {"fault": fault}) == told
    assert broker.control("GET", PATH) == told
    assert seen_by_python(broker) == text
    assert broker.control("DELETE", PATH) == [FINE]
    assert seen_by_python(broker) == "fine"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("DELETE", "/v1/faults", None), ("POST", "/v1/reset", {"keep": ["faults"]})],
)
def test_what_else_ends_it(broker: Broker, method: str, path: str, body: Any) -> None:
    broker.control("PUT", PATH, {"fault": "expired"})
    broker.control(method, path, body)
    assert seen_by_python(broker) == "fine"


@pytest.mark.parametrize(
    ("method", "path", "body", "reason"),
    [
        ("PUT", PATH, {"fault": "stolen"}, r"Invalid enum value 'stolen'"),
        ("PUT", PATH, {}, "missing required field `fault`"),
        ("PUT", PATH, {"fault": "expired", "broker": 2}, "there is no broker 2"),
        ("DELETE", f"{PATH}?broker=2", None, "there is no broker 2"),
        ("DELETE", f"{PATH}?node=2", None, "node"),
    ],
)
def test_wrong_requests(broker: Broker, method: str, path: str, body: Any, reason: str) -> None:
    with pytest.raises(BrokerFailed, match=reason):
        broker.control(method, path, body)
    assert seen_by_python(broker) == "fine"


def test_one_broker_of_several() -> None:
    with Broker(security="ssl", brokers=3) as cluster:
        views = cluster.control("PUT", PATH, {"fault": "expired", "broker": 2})
        assert views == [{**FINE, "broker": 2, "fault": "expired"}]
        expected = ["fine", "certificate has expired", "fine"]
        assert [seen_by_python(cluster, each) for each in cluster.addresses] == expected
        cluster.brokers[2].down()
        cluster.brokers[2].up()
        assert [seen_by_python(cluster, each) for each in cluster.addresses] == expected
        cluster.control("DELETE", f"{PATH}?broker=2")
        assert {seen_by_python(cluster, each) for each in cluster.addresses} == {"fine"}


def test_a_broker_without_tls_has_none(broker_factory: Any) -> None:
    plain = broker_factory()
    assert plain.control("GET", PATH) == []
    for method, body in (("PUT", {"fault": "self_signed"}), ("DELETE", None)):
        with pytest.raises(BrokerFailed, match="no listener speaks TLS; start the broker with"):
            plain.control(method, PATH, body)

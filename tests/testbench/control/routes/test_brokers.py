"""Brokers by the control API: a crash, a stop, a hang, a roll, racks."""

from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    settings = {"broker.session.timeout.ms": 0, "default.replication.factor": 3}
    with Broker(settings, brokers=3, racks=["a", "b"], topics=["t:3"]) as started:
        yield started


@pytest.fixture
def cluster(running: Broker) -> Broker:
    running.heal()
    return running


@pytest.mark.parametrize(
    ("path", "change", "text"),
    [
        ("/v1/brokers/4", {"state": "down"}, "there is no broker 4; there are 1, 2, 3"),
        ("/v1/brokers/0", {"state": "stopped"}, "there is no broker 0"),
        ("/v1/brokers/x", {"state": "hung"}, "broker has to be a number, not 'x'"),
        ("/v1/brokers/99", {"metadata": "frozen"}, "there is no broker 99"),
        ("/v1/brokers/1", {"state": "up"}, "broker 1 is up"),
        ("/v1/brokers/1", {"state": "asleep"}, "Invalid enum value 'asleep'"),
        ("/v1/brokers/1", {}, "give the state or the metadata of the broker"),
        ("/v1/brokers/1", {"stat": "up"}, "Object contains unknown field `stat`"),
    ],
)
def test_what_cannot_be_done_is_told(
    cluster: Broker, path: str, change: dict[str, object], text: str
) -> None:
    with pytest.raises(BrokerFailed) as caught:
        cluster.control("PATCH", path, change)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert cluster.brokers[1].state == "up"


def test_a_broker_is_told_as_it_is(cluster: Broker) -> None:
    told = cluster.control("PATCH", "/v1/brokers/2", {"state": "down"})
    expected = {"id": 2, "state": "down", "fenced": True, "rack": "b", "connections": 0}
    assert told == expected
    assert cluster.control("GET", "/v1/brokers/2") == expected
    found = cluster.control("GET", "/v1/brokers")
    assert isinstance(found, list)
    assert [each["state"] for each in found] == ["up", "down", "up"]


def test_a_roll_leaves_everything_as_it_was(cluster: Broker) -> None:
    addresses = cluster.bootstrap
    before = [cluster.partition("t", index) for index in range(3)]
    cluster.roll()
    after = [cluster.partition("t", index) for index in range(3)]
    assert cluster.bootstrap == addresses
    for one, other in zip(before, after, strict=True):
        assert (one["leader"], one["replicas"]) == (other["leader"], other["replicas"])
        assert sorted(str(one["isr"])) == sorted(str(other["isr"]))
    assert [cluster.brokers[each].state for each in (1, 2, 3)] == ["up"] * 3


def test_a_roll_leaves_out_who_is_down(cluster: Broker) -> None:
    cluster.brokers[2].hang()
    cluster.roll()
    assert [cluster.brokers[each].state for each in (1, 2, 3)] == ["up", "hung", "up"]


def test_racks(cluster: Broker) -> None:
    assert [each.rack for each in cluster.brokers.values()] == ["a", "b", "a"]

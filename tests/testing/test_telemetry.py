"""Client metrics for tests: subscriptions, views, waits."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.testing import Broker, BrokerFailed, ClientTelemetry
from tests.support.pushed_metrics import PushingClient, message

SOON = timedelta(milliseconds=10)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


def test_a_client_pushes_what_the_test_wants(broker: Broker) -> None:
    broker.subscribe_telemetry("a", client_id="app")
    with PushingClient(broker.bootstrap, "app") as client:
        assert client.told.requested_metrics == ["a"]
        assert client.told.push_interval_ms == 100
        client.push(message({"a.b": 1.5}, {"a.c": 2}, {"topic": "t"}, group_id="g"))
        (found,) = broker.wait_for_telemetry("a.c", client_id="app", at_least=2)
        assert isinstance(found, ClientTelemetry)
        assert (found.client_id, found.pushes, found.is_ended) == ("app", 1, False)
        assert (found.requested, found.resource) == (("a",), {"group_id": "g"})
        assert found.value("a.c", topic="t") == 2
        assert [each.metrics.keys() for each in broker.telemetry(metric="a.b")] == [
            {("a.b", (("topic", "t"),))}
        ]
        assert broker.telemetry(client_id="other") == []


def test_all_metrics_every_second(broker: Broker) -> None:
    broker.subscribe_telemetry(interval=timedelta(seconds=1))
    with PushingClient(broker.bootstrap, "any") as client:
        told = client.told
        assert (told.requested_metrics, told.push_interval_ms) == (["*"], 1000)


def test_a_wait_tells_what_there_is(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="what nobody pushes is not as wanted after 10 ms"):
        broker.wait_for_telemetry(
            "m", client_id="nobody", labels={"a": "b"}, is_ended=True, timeout=SOON
        )


def test_a_metric_that_is_not_there_or_several_times() -> None:
    metrics = {("m", (("a", "1"),)): 1.0, ("m", (("a", "2"),)): 2.0}
    told = ClientTelemetry("c", "i", "s", 1, 0, "", False, (), {}, metrics, "")
    assert told.value("m", a="2") == 2.0
    with pytest.raises(KeyError, match="2 metrics 'm'"):
        told.value("m")
    with pytest.raises(KeyError, match="0 metrics 'n'"):
        told.value("n")


def test_a_value_that_is_no_number(broker: Broker) -> None:
    broker.subscribe_telemetry()
    with PushingClient(broker.bootstrap, "nan") as client:
        client.push(message({"a.b": float("nan")}))
        (found,) = broker.wait_for_telemetry(client_id="nan")
        assert found.value("a.b") != found.value("a.b")

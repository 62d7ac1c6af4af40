"""What clients push, by the control API and in /metrics."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite.control.telemetry import otlp
from broker_lite.control.telemetry.clients import Identity
from broker_lite.control.telemetry.series import Point, Pushed
from broker_lite.control.telemetry.subscription import Configured
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.testbench.control.routes.telemetry import (
    TelemetryQuery,
    TelemetryWait,
    list_telemetry,
    wait_for_telemetry,
)
from broker_lite.testbench.waits import Waits
from broker_lite.testing import Broker, BrokerFailed
from tests.support.pushed_metrics import PushingClient, message
from tests.support.subscribed import subscribe
from tests.testbench.conftest import Others

SUBSCRIPTION = "/v1/telemetry/subscriptions/s"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        assert started.control("GET", "/v1/telemetry") == []
        started.control("DELETE", "/v1/telemetry")
        yield started


@pytest.fixture
def client(broker: Broker) -> Iterator[PushingClient]:
    broker.control("DELETE", "/v1/telemetry")
    wanted = {"metrics": ["a", "b"], "interval_ms": 20_000, "match": {"client_id": "app.*"}}
    broker.control("PUT", SUBSCRIPTION, wanted)
    with PushingClient(broker.bootstrap, "app-1") as connected:
        yield connected


def asked(broker: Broker, query: str = "") -> Any:
    return broker.control("GET", f"/v1/telemetry{query}")


def scraped(broker: Broker) -> list[str]:
    text = broker.control("GET", "/metrics")
    assert isinstance(text, str)
    return [line for line in text.splitlines() if "app-1" in line or "Pushed by" in line]


def test_subscriptions_are_listed(broker: Broker) -> None:
    broker.control("PUT", SUBSCRIPTION, {"metrics": ["a", "b"], "match": {"client_id": "app.*"}})
    broker.control("PUT", "/v1/telemetry/subscriptions/all", {"interval_ms": 500})
    assert broker.control("GET", "/v1/telemetry/subscriptions") == [
        {"name": "all", "metrics": ["*"], "interval_ms": 500, "match": []},
        {"name": "s", "metrics": ["a", "b"], "interval_ms": 100, "match": ["client_id=app.*"]},
    ]
    broker.control("DELETE", "/v1/telemetry/subscriptions/all")
    listed = broker.control("GET", "/v1/telemetry/subscriptions")
    assert [each["name"] for each in listed] == ["s"]  # type: ignore[attr-defined]


def test_a_client_and_its_metrics(broker: Broker, client: PushingClient) -> None:
    assert client.told.requested_metrics == ["a", "b"]
    pushed = message({"a.b": 1.5}, {"a.c": 2}, {"topic": "t"}, group_id="g")
    assert client.push(pushed, terminating=False) == 0
    assert client.push(pushed) == 89
    assert client.push(message({}, {"a.c": 3}, {"topic": "t"}, group_id="g"), terminating=True) == 0
    (told,) = asked(broker)
    assert (told["client_id"], told["software"], told["node"]) == ("app-1", "by-hand 1.0", 1)
    assert told["client"].startswith("127.0.0.1:")
    assert (told["requested"], told["interval_ms"]) == (["a", "b"], 20_000)
    assert (told["pushes"], told["refused"]) == (2, 1)
    assert told["last_refusal"] == "THROTTLING_QUOTA_EXCEEDED"
    assert (told["is_known"], told["is_ended"]) == (True, True)
    assert (told["resource"], told["note"]) == ({"group_id": "g"}, "")
    values = [(each["name"], each["labels"], each["value"]) for each in told["metrics"]]
    assert values == [("a.b", {"topic": "t"}, 1.5), ("a.c", {"topic": "t"}, 5)]
    assert [each["kind"] for each in told["metrics"]] == ["gauge", "counter"]


def test_some_of_it(broker: Broker, client: PushingClient) -> None:
    client.push(message({"a.b": 1, "a.c": 2, "b": 3}))

    def names(query: str) -> list[list[str]]:
        return [[each["name"] for each in told["metrics"]] for told in asked(broker, query)]

    assert names("?client_id=app-2") == []
    assert names("?client_id=app-1&metric=a.") == [["a.b", "a.c"]]
    assert names("?limit=1") == [["a.b"]]
    (told,) = asked(broker, "")
    assert names(f"?instance_id={told['instance_id']}&metric=b") == [["b"]]
    assert names("?instance_id=another") == []


def test_waits(broker: Broker, client: PushingClient) -> None:
    def wait(**wanted: Any) -> Any:
        return broker.control("POST", "/v1/telemetry/wait", {"timeout_ms": 0, **wanted})

    assert wait(pushes=0)
    for nothing in ({}, {"client_id": "app-2", "pushes": 0}, {"pushes": 0, "is_ended": True}):
        with pytest.raises(BrokerFailed, match="is not as wanted"):
            wait(**nothing)
    client.push(message({"a.b": 1.5}, labels={"topic": "t"}), terminating=True)
    for met in (
        {},
        {"metric": "a.b"},
        {"at_least": 1.5},
        {"is_ended": True, "client_id": "app-1"},
        {"metric": "a.b", "labels": {"topic": "t"}, "at_least": 1},
    ):
        assert len(wait(**met)) == 1
    for not_met in (
        {"metric": "a"},
        {"metric": "a.b", "at_least": 1.6},
        {"metric": "a.b", "labels": {"topic": "u"}},
        {"pushes": 2},
    ):
        with pytest.raises(BrokerFailed, match="is not as wanted"):
            wait(**not_met)


def test_prometheus(broker: Broker, client: PushingClient) -> None:
    told = {"topic": 't"\n', "client_id": "theirs", "9": "x"}
    client.push(message({"9.b-c": 1.5}, {"a.c.total": 2, "a.d": 3}, told, group_id="g"))
    lines = scraped(broker)
    labels = (
        '{client_id="app-1",client_instance_id="'
        f'{asked(broker)[0]["instance_id"]}",client_software_name="by-hand",'
        'client_software_version="1.0",broker="1",group_id="g",_9="x",'
        'exported_client_id="theirs",topic="t\\"\\n"}'
    )
    assert lines == [
        "# HELP _9_b_c Pushed by clients.",
        f"_9_b_c{labels} 1.5",
        "# HELP a_c_total Pushed by clients.",
        f"a_c_total{labels} 2",
        "# HELP a_d_total Pushed by clients.",
        f"a_d_total{labels} 3",
    ]


def test_prometheus_is_not_told_of_clients_that_have_gone(
    broker: Broker, client: PushingClient
) -> None:
    client.push(message({"a.b": 1.5}))
    assert len(scraped(broker)) == 2
    client.raw.close()
    broker.control("POST", "/v1/connections/wait", {"count": 0})
    assert len(scraped(broker)) == 2
    broker.control("POST", "/v1/clock", {"advance_ms": 60_000})
    assert scraped(broker) == []
    (told,) = asked(broker)
    assert (told["is_known"], len(told["metrics"])) == (False, 1)


def test_subscriptions(broker: Broker, client: PushingClient) -> None:
    broker.control("PUT", SUBSCRIPTION, {"interval_ms": 500})
    assert client.subscribe().requested_metrics == ["*"]
    broker.control("DELETE", SUBSCRIPTION)
    broker.control("DELETE", SUBSCRIPTION)
    told = client.subscribe()
    assert (told.requested_metrics, told.push_interval_ms) == ([], 300_000)
    with pytest.raises(BrokerFailed, match="interval must be between"):
        broker.control("PUT", SUBSCRIPTION, {"interval_ms": 99})


def test_why_there_are_no_metrics(client: PushingClient, broker: Broker) -> None:
    assert otlp.is_readable()
    client.push(message({"a.b": 1}))
    assert asked(broker)[0]["note"] == ""


def test_what_a_client_pushes_cannot_spoil_the_brokers_own_metrics(
    broker: Broker, client: PushingClient
) -> None:
    client.push(message({"process.open.fds": 7}, labels={"__name__": "up"}))
    assert scraped(broker) == []
    text = broker.control("GET", "/metrics")
    assert isinstance(text, str)
    assert text.count("# TYPE process_open_fds ") == 1
    assert text.endswith("\nbroker_lite_client_samples_left_out 1\n")


@pytest.mark.parametrize("clients", [1, 30])
def test_a_look_at_much_lets_others_run(others: Others, clients: int) -> None:
    ids = iter(range(1, 100))
    configured = Configured(lambda: 0, lambda: (), {}.__getitem__)
    telemetry = Telemetry(configured, lambda: next(ids).to_bytes(16, "little"))
    me = Identity(1, "app", "soft", "1.2", "127.0.0.1", 5000, 7)
    for _ in range(clients):
        _, one = subscribe(telemetry, me, bytes(16), 1_700_000_000_000)
        points = [Point(f"m{number}", (), 1) for number in range(30 // clients)]
        one.take(Pushed({}, points, 0), 1_700_000_000_000)
    life = SimpleNamespace(
        telemetry=SimpleNamespace(begun=telemetry),
        clock=SimpleNamespace(steady_ms=lambda: 1_700_000_000_000),
    )
    bench = SimpleNamespace(life=life, waits=Waits())
    lists: Any = SimpleNamespace(bench=bench, query=TelemetryQuery(metric="none"))
    waits: Any = SimpleNamespace(bench=bench, body=TelemetryWait(pushes=0, metric="m0"))
    assert asyncio.run(others.while_running(list_telemetry(lists))) >= 30
    assert asyncio.run(others.while_running(wait_for_telemetry(waits))) >= 30

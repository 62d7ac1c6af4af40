"""What share groups have in flight, by the control API."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite.testbench.control.resource import Call
from broker_lite.testbench.control.routes.share_groups import (
    InFlightQuery,
    InFlightWait,
    get_in_flight,
    wait_for_in_flight,
)
from broker_lite.testbench.errors import ControlError
from broker_lite.testing import Broker, BrokerFailed
from tests.support.share_members import ShareMembers, id_of

EARLIEST = {"share.auto.offset.reset": "earliest"}
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(topics=["other"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    running.reset()
    return running


@pytest.fixture
def side(broker: Broker) -> Iterator[ShareMembers]:
    """A topic "g" with one record, and a group of that name, with the members a and b."""
    side = ShareMembers(broker.port, "g", EARLIEST)
    for member in ("a", "b"):
        side.join(member)
    yield side
    side.close()


def seen(broker: Broker, query: str = "") -> Any:
    return broker.control("GET", f"/v1/groups/g/in-flight{query}")


def wait(broker: Broker, **wanted: object) -> Any:
    return broker.control("POST", "/v1/groups/g/in-flight/wait", {"timeout_ms": 20_000, **wanted})


def runs(view: Any) -> list[tuple[int, int, str, int]]:
    found = view["partitions"]["g"]["0"]["runs"]
    return [(each["first"], each["last"], each["state"], each["delivery_count"]) for each in found]


def test_records_in_flight_are_told_with_their_states(broker: Broker, side: ShareMembers) -> None:
    side.append(9)
    assert side.fetch("a", 10, 10, True) == [(0, 9, 1)]
    (first,) = seen(broker)["partitions"]["g"]["0"]["runs"]
    assert (first["state"], first["member"]) == ("acquired", id_of("a"))
    assert 0 < first["lock_ms"] <= 30_000
    said = [(2, 3, [ACCEPT]), (4, 4, [REJECT]), (5, 6, [RELEASE])]
    assert side.say("a", said, False) == [(0, None)]
    view = seen(broker)
    assert runs(view) == [
        (0, 1, "acquired", 1),
        (2, 3, "acknowledged", 1),
        (4, 4, "archived", 1),
        (5, 6, "available", 1),
        (7, 9, "acquired", 1),
    ]
    (partition,) = view["partitions"]["g"].values()
    counts = {"acquired": 5, "available": 2, "acknowledged": 2, "archived": 1}
    said_counts = {"accepted": 2, "rejected": 1, "released": 2}
    assert {name: partition[name] for name in counts} == counts
    assert {name: partition[name] for name in said_counts} == said_counts
    assert {name: view[name] for name in said_counts} == said_counts
    assert (partition["start"], partition["end"], partition["lag"]) == (0, 10, 7)
    assert (view["state"], view["in_flight"], view["lag"]) == ("Stable", 7, 7)
    assert side.fetch("b", 10, 10, True) == [(5, 6, 2)]
    assert runs(seen(broker))[3] == (5, 6, "acquired", 2)


def test_the_view_of_a_group_has_start_and_lag(broker: Broker, side: ShareMembers) -> None:
    side.fetch("a", 10, 10, True)
    group: Any = broker.control("GET", "/v1/groups/g")
    assert (group["type"], group["state"], group["offsets"], group["lag"]) == (
        *("share", "Stable"),
        *({"g": {"0": {"committed": 0, "end": 1, "lag": 1, "metadata": ""}}}, 1),
    )
    side.fetch("a", 10, 10, True)
    side.say("a", [(0, 0, [ACCEPT])], False)
    group = broker.control("POST", "/v1/groups/g/wait", {"lag": 0, "timeout_ms": 0})
    assert group["offsets"]["g"]["0"]["committed"] == 1


def test_few_runs_of_many(broker: Broker, side: ShareMembers) -> None:
    side.append(3)
    side.fetch("a", 10, 10, True)
    side.say("a", [(1, 1, [ACCEPT])], False)
    view = seen(broker, "?limit=2&topic=g")
    assert len(runs(view)) == 2
    assert view["partitions"]["g"]["0"]["runs_left_out"] == 1
    assert seen(broker, "?topic=other")["partitions"] == {}


def test_what_is_kept_is_told_when_all_members_have_gone(
    broker: Broker, side: ShareMembers
) -> None:
    side.append(3)
    side.fetch("a", 10, 10, True)
    side.say("a", [(1, 1, [ACCEPT]), (2, 2, [RELEASE])], False)
    broker.restart()
    view = wait(broker, in_flight=3)
    assert runs(view)[1:] == [(1, 1, "acknowledged", 1), (2, 3, "available", 1)]
    assert (view["lag"], view["accepted"]) == (3, 0)


def test_waits(broker: Broker, side: ShareMembers) -> None:
    side.append(9)
    side.fetch("a", 10, 10, True)
    later = threading.Timer(0.05, side.say, ("a", [(0, 9, [ACCEPT])], False))
    later.start()
    assert wait(broker, accepted=10, in_flight=0, lag=0, topic="g")["accepted"] == 10
    later.join()
    with pytest.raises(BrokerFailed, match=r"share group g is not as wanted .*\"accepted\": 10"):
        wait(broker, accepted=11, timeout_ms=1)
    with pytest.raises(BrokerFailed, match=r'"lag": null'):
        wait(broker, topic="other", lag=0, timeout_ms=1)
    assert wait(broker, released=0, rejected=0)["released"] == 0


def test_renewals_are_not_counted(broker: Broker, side: ShareMembers) -> None:
    side.fetch("a", 10, 10, True)
    side.say("a", [(0, 0, [RENEW])], True)
    view = seen(broker)
    assert runs(view) == [(0, 0, "acquired", 1)]
    assert [view[name] for name in ("accepted", "released", "rejected")] == [0, 0, 0]


def test_a_group_that_has_not_read(broker: Broker) -> None:
    side = ShareMembers(broker.port, "g", EARLIEST)
    with pytest.raises(BrokerFailed, match='"state": "Dead"'):
        wait(broker, lag=0, timeout_ms=0)
    side._beat("a", 0)
    side.close()
    view = seen(broker)
    assert (view["in_flight"], view["lag"]) == (0, None)
    for partition in view["partitions"].get("g", {}).values():
        assert (partition["start"], partition["lag"], partition["runs"]) == (None, None, [])
    with pytest.raises(BrokerFailed, match='"lag": null'):
        wait(broker, lag=0, timeout_ms=0)


def a_classic_group(broker: Broker) -> None:
    broker.control("PUT", "/v1/groups/g/offsets", {"other": {"0": 0}})


def nothing(_broker: Broker) -> None:
    """No group."""


@pytest.mark.parametrize(
    ("prepare", "path", "text"),
    [
        (nothing, "/v1/groups/g/in-flight", "there is no group 'g'"),
        (a_classic_group, "/v1/groups/g/in-flight", "group g is a classic group, and no share"),
        (nothing, "/v1/groups/g/in-flight?limit=0", "Expected `int` >= 1"),
    ],
)
def test_what_is_no_share_group(
    broker: Broker, prepare: Callable[[Broker], None], path: str, text: str
) -> None:
    prepare(broker)
    with pytest.raises(BrokerFailed, match=text):
        broker.control("GET", path)


def test_each_process_has_records_in_flight_of_its_own() -> None:
    cluster = SimpleNamespace(all_node_ids=[1, 2], node_ids=[1])
    bench: Any = SimpleNamespace(life=SimpleNamespace(cluster=cluster))
    for handle, query, body in (
        (get_in_flight, InFlightQuery(), None),
        (wait_for_in_flight, None, InFlightWait()),
    ):
        with pytest.raises(ControlError, match="have in flight: not with several processes"):
            asyncio.run(handle(Call(bench, {"group": "g"}, query, body)))


def test_a_deleted_topic_is_not_told(broker: Broker, side: ShareMembers) -> None:
    side.fetch("a", 10, 10, True)
    assert list(seen(broker)["partitions"]) == ["g"]
    broker.control("DELETE", "/v1/topics/g")
    assert seen(broker)["partitions"] == {}

"""Groups by the control API: what they are, waits, rebalances, kicks, offsets.

Also tests: broker_lite.testbench.coordinated, broker_lite.testbench.group_kicks.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer

from broker_lite.errors import ErrorCode, NotCoordinator
from broker_lite.testbench.group_views import view_of
from broker_lite.testing import Broker, BrokerFailed
from broker_lite.testing.processes.forks import ControlRefused
from broker_lite.wire import messages
from tests.support.raw_client import RawClient
from tests.support.share_members import ShareMembers, id_of

WAIT_MS = 20_000
NOT_READ = r"'g' cannot be read: nobody leads __consumer_offsets-\d+, where it is"


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}, topics=["t:4"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    running.reset()
    return running


def asked(broker: Broker, method: str, path: str, body: object = None) -> Any:
    return broker.control(method, path, body)


@contextmanager
def consuming(broker: Broker, protocol: str, **more: object) -> Iterator[None]:
    """A consumer that polls in a thread, so that it takes part in rebalances."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "group.protocol": protocol,
            "client.id": "me",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **more,
        }
    )
    consumer.subscribe(["t"])
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.is_set():
            consumer.poll(0.02)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        consumer.close()


def wait(broker: Broker, **wanted: object) -> Any:
    return asked(broker, "POST", "/v1/groups/g/wait", {"timeout_ms": WAIT_MS, **wanted})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_told_as_it_is(broker: Broker, protocol: str) -> None:
    broker.produce("t", "a", "b", "c", partition=1)
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"1": 2}})
    with consuming(broker, protocol):
        wait(broker, state="Stable", members=1, assigned=4)
        found = asked(broker, "GET", "/v1/groups/g")
        (member,) = found["members"]
        assert (member["client_id"], member["host"]) == ("me", "127.0.0.1")
        assert member["assigned"] == {"t": [0, 1, 2, 3]}
        assert found["offsets"]["t"]["1"] == {"committed": 2, "end": 3, "lag": 1, "metadata": ""}
        assert found["offsets"]["t"]["0"] == {"committed": None, "end": 0, "lag": 0, "metadata": ""}
        shown = {"type": protocol, "protocol_type": "consumer", "state": "Stable", "lag": 1}
        assert {key: found[key] for key in shown} == shown
        (listed,) = asked(broker, "GET", "/v1/groups")
        assert listed == {key: found[key] for key in listed}
    assert wait(broker, state="Empty", members=0)["assigned"] == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_rebalance_on_command(broker: Broker, protocol: str) -> None:
    with consuming(broker, protocol):
        before = wait(broker, state="Stable", assigned=4)["epoch"]
        begun = asked(broker, "POST", "/v1/groups/g/rebalance")
        assert begun["state"] == ("PreparingRebalance" if protocol == "classic" else "Assigning")
        assert wait(broker, state="Stable", assigned=4)["epoch"] > before


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_is_kicked_comes_back(broker: Broker, protocol: str) -> None:
    with consuming(broker, protocol):
        (member,) = wait(broker, state="Stable", assigned=4)["members"]
        left = asked(broker, "DELETE", f"/v1/groups/g/members/{quote(member['id'], safe='')}")
        assert left["members"] == []
        after = wait(broker, state="Stable", assigned=4)
        assert after["epoch"] > member["epoch"]


def test_a_static_member_is_kicked_by_its_instance_id(broker: Broker) -> None:
    with consuming(broker, "classic", **{"group.instance.id": "one"}):
        wait(broker, state="Stable", assigned=4)
        assert asked(broker, "DELETE", "/v1/groups/g/members/one")["members"] == []


def test_offsets_are_set_and_waited_for(broker: Broker) -> None:
    broker.produce("t", "a", "b", "c", partition=2)
    found = asked(broker, "PUT", "/v1/groups/g/offsets", {"t": {"2": 1, "0": 0}})
    assert (found["state"], found["type"], found["lag"]) == ("Empty", "classic", 2)
    later = threading.Timer(
        0.05, lambda: broker.control("PUT", "/v1/groups/g/offsets", {"t": {"2": 3}})
    )
    later.start()
    assert wait(broker, lag=0)["offsets"]["t"]["2"]["committed"] == 3
    later.join()


def test_a_lag_of_nothing_is_not_known(broker: Broker) -> None:
    broker.produce("t", "a", partition=0)
    with pytest.raises(BrokerFailed, match=r'"state": "Dead".*"lag": null'):
        wait(broker, lag=0, timeout_ms=0)
    joins = {"group.initial.rebalance.delay.ms": 3000}  # a busy machine lets a test wait
    with Broker(joins, topics=["t"]) as slow:
        slow.produce("t", "a", "b")
        with consuming(slow, "classic"):
            joining = wait(slow, state="PreparingRebalance")
            assert (joining["lag"], joining["offsets"]) == (None, {})
            with pytest.raises(BrokerFailed, match='"lag": null'):
                wait(slow, lag=0, timeout_ms=0)
            assert wait(slow, lag=2)["state"] == "Stable"


def test_a_time_out_tells_what_is_there(broker: Broker) -> None:
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"2": 1}})
    with pytest.raises(BrokerFailed) as caught:
        wait(broker, members=1, timeout_ms=1)
    text = 'group g is not as wanted after 1 ms; there is {"group": "g", "type": "classic"'
    assert text in str(caught.value)


def test_a_group_that_is_not_there_is_dead(broker: Broker) -> None:
    assert asked(broker, "GET", "/v1/groups") == []
    assert wait(broker, state="Dead", timeout_ms=0)["members"] == []
    with pytest.raises(BrokerFailed, match=r'there is \{"group": "g"'):
        wait(broker, state="Empty", timeout_ms=0)


def test_pages(broker: Broker) -> None:
    for group in ("c", "a", "b"):
        broker.control("PUT", f"/v1/groups/{group}/offsets", {"t": {"0": 0}})
    page = asked(broker, "GET", "/v1/groups?after=a&limit=1")
    assert [each["group"] for each in page] == ["b"]


def a_group(broker: Broker) -> None:
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 0}})


def nothing(_broker: Broker) -> None:
    """No group."""


@pytest.mark.parametrize(
    ("prepare", "method", "path", "body", "text"),
    [
        (nothing, "GET", "/v1/groups/x", None, "there is no group 'x'"),
        (a_group, "GET", "/v1/groups/x", None, "there is no group 'x'"),
        (nothing, "GET", "/v1/groups?limit=0", None, "Expected `int` >= 1"),
        (nothing, "POST", "/v1/groups/x/rebalance", None, "there is no group 'x'"),
        (a_group, "POST", "/v1/groups/g/rebalance", None, "group g has no members"),
        (nothing, "DELETE", "/v1/groups/x", None, "there is no group 'x'"),
        (a_group, "DELETE", "/v1/groups/g/members/m", None, "has no member 'm'; there are no"),
        (nothing, "POST", "/v1/groups/g/wait", {"state": "Ready"}, "Invalid enum value 'Ready'"),
        (nothing, "POST", "/v1/groups/g/wait", {"size": 1}, "unknown field `size`"),
        (nothing, "PUT", "/v1/groups/g/offsets", {"u": {"0": 1}}, "there is no topic 'u'"),
        (nothing, "PUT", "/v1/groups/g/offsets", {"t": {"9": 1}}, "has 4 partitions, not 9"),
        (nothing, "PUT", "/v1/groups/g/offsets", {"t": {"0": -1}}, "-1 is no offset"),
        (nothing, "PUT", "/v1/groups/g/offsets", {"t": {"x": 1}}, "Expected `int`"),
    ],
)
def test_what_cannot_be_done_is_told(
    broker: Broker,
    prepare: Callable[[Broker], None],
    method: str,
    path: str,
    body: object,
    text: str,
) -> None:
    prepare(broker)
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    assert text in str(caught.value)


def test_a_group_is_deleted(broker: Broker) -> None:
    a_group(broker)
    assert broker.control("DELETE", "/v1/groups/g") == {}
    assert asked(broker, "GET", "/v1/groups") == []


def test_what_cannot_be_done_to_a_group_with_members(broker: Broker) -> None:
    with consuming(broker, "classic"):
        wait(broker, state="Stable")
        with pytest.raises(BrokerFailed, match="group g: NON_EMPTY_GROUP"):
            broker.control("DELETE", "/v1/groups/g")
        with pytest.raises(BrokerFailed, match="group g has 1 members; it has to be empty"):
            a_group(broker)


def test_a_group_that_nobody_coordinates_is_not_gone() -> None:
    settings = {"broker.session.timeout.ms": 0, "offsets.topic.replication.factor": 1}
    with Broker(settings, topics=["t:2"], brokers=3) as broker:
        broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 0}})
        down = broker.brokers[asked(broker, "GET", "/v1/groups/g")["coordinator"]]
        down.down()
        for method, path, body in (
            ("GET", "/v1/groups/g", None),
            ("DELETE", "/v1/groups/g", None),
            ("POST", "/v1/groups/g/rebalance", None),
            ("PUT", "/v1/groups/g/offsets", {"t": {"1": 0}}),
        ):
            with pytest.raises(ControlRefused, match=NOT_READ) as caught:
                broker.control(method, path, body)
            assert caught.value.status == 409
        with pytest.raises(
            BrokerFailed, match=r"nobody leads \d+ partitions of __consumer_offsets"
        ):
            broker.control("GET", "/v1/groups")
        for state in ("Dead", "Empty"):
            with pytest.raises(BrokerFailed, match=f"not as wanted after 1 ms: {NOT_READ}"):
                wait(broker, state=state, timeout_ms=1)
        later = threading.Timer(0.05, down.up)
        later.start()
        found = wait(broker, state="Empty")
        later.join()
        assert list(found["offsets"]["t"]) == ["0"]
        assert [each["group"] for each in asked(broker, "GET", "/v1/groups")] == ["g"]


def test_a_group_whose_state_cannot_be_loaded_is_told() -> None:
    def check_loaded(_: object) -> None:
        raise NotCoordinator

    topic = SimpleNamespace(
        name="__consumer_offsets", exists=True, partition_of=lambda _: 3, leader=lambda _: 1
    )
    groups = SimpleNamespace(topic=topic, partition_of=lambda _: 3, check_loaded=check_loaded)
    life: Any = SimpleNamespace(coordinators=SimpleNamespace(groups=groups))
    with pytest.raises(NotCoordinator, match="__consumer_offsets-3, where it is, is not loaded"):
        asyncio.run(view_of(life, "g"))


@pytest.mark.parametrize(
    ("protocol", "joined", "left"),
    [
        (
            "classic",
            r"a rebalance begins: member me-.* joined",
            r"a rebalance begins: member me-.* left",
        ),
        ("consumer", r"new assignment: member .* joined", r"new assignment: 1 members left"),
    ],
)
def test_a_group_tells_why_it_has_rebalanced(
    broker: Broker, protocol: str, joined: str, left: str
) -> None:
    with consuming(broker, protocol):
        wait(broker, state="Stable", assigned=4)
        asked(broker, "POST", "/v1/groups/g/rebalance")
        wait(broker, state="Stable", assigned=4)
    history = wait(broker, state="Empty")["history"]
    told = " | ".join(each["what"] for each in history)
    assert re.search(f"{joined}.*asked for by a test.*{left}", told)
    assert [each["at_ms"] for each in history] == sorted(each["at_ms"] for each in history)
    assert history[0]["epoch"] < history[-1]["epoch"]


def test_a_streams_group_is_seen_with_the_partitions_of_its_tasks(broker: Broker) -> None:
    """U-23: and it can be asked for a new assignment."""
    message = messages.StreamsGroupHeartbeatRequest
    part = message.Subtopology(subtopology_id="0", source_topics=["t"])
    host, _, port = broker.bootstrap.rpartition(":")
    fields = {"group_id": "s", "member_id": "m"}
    with closing(RawClient(host, int(port))) as client:

        def is_found() -> bool:
            answer = client.call("FindCoordinator", 4, key_type=0, coordinator_keys=["s"])
            return bool(answer.coordinators[0].error_code == 0)

        assert is_found() or is_found()
        client.call(
            "StreamsGroupHeartbeat",
            0,
            **fields,
            rebalance_timeout_ms=1000,
            process_id="p",
            topology=message.Topology(epoch=0, subtopologies=[part]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
        )
        seen = asked(broker, "GET", "/v1/groups/s")
        assert (seen["type"], seen["state"], seen["assigned"]) == ("streams", "Stable", 4)
        assert [each["assigned"] for each in seen["members"]] == [{"t": [0, 1, 2, 3]}]
        asked(broker, "POST", "/v1/groups/s/rebalance")
        assert asked(broker, "GET", "/v1/groups/s")["state"] == "Assigning"
        kicked = asked(broker, "DELETE", "/v1/groups/s/members/m")
        assert (kicked["state"], kicked["members"]) == ("Empty", [])
        answer = client.call("StreamsGroupHeartbeat", 0, **fields, member_epoch=2)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_of_a_share_group_is_kicked(broker: Broker) -> None:
    side = ShareMembers(broker.port, "g", {})
    side.join("a")
    kicked = asked(broker, "DELETE", f"/v1/groups/g/members/{id_of('a')}")
    assert (kicked["state"], kicked["members"]) == ("Empty", [])
    assert side._beat("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    side.close()

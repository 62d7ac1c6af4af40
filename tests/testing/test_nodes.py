"""The brokers of a cluster one by one: crashes, stops, hangs, and what clients meet then.

Also tests: broker_lite.server.nodes, broker_lite.testing.aio.
"""

import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import anyio
import pytest

from broker_lite.client.client import Client
from broker_lite.testing import Broker, BrokerFailed
from broker_lite.testing.aio import AsyncBrokerNode
from broker_lite.testing.nodes import BrokerNode
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

SETTINGS = {"broker.session.timeout.ms": 0, "default.replication.factor": 3}
API_VERSIONS = bytes.fromhex("0000000a0012000000000007ffff")


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(SETTINGS, brokers=3, topics=["t:3"]) as started:
        yield started


@pytest.fixture
def cluster(running: Broker) -> Broker:
    running.heal()
    return running


def connect(broker: Broker, node_id: int) -> socket.socket:
    host, _, port = broker.brokers[node_id].bootstrap.rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=5)
    sock.settimeout(5)
    return sock


def leaders(broker: Broker) -> list[object]:
    return [broker.partition("t", index)["leader"] for index in range(3)]


def is_answered(sock: socket.socket) -> bool:
    sock.sendall(API_VERSIONS)
    return read_answer(sock)[:4] == b"\0\0\0\7"


def read_answer(sock: socket.socket) -> bytes:
    size = int.from_bytes(sock.recv(4), "big")
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data


def is_broken(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("node_id", [1, 2, 3])
@pytest.mark.parametrize("how", ["down", "stop"])
def test_a_broker_that_is_down_refuses(cluster: Broker, node_id: int, how: str) -> None:
    broker = cluster.brokers[node_id]
    address = broker.bootstrap
    with connect(cluster, node_id) as sock:
        assert is_answered(sock)
        getattr(broker, how)()
        assert is_broken(sock)
    assert (broker.state, broker.is_fenced) == ("down", True)
    with pytest.raises(ConnectionRefusedError):
        connect(cluster, node_id)
    assert node_id not in leaders(cluster)
    with Client(cluster.bootstrap) as client:
        assert node_id not in client.nodes()
    cluster.produce("t", "x", partition=0)
    broker.up()
    assert (broker.state, broker.is_fenced, broker.bootstrap) == ("up", False, address)
    with connect(cluster, node_id) as sock:
        assert is_answered(sock)
    assert sorted(str(cluster.partition("t", 0)["isr"])) == sorted("[1, 2, 3]")


def test_a_broker_that_hangs_accepts_and_answers_later(cluster: Broker) -> None:
    broker = cluster.brokers[2]
    with connect(cluster, 2) as before:
        broker.hang()
        assert (broker.state, broker.is_fenced) == ("hung", True)
        with connect(cluster, 2) as after:
            for sock in (before, after):
                sock.sendall(API_VERSIONS)
                sock.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    sock.recv(1)
            assert 2 not in leaders(cluster)
            broker.up()
            for sock in (before, after):
                sock.settimeout(5)
                assert read_answer(sock)[:4] == b"\0\0\0\7"
    assert (broker.state, broker.is_fenced) == ("up", False)


def test_a_broker_that_hangs_can_be_killed(cluster: Broker) -> None:
    broker = cluster.brokers[2]
    with connect(cluster, 2) as sock:
        broker.hang()
        sock.sendall(API_VERSIONS)
        broker.down()
        assert is_broken(sock)
    with pytest.raises(ConnectionRefusedError):
        connect(cluster, 2)
    broker.up()
    with connect(cluster, 2) as sock:
        assert is_answered(sock)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("down", "down", "broker 2 is down"),
        ("down", "stop", "broker 2 is down"),
        ("down", "hang", "broker 2 is down"),
        ("stop", "down", "broker 2 is down"),
        ("hang", "hang", "broker 2 is hung"),
        ("hang", "stop", "broker 2 is hung"),
    ],
)
def test_wrong_states(cluster: Broker, first: str, second: str, text: str) -> None:
    getattr(cluster.brokers[2], first)()
    with pytest.raises(BrokerFailed, match=f"^{text}$"):
        getattr(cluster.brokers[2], second)()
    cluster.brokers[2].up()
    with pytest.raises(BrokerFailed, match=r"^broker 2 is up$"):
        cluster.brokers[2].up()


def test_all_are_down_and_come_back(cluster: Broker) -> None:
    cluster.produce("t", "kept", partition=0)
    count = len(cluster.records("t"))
    for each in cluster.brokers.values():
        each.down()
    assert {each.state for each in cluster.brokers.values()} == {"down"}
    for each in cluster.brokers.values():
        each.up()
    assert len(cluster.records("t")) == count
    cluster.heal()
    cluster.produce("t", "more", partition=0)
    assert len(cluster.records("t")) == count + 1


def test_a_port_that_is_taken_meanwhile(cluster: Broker) -> None:
    broker = cluster.brokers[3]
    broker.down()
    host, _, port = broker.bootstrap.rpartition(":")
    with socket.create_server((host, int(port))):
        with pytest.raises(BrokerFailed, match=port):
            broker.up()
        assert broker.state == "down"
    broker.up()
    with connect(cluster, 3) as sock:
        assert is_answered(sock)


def test_c26_others_notice_after_the_session() -> None:
    settings = {**SETTINGS, "broker.session.timeout.ms": 9000}
    with Broker(settings, brokers=3, topics=["t:3"]) as broker:
        for how in ("down", "hang"):
            getattr(broker.brokers[2], how)()
            assert 2 in leaders(broker)
            assert not broker.brokers[2].is_fenced
            broker.advance(timedelta(seconds=10))
            deadline_s = time.monotonic() + 10
            while 2 in leaders(broker) and time.monotonic() < deadline_s:
                time.sleep(0.01)
            assert 2 not in leaders(broker)
            assert broker.brokers[2].is_fenced
            broker.heal()
            assert 2 in leaders(broker)
        broker.brokers[2].hang()
        broker.brokers[2].up()  # before its session has ended
        broker.advance(timedelta(seconds=20))
        assert 2 in leaders(broker)


@pytest.mark.parametrize("how", ["down", "hang"])
def test_c55_a_silent_leader_lets_nobody_join(how: str) -> None:
    settings = {**SETTINGS, "broker.session.timeout.ms": 9000}
    with Broker(settings, brokers=3, topics=["t:1"]) as broker:
        broker.move_leader("t", 0, to=1)
        broker.brokers[2].stop()
        broker.brokers[3].stop()
        getattr(broker.brokers[1], how)()
        broker.brokers[2].up()
        assert leader_and_isr(broker) == (1, [1])
        broker.advance(timedelta(seconds=10))
        wait_until_fenced(broker.brokers[1])
        assert leader_and_isr(broker) == (-1, [])
        broker.brokers[1].up()
        assert leader_and_isr(broker) == (1, [1, 2])


def leader_and_isr(broker: Broker) -> tuple[object, object]:
    found = broker.partition("t", 0)
    return found["leader"], found["isr"]


def wait_until_fenced(broker: BrokerNode) -> None:
    deadline_s = time.monotonic() + 10
    while not broker.is_fenced and time.monotonic() < deadline_s:
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["down", "stop", "hang"])
def test_a_cluster_stops_restarts_and_is_reset_whatever_its_brokers_do(how: str) -> None:
    with Broker(SETTINGS, brokers=3, topics=["t:3"]) as broker:
        broker.produce("t", "x", partition=0)
        getattr(broker.brokers[1], how)()
        addresses = broker.addresses
        with connect(broker, 2):
            began_s = time.monotonic()
            broker.restart()
        assert broker.addresses == addresses
        assert time.monotonic() - began_s < 8
        assert [each.state for each in broker.brokers.values()] == ["up"] * 3
        assert [record.value for record in broker.records("t")] == [b"x"]
        getattr(broker.brokers[3], how)()
        broker.reset()
        assert [each.state for each in broker.brokers.values()] == ["up"] * 3
        assert broker.records("t") == []
        getattr(broker.brokers[2], how)()
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 8


def test_one_broker_may_go_down_and_up() -> None:
    with Broker({"broker.session.timeout.ms": 0}, topics=["t"]) as broker:
        broker.produce("t", "x")
        broker.brokers[1].down()
        with pytest.raises(ConnectionRefusedError):
            connect(broker, 1)
        broker.brokers[1].up()
        assert [record.value for record in broker.records("t")] == [b"x"]
        broker.brokers[1].stop()
        broker.heal()
        broker.produce("t", "y")
        assert len(broker.records("t")) == 2


def leaders_told_by(broker: Broker, node_id: int, topic: str = "t") -> list[int]:
    """The leaders of a topic's partitions as one broker tells them; empty if it lacks the topic."""
    host, _, port = broker.brokers[node_id].bootstrap.rpartition(":")
    kind = messages.MetadataRequest
    asked = kind(topics=[kind.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    with RawClient(host, int(port)) as client:
        (answer,) = client.request(kind, asked, 12).topics
    return [each.leader_id for each in answer.partitions]


@pytest.mark.parametrize("end", ["thaw", "heal", "down", "stop", "hang", "roll"])
def test_a_broker_tells_clients_what_was(cluster: Broker, end: str) -> None:
    before = leaders_told_by(cluster, 2)
    cluster.brokers[2].freeze_metadata()
    to = next(each for each in (1, 2, 3) if each != before[0])
    cluster.move_leader("t", 0, to=to)
    new = f"new-{end}"
    cluster.create_topic(new)
    now = [to, *before[1:]]
    assert [leaders_told_by(cluster, each) for each in (1, 2, 3)] == [now, before, now]
    assert [len(leaders_told_by(cluster, each, new)) for each in (2, 3)] == [0, 1]
    if end == "thaw":
        cluster.brokers[2].thaw_metadata()
        cluster.brokers[2].thaw_metadata()
    elif end in ("heal", "roll"):
        getattr(cluster, end)()
    else:
        getattr(cluster.brokers[2], end)()
        with pytest.raises(BrokerFailed, match=r"broker 2 is (down|hung)"):
            cluster.brokers[2].freeze_metadata()
        cluster.brokers[2].up()
    assert len(leaders_told_by(cluster, 2, new)) == 1
    assert leaders_told_by(cluster, 2) == leaders_told_by(cluster, 1)


def test_one_broker_may_tell_what_was() -> None:
    with Broker() as broker:
        broker.brokers[1].freeze_metadata()
        broker.create_topic("new")
        assert leaders_told_by(broker, 1, "new") == []
        broker.heal()
        assert leaders_told_by(broker, 1, "new") == [1]


def test_ids_follow_node_id() -> None:
    broker = Broker({"node.id": 7}, brokers=2)
    assert not broker.brokers
    with broker:
        assert [*broker.brokers] == [7, 8]
        assert broker.brokers[8].bootstrap == broker.addresses[1]


@pytest.mark.parametrize("backend", ["asyncio"])
def test_the_same_as_coroutines(cluster: Broker, backend: str) -> None:
    async def use() -> None:
        aio = cluster.aio
        first = await aio.partition("t", 0)
        replicas, leader = first["replicas"], first["leader"]
        assert isinstance(replicas, list)
        node, other = (each for each in replicas if each != leader)
        await aio.lag("t", 0, node=node, delay=timedelta(seconds=1))
        await aio.catch_up("t", 0, node=node)
        await aio.shrink_isr("t", 0, node=node)
        isr = (await aio.partition("t", 0))["isr"]
        assert isinstance(isr, list)
        assert node not in isr
        await aio.elect_unclean("t", 0, to=node)
        await aio.move_leader("t", 0, to=other)
        assert (await aio.partition("t", 0))["leader"] == other
        await aio.elect_preferred("t")
        assert (await aio.partition("t", 0))["leader"] == replicas[0]
        await aio.roll()
        await aio.heal()

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio"])
def test_single_brokers_as_coroutines(cluster: Broker, backend: str) -> None:
    async def use() -> None:
        brokers = cluster.aio.brokers
        assert [*brokers] == [each.node_id for each in brokers.values()] == [1, 2, 3]
        broker = brokers[2]
        assert (broker.bootstrap, await broker.rack()) == (cluster.addresses[1], None)
        for end, state in ((broker.down, "down"), (broker.stop, "down"), (broker.hang, "hung")):
            await end()
            assert (await broker.state(), await broker.is_fenced()) == (state, True)
            with pytest.raises(BrokerFailed, match=f"broker 2 is {state}"):
                await broker.stop()
            await broker.up()
            assert (await broker.state(), await broker.is_fenced()) == ("up", False)
        before = leaders_told_by(cluster, 2)
        await broker.freeze_metadata()
        await brokers[3].down()
        assert leaders_told_by(cluster, 2) == before
        await broker.thaw_metadata()
        assert 3 not in leaders_told_by(cluster, 2)

    anyio.run(use, backend=backend)


def test_a_node_has_the_same_members_with_and_without_coroutines() -> None:
    blocking, coroutines = (
        {name for name in vars(kind) if not name.startswith("_")}
        for kind in (BrokerNode, AsyncBrokerNode)
    )
    assert blocking == coroutines


def test_records_are_not_waited_for_where_there_are_none(cluster: Broker) -> None:
    cluster.create_topic("one", partitions=3)
    for partition, leader in enumerate((1, 2, 2)):
        cluster.move_leader("one", partition, to=leader)
    cluster.produce("one", "here", partition=0)
    cluster.record_requests()
    assert [record.value for record in cluster.records("one")] == [b"here"]
    assert [fetch.node for fetch in cluster.requests("Fetch", topic="one")] == [1]
    cluster.record_requests("off")

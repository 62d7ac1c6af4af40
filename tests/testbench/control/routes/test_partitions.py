"""Partitions by the control API: leaders, lags, ISR (C-43, C-72).

Also tests: broker_lite.testing.cluster_commands.
"""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.client.client import Client
from broker_lite.coordinator.placement import partition_of
from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.log.batches import batch, record
from tests.support.raw_client import RawClient

TIMED_OUT = r"^7$"


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(
        {
            "broker.session.timeout.ms": 0,
            "default.replication.factor": 3,
            "offsets.commit.timeout.ms": 300,
        },
        brokers=3,
        racks=["a", "b"],
        topics=["t:3"],
    ) as started:
        yield started


@pytest.fixture
def cluster(running: Broker) -> Broker:
    running.heal()
    return running


def refusal(broker: Broker, method: str, path: str, body: object) -> str:
    """Send a request that must be refused, and return the one line that says why."""
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    text = str(caught.value)
    assert "\n" not in text
    return text


def leader(broker: Broker, partition: int = 0) -> int:
    found = broker.partition("t", partition)["leader"]
    assert isinstance(found, int)
    return found


def followers(broker: Broker, partition: int = 0) -> list[int]:
    found = broker.partition("t", partition)
    assert isinstance(found["replicas"], list)
    return [each for each in found["replicas"] if each != found["leader"]]


PARTITION = "/v1/topics/t/0"


@pytest.mark.parametrize(
    ("path", "change", "text"),
    [
        ("/v1/topics/x/0", {"leader": 1}, "there is no topic 'x'"),
        ("/v1/topics/t/3", {"leader": 1}, "topic t has 3 partitions, not 3"),
        ("/v1/topics/t/-1", {"leader": 1}, "partition has to be a number, not '-1'"),
        ("/v1/topics/t/99999999999", {"leader": 1}, "partition has to be a number"),
        (PARTITION, {}, "give one of leader, unclean_leader, isr, lagging, caught_up"),
        (PARTITION, {"leader": 1, "isr": [1]}, "give one of leader"),
        (PARTITION, {"leader": "1"}, "Expected `int | null`, got `str`"),
        (PARTITION, {"leader": True}, "Expected `int | null`, got `bool`"),
        (PARTITION, {"leader": 1.5}, "Expected `int | null`, got `float`"),
        (PARTITION, {"leader": 9}, r"broker 9 is not in the ISR of t-0"),
        (PARTITION, {"unclean_leader": 9}, "broker 9 has no replica of t-0"),
        (PARTITION, {"lagging": [9]}, "broker 9 has no replica of t-0"),
        (PARTITION, {"lagging": [{"node": 2, "records": -1}]}, "not by less than 0"),
        (PARTITION, {"lagging": [{"node": 2, "ms": -1}]}, "not by less than 0"),
        (PARTITION, {"lagging": [{"node": 2, "ms": 1, "records": 1}]}, "by records or by ms"),
        (PARTITION, {"lagging": [{"node": 2, "ms": 0.5}]}, "Expected `int`, got `float`"),
        (PARTITION, {"caught_up": [9]}, "broker 9 has no replica of t-0"),
        (PARTITION, {"isr": [1, 9]}, "cannot become"),
    ],
)
def test_what_cannot_be_done_is_told(
    cluster: Broker, path: str, change: dict[str, object], text: str
) -> None:
    assert text in refusal(cluster, "PATCH", path, change)
    assert cluster.partition("t", 0)["replicas"]  # it is alive


def test_an_isr_shrinks_to_those_who_stay(cluster: Broker) -> None:
    stays = leader(cluster)
    cluster.control("PATCH", PARTITION, {"isr": [stays]})
    assert cluster.partition("t", 0)["isr"] == [stays]


@pytest.mark.parametrize("name", ["lag", "catch_up", "shrink_isr"])
def test_a_leader_is_no_follower(cluster: Broker, name: str) -> None:
    node = leader(cluster)
    with pytest.raises(BrokerFailed, match=rf"^broker {node} leads t-0$"):
        getattr(cluster, name)("t", 0, node=node)


def test_leaders_move(cluster: Broker) -> None:
    before = cluster.partition("t", 0)
    to = followers(cluster)[1]
    cluster.move_leader("t", 0, to=to)
    after = cluster.partition("t", 0)
    assert (after["leader"], after["isr"]) == (to, before["isr"])
    assert after["leader_epoch"] == int(str(before["leader_epoch"])) + 1
    cluster.move_leader("t", 0, to=to)
    assert cluster.partition("t", 0) == after
    with Client(cluster.bootstrap) as client:
        assert client.leaders("t")[0] == to
    cluster.elect_preferred("other")
    assert leader(cluster) == to
    cluster.elect_preferred("t")
    assert leader(cluster) == before["leader"]


def test_a_leader_has_to_be_there(cluster: Broker) -> None:
    to = followers(cluster)[0]
    cluster.brokers[to].down()
    with pytest.raises(BrokerFailed, match="is not in the ISR"):
        cluster.move_leader("t", 0, to=to)
    with pytest.raises(BrokerFailed, match=f"^broker {to} is not there$"):
        cluster.elect_unclean("t", 0, to=to)


def test_an_unclean_leader_loses_records(cluster: Broker) -> None:
    cluster.produce("t", "kept", partition=0)
    kept = len(cluster.records("t"))
    to = followers(cluster)[0]
    cluster.shrink_isr("t", 0, node=to)
    cluster.produce("t", "lost", partition=0)
    assert len(cluster.records("t")) == kept + 1
    cluster.elect_unclean("t", 0, to=to)
    assert len(cluster.records("t")) == kept
    found = cluster.partition("t", 0)
    assert (found["leader"], sorted(str(found["isr"]))) == (to, sorted("[1, 2, 3]"))
    cluster.produce("t", "more", partition=0)
    assert [each.value for each in cluster.records("t")][-1] == b"more"


def test_lags_by_time_and_by_records(cluster: Broker) -> None:
    node = followers(cluster)[0]
    count = len(cluster.records("t"))
    cluster.lag("t", 0, node=node, delay=timedelta(hours=1))
    cluster.advance(timedelta(milliseconds=1))
    with pytest.raises(AssertionError, match=TIMED_OUT):
        produce_quickly(cluster)
    assert len(cluster.records("t")) == count
    cluster.catch_up("t", 0, node=node)
    assert len(cluster.records("t")) == count + 1
    cluster.lag("t", 0, node=node, records=1)
    with pytest.raises(AssertionError, match=TIMED_OUT):
        produce_quickly(cluster)
    cluster.heal()
    assert len(cluster.records("t")) == count + 2


def produce_quickly(broker: Broker) -> None:
    types = messages.ProduceRequest
    data = types.PartitionProduceData(index=0, records=batch(record()))
    request = types(
        acks=-1,
        timeout_ms=50,
        topic_data=[types.TopicProduceData(name="t", partition_data=[data])],
    )
    with Client(broker.bootstrap) as client:
        answer = client.connection(leader(broker)).request(request, version_max=9)
    code = answer.responses[0].partition_responses[0].error_code
    if code:
        raise AssertionError(code)


OFFSETS = "__consumer_offsets"
PARTITIONS = 50


def test_c72_a_commit_waits_for_the_replicas_in_sync(cluster: Broker) -> None:
    """A replica in the ISR is frozen, then has all records again, then leaves the ISR."""
    types = messages.OffsetCommitRequest
    partition = types.OffsetCommitRequestPartition(partition_index=0, committed_offset=3)
    topics = [types.OffsetCommitRequestTopic(name="t", partitions=[partition])]
    index = partition_of("g", PARTITIONS)
    with Client(cluster.bootstrap) as client:
        node_id = client.coordinator("g")

        def commit() -> int:
            request = types(group_id="g", topics=topics)
            answer = client.connection(node_id).request(request, version_max=9)
            return int(answer.topics[0].partitions[0].error_code)

        assert commit() == 0
        placed = cluster.partition(OFFSETS, index)["isr"]
        assert isinstance(placed, list)
        frozen = next(each for each in placed if each != node_id)
        cluster.lag(OFFSETS, index, node=frozen)
        assert commit() == 15
        cluster.catch_up(OFFSETS, index, node=frozen)
        assert commit() == 0
        cluster.lag(OFFSETS, index, node=frozen)
        assert commit() == 15
        cluster.shrink_isr(OFFSETS, index, node=frozen)
        assert commit() == 0


def test_an_isr_shrinks_by_the_clock(cluster: Broker) -> None:
    node = followers(cluster)[0]
    cluster.lag("t", 0, node=node)
    with pytest.raises(AssertionError, match=TIMED_OUT):
        produce_quickly(cluster)
    isr = cluster.partition("t", 0)["isr"]
    cluster.advance(timedelta(seconds=31))
    cluster.advance()
    after = cluster.partition("t", 0)["isr"]
    assert isinstance(isr, list)
    assert after == [each for each in isr if each != node]
    produce_quickly(cluster)


def reassign(broker: Broker, *replicas: int) -> None:
    kind = messages.AlterPartitionReassignmentsRequest
    partition = kind.ReassignablePartition(partition_index=0, replicas=list(replicas))
    topic = kind.ReassignableTopic(name="moving", partitions=[partition])
    with RawClient(broker.host, broker.port) as client:
        answer = client.request(kind, kind(topics=[topic], timeout_ms=5000), 0)
    assert answer.responses[0].partitions[0].error_code == 0


def test_c43_a_broker_that_lags_or_hangs_holds_a_reassignment_up(cluster: Broker) -> None:
    cluster.create_topic("moving")
    reassign(cluster, 1)
    cluster.produce("moving", "x")
    cluster.lag("moving", 0, node=2)
    cluster.brokers[3].hang()
    reassign(cluster, 1, 2, 3)
    found = cluster.partition("moving", 0)
    assert (found["isr"], found["adding"]) == ([1], [2, 3])
    cluster.catch_up("moving", 0, node=2)
    assert cluster.partition("moving", 0)["isr"] == [1, 2]
    cluster.brokers[3].up()
    found = cluster.partition("moving", 0)
    assert (found["isr"], found["adding"]) == ([1, 2, 3], [])


def test_lags_end_with_a_reset(cluster: Broker) -> None:
    cluster.brokers[2].down()
    cluster.lag("t", 0, node=followers(cluster)[-1])
    cluster.reset()
    assert [each.state for each in cluster.brokers.values()] == ["up"] * 3
    assert cluster.records("t") == []
    produce_quickly(cluster)


def test_a_follower_is_named_by_its_number_alone(cluster: Broker) -> None:
    cluster.control("PATCH", PARTITION, {"lagging": [followers(cluster)[0]]})
    with pytest.raises(AssertionError, match=TIMED_OUT):
        produce_quickly(cluster)

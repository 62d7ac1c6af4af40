"""Consumers in the situations for which librdkafka has its mock cluster."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from broker_lite.testing import Broker

pytestmark = pytest.mark.client
SOON_S = 10
RECORDS = 10

Start = Callable[..., Consumer]


@pytest.fixture
def start(cluster: Broker, topic: str) -> Iterator[Start]:
    """Starts consumers of the group that is called as the topic; they are closed at the end."""
    started: list[Consumer] = []

    def begin(**settings: object) -> Consumer:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
                "fetch.error.backoff.ms": 20,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 40,
                "reconnect.backoff.max.ms": 100,
                "topic.metadata.refresh.interval.ms": 100,
                "log_level": 0,
                **names,
            }
        )
        started.append(consumer)
        return consumer

    yield begin
    for consumer in started:
        consumer.close()


@pytest.fixture
def written(cluster: Broker, topic: str) -> str:
    """The topic with ten records in its first partition, one in a batch."""
    for number in range(RECORDS):
        cluster.produce(topic, str(number), partition=0)
    return topic


def read(consumer: Consumer, count: int) -> list[str]:
    """The next records, none of which may be an error."""
    found = []
    while len(found) < count:
        message = consumer.poll(SOON_S)
        assert message is not None, f"only {found}"
        assert message.error() is None, message.error()
        found.append((message.value() or b"").decode())
    return found


NUMBERS = [str(number) for number in range(RECORDS)]


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("JoinGroup", "COORDINATOR_NOT_AVAILABLE"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_an_error_that_passes_on_the_way_into_a_group(
    cluster: Broker, written: str, start: Start, api: str, error: str
) -> None:
    with cluster.fault(api, group=written, error=error):
        consumer = start()
        consumer.subscribe([written])
        assert read(consumer, RECORDS) == NUMBERS


def test_a_commit_during_a_rebalance_is_not_tried_again(
    cluster: Broker, written: str, start: Start
) -> None:
    consumer = start()
    consumer.subscribe([written])
    assert read(consumer, 3) == NUMBERS[:3]
    fault = cluster.fault("OffsetCommit", group=written, error="REBALANCE_IN_PROGRESS", count=2)
    with fault, pytest.raises(KafkaException, match="REBALANCE_IN_PROGRESS"):
        consumer.commit(asynchronous=False)
    assert fault.hits == 1
    assert read(consumer, RECORDS - 3) == NUMBERS[3:]


def test_a_commit_that_times_out_is_tried_again(
    cluster: Broker, written: str, start: Start
) -> None:
    consumer = start()
    consumer.subscribe([written])
    read(consumer, RECORDS)
    with cluster.fault("OffsetCommit", group=written, error="REQUEST_TIMED_OUT", count=2):
        consumer.commit(asynchronous=False)
    group = cluster.wait_for_group(written, lag=0)
    assert group["offsets"][written]["0"]["committed"] == RECORDS


def test_the_coordinator_of_a_group_moves(cluster: Broker, written: str, start: Start) -> None:
    cluster.move_leader("__consumer_offsets", 0, to=1)
    consumer = start()
    consumer.subscribe([written])
    read(consumer, RECORDS)
    cluster.move_leader("__consumer_offsets", 0, to=2)
    consumer.commit(asynchronous=False)
    refused, *_, last = cluster.requests("OffsetCommit", group=written)
    assert (refused.node, refused.errors) == (1, ["NOT_COORDINATOR"])
    assert (last.node, last.errors) == (2, [])


def from_the_beginning(consumer: Consumer, topic: str) -> Consumer:
    """Read the first partition of a topic without a group."""
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


@pytest.mark.parametrize(
    "error", ["NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"]
)
def test_a_consumer_looks_for_the_new_leader(
    cluster: Broker, written: str, start: Start, error: str
) -> None:
    with cluster.fault("Fetch", topic=written, nodes=[1], error=error, count=-1) as fault:
        consumer = from_the_beginning(start(), written)
        fault.wait()
        cluster.move_leader(written, 0, to=2)
        assert read(consumer, RECORDS) == NUMBERS


def test_the_replica_in_the_rack_is_none_any_more(
    cluster: Broker, written: str, start: Start
) -> None:
    consumer = from_the_beginning(start(client_rack="b"), written)
    assert read(consumer, RECORDS) == NUMBERS
    refused = {"topic": written, "nodes": [2], "error": "NOT_LEADER_OR_FOLLOWER"}
    with cluster.fault("Fetch", **refused) as fault:
        fault.wait()
        cluster.produce(written, "late", partition=0)
        assert read(consumer, 1) == ["late"]
    nodes = [each.node for each in cluster.requests("Fetch", topic=written, client_id="rdkafka")]
    assert nodes[:2] == [1, 2]
    assert 1 in nodes[2:]


def test_an_offset_that_is_gone_from_the_replica(
    cluster: Broker, written: str, start: Start
) -> None:
    consumer = from_the_beginning(start(client_rack="b"), written)
    with cluster.fault("Fetch", topic=written, nodes=[2], error="OFFSET_OUT_OF_RANGE"):
        assert read(consumer, RECORDS) == NUMBERS

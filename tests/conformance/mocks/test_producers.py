"""Producers in the situations for which librdkafka has its mock cluster."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from broker_lite.testing import Broker

pytestmark = pytest.mark.client
SOON_S = 10


class Writer:
    """A producer, and what became of its records.

    Attributes:
        errors: of the records that were not written, in their order.
        offsets: of those that were.
    """

    def __init__(self, cluster: Broker, **settings: object) -> None:
        self.errors: list[str] = []
        self.offsets: list[int | None] = []
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "linger.ms": 0,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 40,
                "reconnect.backoff.max.ms": 100,
                "topic.metadata.refresh.interval.ms": 100,
                "log_level": 0,
                **names,
            }
        )

    def write(self, topic: str, *values: str) -> None:
        """Write to the first partition, and wait until it is clear what becomes of each record."""
        for value in values:
            self.producer.produce(topic, value, partition=0, on_delivery=self._told)
        assert self.producer.flush(SOON_S) == 0

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.offsets.append(message.offset())
        else:
            self.errors.append(error.name())


Start = Callable[..., Writer]


@pytest.fixture
def start(cluster: Broker) -> Iterator[Start]:
    """Starts producers; one with a transactional id has begun a transaction."""
    started: list[Producer] = []

    def begin(**settings: object) -> Writer:
        writer = Writer(cluster, **settings)
        started.append(writer.producer)
        if "transactional_id" in settings:
            writer.producer.init_transactions(SOON_S)
            writer.producer.begin_transaction()
        return writer

    yield begin
    for producer in started:
        with suppress(KafkaException):  # fenced
            producer.close()


def values(cluster: Broker, topic: str) -> list[str]:
    """What consumers read in the topic."""
    return [(record.value or b"").decode() for record in cluster.records(topic)]


@pytest.mark.parametrize(("retries", "errors"), [(10, []), (1, ["KAFKA_STORAGE_ERROR"])])
def test_storage_errors(
    cluster: Broker, topic: str, start: Start, retries: int, errors: list[str]
) -> None:
    writer = start(retries=retries, enable_idempotence=False)
    with cluster.fault("Produce", topic=topic, error="KAFKA_STORAGE_ERROR", count=3) as fault:
        writer.write(topic, "one")
        assert fault.hits == min(3, retries + 1)
    assert writer.errors == errors
    assert values(cluster, topic) == ([] if errors else ["one"])


def test_pauses_between_tries_grow(cluster: Broker, topic: str, start: Start) -> None:
    writer = start(retry_backoff_ms=50, retry_backoff_max_ms=200)
    with cluster.fault("Produce", topic=topic, error="NOT_ENOUGH_REPLICAS", count=4):
        writer.write(topic, "one")
    times = [float(str(each.summary["at_ms"])) for each in cluster.requests("Produce", topic=topic)]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert len(pauses) == 4
    for pause, least_ms in zip(pauses, (50, 100, 200, 200), strict=True):
        assert pause >= 0.75 * least_ms  # it varies by a fifth


@pytest.mark.parametrize("loss", [{"drop": "after"}, {"error": "REQUEST_TIMED_OUT"}])
def test_a_leader_that_goes_with_its_answer(
    cluster: Broker, topic: str, start: Start, loss: dict[str, str]
) -> None:
    writer = start(enable_idempotence=True)
    writer.write(topic, "one")
    with cluster.fault("Produce", topic=topic, nodes=[1], delay_ms=50, **loss) as lost:
        writer.producer.produce(topic, "two", partition=0)
        lost.wait()
        cluster.move_leader(topic, 0, to=2)
        writer.write(topic, "three")
    assert values(cluster, topic) == ["one", "two", "three"]
    assert [each.node for each in cluster.requests("Produce", topic=topic)][-1] == 2


def test_a_broker_that_is_down_and_up_again(cluster: Broker, topic: str, start: Start) -> None:
    writer = start(enable_idempotence=True)
    writer.write(topic, "one")
    cluster.brokers[1].down()
    writer.write(topic, "two")
    cluster.brokers[1].up()
    cluster.move_leader(topic, 0, to=1)
    writer.write(topic, "three")
    assert values(cluster, topic) == ["one", "two", "three"]


def test_a_broker_that_is_slow(cluster: Broker, topic: str, start: Start) -> None:
    writer = start(enable_idempotence=True, request_timeout_ms=100, socket_timeout_ms=100)
    # librdkafka looks once a second which requests have waited for too long
    with cluster.fault("Produce", topic=topic, nodes=[1], delay_ms=5000):
        writer.write(topic, "one")
    assert values(cluster, topic) == ["one"]
    first, second = cluster.requests("Produce", topic=topic)
    assert first.connection != second.connection


def test_errors_of_metadata(cluster: Broker, topic: str, start: Start) -> None:
    writer = start(topic_metadata_refresh_fast_interval_ms=20)
    error = {"topic": topic, "error": "LEADER_NOT_AVAILABLE"}
    with cluster.fault("Metadata", count=2, **error) as fault:
        writer.write(topic, "one")
        assert fault.left == 0
    assert writer.errors == []


def test_a_transaction_goes_on_after_errors_that_pass(
    cluster: Broker, topic: str, start: Start
) -> None:
    retried = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS")
    faults = [cluster.fault("InitProducerId", error="COORDINATOR_LOAD_IN_PROGRESS")]
    writer = start(transactional_id=topic)
    faults += [
        cluster.fault("AddPartitionsToTxn", error="CONCURRENT_TRANSACTIONS"),
        cluster.fault("Produce", topic=topic, error="NOT_ENOUGH_REPLICAS"),
        *(cluster.fault("EndTxn", error=error) for error in retried),
    ]
    writer.write(topic, "one")
    writer.producer.commit_transaction(SOON_S)
    assert [fault.left for fault in faults] == [0] * len(faults)
    assert values(cluster, topic) == ["one"]


def test_a_lost_producer_id_aborts_the_transaction(
    cluster: Broker, topic: str, start: Start
) -> None:
    writer = start(transactional_id=topic)
    writer.write(topic, "one")
    with cluster.fault("Produce", topic=topic, error="UNKNOWN_PRODUCER_ID"):
        writer.write(topic, "two")
    with pytest.raises(KafkaException) as failed:
        writer.producer.commit_transaction(SOON_S)
    error = failed.value.args[0]
    assert (error.fatal(), error.txn_requires_abort()) == (False, True)
    writer.producer.abort_transaction(SOON_S)
    writer.producer.begin_transaction()
    writer.write(topic, "three")
    writer.producer.commit_transaction(SOON_S)
    read = cluster.control("GET", f"/v1/topics/{topic}/records?read_committed=true")
    assert "three" in str(read)
    assert "one" not in str(read)


@pytest.mark.parametrize(
    ("error", "is_fatal"), [("UNKNOWN_PRODUCER_ID", False), ("PRODUCER_FENCED", True)]
)
def test_a_commit_that_is_refused(
    cluster: Broker, topic: str, start: Start, error: str, is_fatal: bool
) -> None:
    writer = start(transactional_id=topic)
    writer.write(topic, "one")
    fault = cluster.fault("EndTxn", txn_id=topic, error=error)
    with fault, pytest.raises(KafkaException) as failed:
        writer.producer.commit_transaction(SOON_S)
    assert failed.value.args[0].fatal() == is_fatal
    assert failed.value.args[0].txn_requires_abort() != is_fatal


def test_the_coordinator_of_a_transaction_moves(cluster: Broker, topic: str, start: Start) -> None:
    writer = start(transactional_id=topic)
    writer.write(topic, "one")
    coordinator = cluster.partition("__transaction_state", 0)["leader"]
    cluster.move_leader("__transaction_state", 0, to=3 if coordinator == 2 else 2)
    writer.producer.commit_transaction(SOON_S)
    cluster.wait_for_transaction(topic, state="CompleteCommit")
    refused, *_ = cluster.requests("EndTxn", txn_id=topic)
    assert (refused.node, refused.errors) == (coordinator, ["NOT_COORDINATOR"])

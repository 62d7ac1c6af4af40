"""`kafka transactions find-hanging`."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from broker_lite.client import Client, check
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command_line import CommandLine

TIMEOUT_S = 30
FORGOTTEN_ID = 4711
VERSION_BEFORE_VERIFICATION = 9
"""Of Produce: the coordinator of a newer one would be asked to count the partition."""


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a broker that takes transactional records of which no coordinator knows."""
    settings = ["transaction.partition.verification.enable=false", KEEP]
    with BrokerProcess(tmp_path_factory.mktemp("lenient") / "data", settings=settings) as broker:
        yield broker.bootstrap


@pytest.fixture
def transactions(command: CommandLine, lenient: str) -> CommandLine:
    """The tool with a broker's address."""
    return command.of("kafka", "transactions", "--bootstrap-server", lenient)


def leave_open(bootstrap: str, topic: str, *, producer_id: int, epoch: int = 0) -> None:
    """Write a record of a transaction of which the coordinator hears nothing, at the year 1970."""
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=epoch, base_sequence=0, is_transactional=True
    )
    builder.append(1000, None, b"value", ())
    make = messages.ProduceRequest
    partition = make.PartitionProduceData(index=0, records=memoryview(builder.build()))
    data = make.TopicProduceData(name=topic, partition_data=[partition])
    value = make(transactional_id=f"id-{topic}", acks=-1, timeout_ms=1000, topic_data=[data])
    with Client(bootstrap) as client:
        answer = client.request(value, version_max=VERSION_BEFORE_VERIFICATION)
    check("produce", answer.responses[0].partition_responses[0].error_code)


def found(transactions: CommandLine, *arguments: str) -> list[list[str]]:
    """The rows below the header: topic, partition, producer id."""
    lines = transactions.ok("find-hanging", *arguments).splitlines()
    assert lines[0].split() == [
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch"),
        *("StartOffset", "LastTimestamp", "Duration(min)"),
    ]
    return [line.split()[:3] for line in lines[1:]]


def test_one_that_no_coordinator_knows(
    transactions: CommandLine, command: CommandLine, lenient: str, topic: str
) -> None:
    command.ok("topics", "--bootstrap-server", lenient, "--create", "--topic", topic)
    leave_open(lenient, topic, producer_id=FORGOTTEN_ID)
    row = [topic, "0", str(FORGOTTEN_ID)]
    assert found(transactions, "--topic", topic) == [row]
    assert row in found(transactions, "--broker-id", "1")
    assert found(transactions, "--broker-id", "2") == []
    assert found(transactions, "--topic", topic, "--partition", "1") == []
    century_minutes = str(100 * 365 * 24 * 60)
    within = ("--topic", topic, "--max-transaction-timeout", century_minutes)
    assert found(transactions, *within) == []


@pytest.mark.parametrize("counts_it", [True, False])
def test_one_of_a_known_producer(
    transactions: CommandLine, command: CommandLine, lenient: str, topic: str, counts_it: bool
) -> None:
    """It hangs when its coordinator does not count the partition among those of a transaction."""
    command.ok("topics", "--bootstrap-server", lenient, "--create", "--topic", topic)
    producer = Producer({"bootstrap.servers": lenient, "transactional.id": f"id-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    if counts_it:
        producer.begin_transaction()
        producer.produce(topic, b"value", partition=0, timestamp=1000)
        assert producer.flush(TIMEOUT_S) == 0
    else:
        listed = transactions.ok("list", "--transactional-id-pattern", f"id-{topic}")
        leave_open(lenient, topic, producer_id=int(listed.split()[-2]))
    rows = found(transactions, "--topic", topic)
    assert len(rows) == (0 if counts_it else 1)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "2: The `find-hanging` command requires either --topic or --broker-id to limit"),
        (("--broker-id", "1", "--partition", "0"), "2: The --partition argument requires --topic"),
        (("--topic", "nosuch"), "1: topic nosuch: UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_wrong_use(transactions: CommandLine, arguments: tuple[str, ...], line: str) -> None:
    assert transactions.fails("find-hanging", *arguments).startswith(line)

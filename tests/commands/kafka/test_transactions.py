"""`kafka transactions`, with the flags and the tables of kafka-transactions.sh."""

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.command_line import CommandLine

TIMEOUT_S = 30


@pytest.fixture
def transactions(command: CommandLine, bootstrap: str) -> CommandLine:
    """The tool with a broker's address."""
    return command.of("kafka", "transactions", "--bootstrap-server", bootstrap)


def rows(printed: str) -> list[dict[str, str]]:
    """A table, by its header; a tab ends each cell."""
    header, *lines = [
        [cell.strip() for cell in line.split("\t")[:-1]] for line in printed.splitlines()
    ]
    return [dict(zip(header, line, strict=True)) for line in lines]


def by_id(printed: str) -> dict[str, dict[str, str]]:
    """The rows of a list, by transactional id."""
    return {row["TransactionalId"]: row for row in rows(printed)}


@pytest.fixture
def producer(command: CommandLine, bootstrap: str, topic: str) -> Iterator[Producer]:
    """A producer in the middle of a transaction, with one record in the first partition."""
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"id-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    return producer


@pytest.mark.usefixtures("producer")
def test_list(transactions: CommandLine, topic: str) -> None:
    found = by_id(transactions.ok("list"))
    assert found[f"id-{topic}"]["TransactionState"] == "Ongoing"
    assert found[f"id-{topic}"]["Coordinator"] == "1"
    # ids that are in no transaction pass that filter, in Kafka too
    assert f"id-{topic}" not in by_id(transactions.ok("list", "--duration-filter", "1000000000"))
    one = by_id(transactions.ok("list", "--transactional-id-pattern", f"id-{topic}.*"))
    assert list(one) == [f"id-{topic}"]


@pytest.mark.usefixtures("producer")
def test_describe(transactions: CommandLine, topic: str) -> None:
    (found,) = rows(transactions.ok("describe", "--transactional-id", f"id-{topic}"))
    assert found["TransactionState"] == "Ongoing"
    assert found["TopicPartitions"] == f"{topic}-0"
    assert int(found["TransactionDurationMs"]) >= 0
    assert re.fullmatch(r"\d{13}", found["CurrentTransactionStartTimeMs"])


def test_describe_one_without_a_transaction(
    transactions: CommandLine, bootstrap: str, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"id-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    (found,) = rows(transactions.ok("describe", "--transactional-id", f"id-{topic}"))
    assert (found["TransactionState"], found["TopicPartitions"]) == ("Empty", "")
    assert found["CurrentTransactionStartTimeMs"] == found["TransactionDurationMs"] == "None"


@pytest.mark.usefixtures("producer")
def test_describe_producers(transactions: CommandLine, bootstrap: str, topic: str) -> None:
    plain = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    plain.produce(topic, b"plain", partition=0)
    assert plain.flush(TIMEOUT_S) == 0
    at = ("--topic", topic, "--partition", "0")
    found = rows(transactions.ok("describe-producers", *at))
    starts = sorted(row["CurrentTransactionStartOffset"] for row in found)
    assert starts == ["0", "None"]
    assert rows(transactions.ok("describe-producers", *at, "--broker-id", "1")) == found


@pytest.mark.usefixtures("producer")
def test_abort_by_the_start_offset(transactions: CommandLine, topic: str) -> None:
    at = ("--topic", topic, "--partition", "0")
    line = transactions.fails("abort", *at, "--start-offset", "7")
    assert line == (
        f"1: Could not find any open transactions starting at offset 7 on partition {topic}-0"
    )
    assert transactions.ok("abort", *at, "--start-offset", "0") == ""
    (found,) = rows(transactions.ok("describe-producers", *at))
    assert found["CurrentTransactionStartOffset"] == "None"


@pytest.mark.usefixtures("producer")
def test_abort_by_the_producer(transactions: CommandLine, topic: str) -> None:
    at = ("--topic", topic, "--partition", "0")
    (before,) = rows(transactions.ok("describe-producers", *at))
    identity = ("--producer-id", before["ProducerId"], "--producer-epoch", before["ProducerEpoch"])
    refused = transactions.fails("abort", *at, "--producer-id", before["ProducerId"],
                                 "--producer-epoch", "-1", "--coordinator-epoch", "0")  # fmt: skip
    assert refused.startswith(
        f"1: Failed to abort transaction of producer {before['ProducerId']} in"
    )
    assert transactions.ok("abort", *at, *identity, "--coordinator-epoch", "-1") == ""
    (found,) = rows(transactions.ok("describe-producers", *at))
    assert found["CurrentTransactionStartOffset"] == "None"


def test_force_terminate(transactions: CommandLine, producer: Producer, topic: str) -> None:
    assert transactions.ok("forceTerminateTransaction", "--transactionalId", f"id-{topic}") == ""
    with pytest.raises(KafkaException, match="fenced"):
        producer.commit_transaction(TIMEOUT_S)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("describe", "--transactional-id", "x"),
            "1: Failed to describe transaction state of transactional-id `x`: DescribeTransactions"
            " request for transactionalId `x` failed because the ID could not be found",
        ),
        (
            ("describe", "--transactional-id", ""),
            "1: Failed to describe transaction state of transactional-id ``: ",
        ),
        (("forceTerminateTransaction", "--transactionalId", ""), "1: Failed to force terminate"),
        (
            ("describe-producers", "--topic", "nosuch", "--partition", "0", "--broker-id", "1"),
            "1: Failed to describe producers for partition nosuch-0 on broker 1: ",
        ),
        (
            ("describe-producers", "--topic", "nosuch", "--partition", "0"),
            "1: Failed to describe producers for partition nosuch-0 on leader: ",
        ),
        (
            ("abort", "--topic", "a", "--partition", "0"),
            "2: The transaction to abort must be identified either with --start-offset",
        ),
        (
            ("abort", "--topic", "a", "--partition", "0", "--producer-id", "1"),
            "2: Missing required argument --producer-epoch",
        ),
    ],
)
def test_what_cannot_be_done(
    transactions: CommandLine, arguments: tuple[str, ...], line: str
) -> None:
    assert transactions.fails(*arguments).startswith(line)

"""What the formatters for the topics of coordinators print; Kafka's own are asked elsewhere."""

import json
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_lite.commands.console.formatters import PACKAGE, formatter_of
from broker_lite.errors import ClientError, SettingsError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from tests.support.command_line import CommandLine

TIMEOUT_S = 30


def objects(printed: str) -> list[dict[str, Any]]:
    """The values of JSON that stand one behind the other, without anything between."""
    found, position, decoder = [], 0, json.JSONDecoder()
    while position < len(printed):
        value, position = decoder.raw_decode(printed, position)
        found.append(value)
    return found


def consumed(command: CommandLine, bootstrap: str, topic: str, name: str) -> list[dict[str, Any]]:
    """What a formatter prints of a whole topic."""
    at = ("--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning")
    done = command("consume", *at, "--timeout-ms", "500", "--formatter", f"{PACKAGE}.{name}")
    assert done.code == 0, done.err
    return objects(done.out)


def test_offsets_and_groups(command: CommandLine, bootstrap: str, topic: str) -> None:
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic)
    group = f"group-{topic}"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    consumer.subscribe([topic])
    consumer.poll(0.1)
    command.ok("groups", "--bootstrap-server", bootstrap, "--list")
    consumer.close()
    offsets = consumed(command, bootstrap, "__consumer_offsets", "OffsetsMessageFormatter")
    key = {"type": 1, "data": {"group": group, "topic": topic, "partition": 0}}
    (value,) = [each["value"] for each in offsets if each["key"] == key]
    assert value["data"]["offset"] == 7
    assert value["data"]["metadata"] == ""
    assert {each["key"]["type"] for each in offsets} == {1}
    groups = consumed(command, bootstrap, "__consumer_offsets", "GroupMetadataMessageFormatter")
    assert {each["key"]["type"] for each in groups} <= {2}


def test_transactions(command: CommandLine, bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"id-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    found = consumed(command, bootstrap, "__transaction_state", "TransactionLogMessageFormatter")
    key = {"type": 0, "data": {"transactionalId": f"id-{topic}"}}
    (value,) = [each["value"] for each in found if each["key"] == key]
    assert value["data"]["transactionStatus"] == 0


def test_nothing_is_printed_but_counted(command: CommandLine, bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"value")
    assert producer.flush(TIMEOUT_S) == 0
    at = ("--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning")
    formatter = ("--formatter", f"{PACKAGE}.NoOpMessageFormatter")
    done = command("consume", *at, "--max-messages", "1", *formatter)
    assert (done.code, done.out) == (0, "")
    assert done.err == "Processed a total of 1 messages\n"


def printed(key: bytes | None, value: bytes | None, name: str = "OffsetsMessageFormatter") -> bytes:
    """What a formatter prints of one record."""
    builder = BatchBuilder()
    builder.append(1, key, value, ())
    data = memoryview(builder.build())
    batch = RecordBatch(data, 0, len(data))
    formatter = formatter_of(f"{PACKAGE}.{name}", {})
    return b"".join(formatter.record(each, 0, batch) for each in iterate_records(batch))


def test_a_tombstone() -> None:
    assert printed(b"\0\2\0\1g", None, "GroupMetadataMessageFormatter") == (
        b'{"key":{"type":2,"data":{"group":"g"}},"value":null}'
    )


@pytest.mark.parametrize("key", [None, b"\0\2\0\1g", b"\0\x63anything"])
def test_other_records_are_left_out(key: bytes | None) -> None:
    assert printed(key, b"value") == b""


@pytest.mark.parametrize(
    ("key", "value"), [(b"\0", None), (b"\0\1\0", None), (b"\0\0\0\1g", b"\0")]
)
def test_what_cannot_be_read(key: bytes, value: bytes | None) -> None:
    with pytest.raises(ClientError, match="Could not read record at offset 0 due to: "):
        printed(key, value)


def test_names_that_kafka_4_does_not_know_any_more() -> None:
    with pytest.raises(SettingsError, match=r"must be one of .* OffsetsMessageFormatter, "):
        formatter_of("kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter", {})

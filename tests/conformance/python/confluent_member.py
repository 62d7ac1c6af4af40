"""A member of a group with confluent-kafka; `tests.conformance.members` says what it does."""

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.conformance.python.lines import Commands, Owned, emit, name_of, options

ASSIGNORS = {"cooperative": "cooperative-sticky"}


def configuration(given: dict[str, str]) -> dict[str, object]:
    """What is given, as librdkafka calls it."""
    settings: dict[str, object] = {
        "bootstrap.servers": given["bootstrap"],
        "group.id": given["group"],
        "group.protocol": given["protocol"],
        "isolation.level": given.get("isolation", "read_uncommitted"),
        "auto.offset.reset": given.get("reset", "earliest"),
        "enable.auto.commit": False,
        "reconnect.backoff.max.ms": 500,
        "retry.backoff.max.ms": 300,
    }
    if "instance" in given:
        settings["group.instance.id"] = given["instance"]
    if given["protocol"] == "classic":
        settings |= {
            "session.timeout.ms": int(given["session_ms"]),
            "heartbeat.interval.ms": int(given["heartbeat_ms"]),
            "partition.assignment.strategy": ASSIGNORS.get(given["assignor"], given["assignor"]),
        }
    return settings


def take(consumer: Consumer, record: Message, topic: str) -> None:
    """Print a record and commit it."""
    if (error := record.error()) is not None:  # the client goes on by itself
        emit("refused", str(error).replace(" ", "_"))
        return
    partition, offset = record.partition(), record.offset()
    emit("read", partition, offset, (record.value() or b"").decode())
    try:
        asked = [TopicPartition(topic, partition, offset + 1)]
        consumer.commit(offsets=asked, asynchronous=False)
        emit("committed", partition, offset + 1)
    except KafkaException as error:
        emit("refused", name_of(error))


def main() -> None:
    """Read until told to leave."""
    given, commands, owned = options(), Commands(), Owned()
    topic = given["topic"]
    consumer = Consumer(configuration(given))
    consumer.subscribe(
        [topic],
        on_assign=lambda _, partitions: owned.add(each.partition for each in partitions),
        on_revoke=lambda _, partitions: owned.remove(each.partition for each in partitions),
    )
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            consumer.seek(TopicPartition(topic, int(command[1]), int(command[2])))
            emit("done", *command)
        record = consumer.poll(0.1)
        if record is not None:
            take(consumer, record, topic)
    consumer.close()


if __name__ == "__main__":
    main()

"""A consumer without a group with confluent-kafka; tests.catalogue.play says what it does."""

from collections.abc import Iterable
from functools import partial

from confluent_kafka import Consumer, TopicPartition

from tests.conformance.python.lines import Commands, answer, emit, options

TIMEOUT_S = 3


def consumer_of(given: dict[str, str]) -> Consumer:
    """The consumer that the options ask for."""
    return Consumer(
        {
            "bootstrap.servers": given["bootstrap"],
            "group.id": "unused",
            "client.rack": given.get("rack", ""),
            "isolation.level": given.get("isolation", "read_uncommitted"),
            "auto.offset.reset": given.get("reset", "earliest"),
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 50,
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 300,
            "reconnect.backoff.max.ms": 500,
            "socket.timeout.ms": int(given.get("request_ms", 2000)),
            "topic.metadata.refresh.interval.ms": 2000,
        }
    )


def execute(consumer: Consumer, topic: str, command: list[str]) -> Iterable[object]:
    """Execute one command."""
    match command:
        case ["seek", partition, offset]:
            consumer.seek(TopicPartition(topic, int(partition), int(offset)))
        case ["ends", partition]:
            return consumer.get_watermark_offsets(TopicPartition(topic, int(partition)), TIMEOUT_S)
        case ["at", partition, time_ms]:
            asked = [TopicPartition(topic, int(partition), int(time_ms))]
            (found,) = consumer.offsets_for_times(asked, TIMEOUT_S)
            if found.error is not None:
                raise RuntimeError(found.error)
            return (found.offset,)
        case ["partitions"]:
            return (len(consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions),)
    return ()


def main() -> None:
    """Read until told to leave."""
    given, commands = options(), Commands()
    topic = given["topic"]
    consumer = consumer_of(given)
    start = int(given.get("start", -2))
    partitions = range(int(given.get("partitions", 1)))
    consumer.assign([TopicPartition(topic, each, start) for each in partitions])
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            answer(command, partial(execute, consumer, topic))
        record = consumer.poll(0.05)
        if record is None:
            continue
        if (error := record.error()) is not None:
            emit("refused", str(error).replace(" ", "_"))
        else:
            emit("read", record.partition(), record.offset(), (record.value() or b"").decode())
    consumer.close()


if __name__ == "__main__":
    main()

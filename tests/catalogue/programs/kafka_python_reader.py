"""A consumer without a group with kafka-python; tests.catalogue.play says what it does."""

import time
from collections.abc import Iterable
from functools import partial

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from tests.conformance.python.lines import Commands, answer, emit, name_of, options

PAUSE_S = 0.05


def consumer_of(given: dict[str, str]) -> KafkaConsumer:
    """The consumer that the options ask for."""
    return KafkaConsumer(
        bootstrap_servers=given["bootstrap"].split(","),
        client_rack=given.get("rack", ""),
        isolation_level=given.get("isolation", "read_uncommitted"),
        auto_offset_reset=given.get("reset", "earliest"),
        enable_auto_commit=False,
        fetch_max_wait_ms=100,
        retry_backoff_ms=50,
        reconnect_backoff_max_ms=500,
        metadata_max_age_ms=2000,
        request_timeout_ms=int(given.get("request_ms", 2000)),
    )


def execute(consumer: KafkaConsumer, topic: str, command: list[str]) -> Iterable[object]:
    """Execute one command."""
    match command:
        case ["seek", partition, offset]:
            consumer.seek(TopicPartition(topic, int(partition)), int(offset))
        case ["ends", partition]:
            asked = TopicPartition(topic, int(partition))
            begins = consumer.beginning_offsets([asked])
            return begins[asked], consumer.end_offsets([asked])[asked]
        case ["at", partition, time_ms]:
            asked = TopicPartition(topic, int(partition))
            found = consumer.offsets_for_times({asked: int(time_ms)})[asked]
            return (None if found is None else found.offset,)
        case ["partitions"]:
            return (len(consumer.partitions_for_topic(topic)),)
    return ()


def poll(consumer: KafkaConsumer) -> None:
    """Print what has come."""
    try:
        for partition, records in consumer.poll(50).items():
            for record in records:
                value = (record.value or b"").decode()
                emit("read", partition.partition, record.offset, value)
    except KafkaError as error:
        emit("refused", name_of(error))
        time.sleep(PAUSE_S)


def main() -> None:
    """Read until told to leave."""
    given, commands = options(), Commands()
    topic = given["topic"]
    consumer = consumer_of(given)
    partitions = [TopicPartition(topic, each) for each in range(int(given.get("partitions", 1)))]
    consumer.assign(partitions)
    for each in partitions if "start" in given else ():
        consumer.seek(each, int(given["start"]))
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            answer(command, partial(execute, consumer, topic))
        poll(consumer)
    consumer.close()


if __name__ == "__main__":
    main()

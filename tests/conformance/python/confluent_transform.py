"""Consume, transform, produce with confluent-kafka; `tests.conformance.clients` says how."""

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.conformance.python.confluent_member import configuration
from tests.conformance.python.lines import Commands, Owned, emit, name_of, options

TIMEOUT_S = 30


def move(consumer: Consumer, producer: Producer, records: list[Message], topic: str) -> None:
    """Write what was read to the other topic, in one transaction with the positions."""
    producer.begin_transaction()
    ends: dict[int, int] = {}
    for record in records:
        partition, offset = record.partition(), record.offset()
        producer.produce(topic, f"{partition}:{offset}".encode(), partition=partition)
        ends[partition] = offset + 1
    source = records[0].topic()
    positions = [TopicPartition(source, partition, end) for partition, end in ends.items()]
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
    producer.commit_transaction(TIMEOUT_S)
    emit("moved", len(records))


def give_up(consumer: Consumer, producer: Producer, error: KafkaException) -> None:
    """Abort, and read again from what was committed; a fatal error ends the program."""
    emit("gave_up", name_of(error))
    if error.args[0].fatal():
        raise error
    producer.abort_transaction(TIMEOUT_S)
    for position in consumer.committed(consumer.assignment(), TIMEOUT_S):
        consumer.seek(TopicPartition(position.topic, position.partition, max(position.offset, 0)))


def main() -> None:
    """Move records until told to leave."""
    given, commands, owned = options(), Commands(), Owned()
    consumer = Consumer({**configuration(given), "isolation.level": "read_committed"})
    producer = Producer(
        {
            "bootstrap.servers": given["bootstrap"],
            "transactional.id": given["transactional_id"],
            "transaction.timeout.ms": int(given["timeout_ms"]),
            "reconnect.backoff.max.ms": 500,
            "linger.ms": 0,
            # when the only broker is gone, librdkafka 2.16 forgets it, but not as the coordinator
            # of the positions' group, to which it then sends nothing for good
            "metadata.recovery.strategy": "none",
        }
    )
    producer.init_transactions(TIMEOUT_S)
    consumer.subscribe(
        [given["topic"]],
        on_assign=lambda _, partitions: owned.add(each.partition for each in partitions),
        on_revoke=lambda _, partitions: owned.remove(each.partition for each in partitions),
    )
    while commands.next() != ["leave"]:
        records = [each for each in consumer.consume(20, 0.1) if each.error() is None]
        if not records:
            continue
        try:
            move(consumer, producer, records, given["output"])
        except KafkaException as error:
            give_up(consumer, producer, error)
    consumer.close()


if __name__ == "__main__":
    main()

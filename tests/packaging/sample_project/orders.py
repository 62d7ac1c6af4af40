"""An application that keeps orders in a topic."""

from collections import Counter
from collections.abc import Iterable

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


def place(bootstrap: str, topic: str, orders: Iterable[tuple[str, int]]) -> None:
    """Write orders, each an article and a count."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for article, count in orders:
            producer.send(topic, key=article.encode(), value=str(count).encode())
        producer.flush()


def totals(bootstrap: str, topic: str) -> Counter[str]:
    """Add up the orders that were placed so far."""
    found: Counter[str] = Counter()
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    found[record.key.decode()] += int(record.value)
    return found

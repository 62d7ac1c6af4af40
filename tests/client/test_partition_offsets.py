import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.partition_offsets import (
    EARLIEST,
    LATEST,
    UNKNOWN_OFFSET,
    Committed,
    by_topic,
    commit,
    fetch_committed,
    list_offsets,
)
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.topic_partitions import find_topics


def fill(client: Client, topic: str) -> None:
    producer = Producer(client, topic, ProducerConfig(), on_failure=pytest.fail)
    producer.append(None, b"a")
    producer.append(None, b"b")
    producer.flush()


def test_where_a_partition_begins_and_ends(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        fill(client, topic)
        topics = find_topics(client, [topic])
        for timestamp, offset in ((EARLIEST, 0), (LATEST, 2), (0, 0), (2**60, UNKNOWN_OFFSET)):
            found = list_offsets(client, {(topic, 0): timestamp}, topics, read_committed=True)
            assert found == {(topic, 0): offset}
        with pytest.raises(Refused, match=f"partition {topic}-7: UNKNOWN_TOPIC_OR_PARTITION"):
            list_offsets(client, {(topic, 7): LATEST}, topics)


def test_what_is_committed(bootstrap: str, old_bootstrap: str, topic: str) -> None:
    for each in (bootstrap, old_bootstrap):
        with Client(each) as client:
            fill(client, topic)
            connection = client.connection(client.coordinator(topic))
            assert fetch_committed(connection, topic) == {}
            commit(connection, topic, {(topic, 0): 2})
            committed = {(topic, 0): Committed(2, -1)}
            assert fetch_committed(connection, topic) == committed
            assert fetch_committed(connection, topic, [(topic, 0), (topic, 1)]) == committed
            with pytest.raises(Refused, match="UNKNOWN_MEMBER_ID"):
                commit(connection, topic, {(topic, 0): 2}, member_id="nobody", generation=1)


def test_by_topic() -> None:
    assert by_topic([("b", 1), ("a", 2), ("b", 0)]) == {"a": [2], "b": [0, 1]}

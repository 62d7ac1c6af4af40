import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.topic_partitions import find_topics


def test_topics_that_are_there(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        assert find_topics(client, [topic]) == {}
        found = find_topics(client, [topic], create=True) or find_topics(client, [topic])
        assert found[topic].leaders == {0: 1}
        assert (found[topic].partition_count, found[topic].is_internal) == (1, False)
        assert any(found[topic].topic_id)
        assert find_topics(client)[topic] == found[topic]


def test_a_name_that_no_topic_has(bootstrap: str) -> None:
    with Client(bootstrap) as client, pytest.raises(Refused, match="INVALID_TOPIC_EXCEPTION"):
        find_topics(client, ["bad topic!"])

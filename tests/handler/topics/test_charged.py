"""Changes of topics and the quota for them: KIP-599, X-87."""

from typing import Any

import pytest

from broker_lite.wire import messages
from tests.handler.quota_broker import QuotaBroker, Told
from tests.support.handler_broker import HandlerBroker

EXCEEDED = 89


@pytest.fixture
def limited(broker: HandlerBroker) -> QuotaBroker:
    """Eleven tokens, of which one comes back each second."""
    limited = QuotaBroker(broker)
    limited.set("controller_mutation_rate", 1.0)
    return limited


def create(limited: QuotaBroker, version: int, *topics: tuple[str, int], **fields: Any) -> Told:
    topic = messages.CreateTopicsRequest.CreatableTopic
    wanted = [
        topic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
        for name, count in topics
    ]
    return limited.call("CreateTopics", version, topics=wanted, timeout_ms=1000, **fields)


def grow(limited: QuotaBroker, version: int, name: str, count: int) -> Told:
    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic
    wanted = [topic(name=name, count=count, assignments=None)]
    return limited.call("CreatePartitions", version, topics=wanted, timeout_ms=1000)


def delete(limited: QuotaBroker, version: int, name: str) -> Told:
    return limited.call("DeleteTopics", version, topic_names=[name], timeout_ms=1000)


def codes(told: Told) -> dict[str, int]:
    answer = told.answer
    results = getattr(answer, "topics", None) or getattr(answer, "results", None)
    return {each.name: each.error_code for each in results or answer.responses}


def test_x87_topics_are_made_until_tokens_are_owed(limited: QuotaBroker) -> None:
    told = create(limited, 6, ("a", 8), ("b", 6), ("c", 1), ("bad name", 1))
    assert codes(told) == {"a": 0, "b": 0, "c": EXCEEDED, "bad name": 17}
    assert told.throttle_ms == told.muted_ms == 3000
    refused = next(each for each in told.answer.topics if each.name == "c")
    assert refused.error_message is None
    assert set(limited.broker.cluster.topics) == {"a", "b"}
    limited.broker.clock.step(3000)
    assert codes(create(limited, 7, ("c", 1))) == {"c": 0}


def test_x87_old_versions_make_all_and_throttle(limited: QuotaBroker) -> None:
    told = create(limited, 5, ("a", 8), ("b", 6), ("c", 1))
    assert set(codes(told).values()) == {0}
    assert told.throttle_ms == told.muted_ms == 4000


def test_x87_to_validate_counts_as_well(limited: QuotaBroker) -> None:
    assert codes(create(limited, 7, ("a", 12), validate_only=True)) == {"a": 0}
    assert codes(create(limited, 7, ("a", 1))) == {"a": EXCEEDED}


def test_x87_new_partitions_count(limited: QuotaBroker) -> None:
    create(limited, 7, ("a", 2))
    assert codes(grow(limited, 3, "a", 14)) == {"a": 0}
    told = grow(limited, 3, "a", 15)
    assert (codes(told), told.muted_ms) == ({"a": EXCEEDED}, 3000)
    told = grow(limited, 2, "a", 15)
    assert (codes(told), told.muted_ms) == ({"a": 0}, 4000)
    assert limited.broker.cluster.topics["a"].partition_count == 15


def test_x87_deleted_partitions_count(limited: QuotaBroker) -> None:
    create(limited, 7, ("a", 6), ("b", 6))
    told = delete(limited, 5, "a")
    assert (codes(told), told.muted_ms) == ({"a": EXCEEDED}, 1000)
    told = delete(limited, 4, "a")
    assert (codes(told), told.muted_ms) == ({"a": 0}, 7000)
    limited.broker.clock.step(7000)
    assert codes(delete(limited, 5, "b")) == {"b": 0}
    assert codes(delete(limited, 5, "none")) == {"none": 3}


def test_x87_topics_on_demand_are_not_made_while_tokens_are_owed(limited: QuotaBroker) -> None:
    create(limited, 7, ("a", 13))
    entry = messages.MetadataRequest.MetadataRequestTopic
    asked = {"topics": [entry(name="new")], "allow_auto_topic_creation": True}
    told = limited.call("Metadata", 9, **asked)
    assert (told.answer.topics[0].error_code, told.muted_ms) == (3, 0)
    limited.broker.clock.step(2000)
    assert limited.call("Metadata", 9, **asked).answer.topics[0].error_code == 0


def test_x87_without_such_a_quota_nothing_counts(broker: HandlerBroker) -> None:
    limited = QuotaBroker(broker)
    limited.set("producer_byte_rate", 1.0)
    told = create(limited, 7, ("a", 100))
    assert (codes(told), told.muted_ms) == ({"a": 0}, 0)

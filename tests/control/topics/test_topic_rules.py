"""What the differential test does not reach; the rest of the rules is in tests/differential."""

import pytest

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import (
    Defaults,
    NewTopic,
    check_assignment,
    check_growth,
    check_partition_total,
    plan_topic,
)
from broker_lite.errors import InvalidReplicaAssignment, PolicyViolation, UnknownTopicOrPartition

ONE_BROKER = frozenset((1,))
THREE_BROKERS = frozenset((1, 2, 3))


def test_p103_defaults_fill_in_what_is_left_open() -> None:
    defaults = Defaults(7, 2, THREE_BROKERS)
    plan = plan_topic(MetadataImage(), NewTopic("t"), defaults, lambda _: None)
    assert (plan.partition_count, plan.replication_factor, plan.overrides) == (7, 2, {})


def test_p105_configs_are_sorted_and_the_last_of_a_key_counts() -> None:
    new = NewTopic("t", configs=[("b", "1"), ("a", "2"), ("b", "3")])
    plan = plan_topic(MetadataImage(), new, Defaults(1, 1, ONE_BROKER), lambda _: None)
    assert list(plan.overrides.items()) == [("a", "2"), ("b", "3")]


def test_p104_all_replica_lists_have_one_length() -> None:
    check_assignment([3, 1], 2, THREE_BROKERS)
    with pytest.raises(InvalidReplicaAssignment, match=r"a partition with 1 replica\(s\), but"):
        check_assignment([3], 2, THREE_BROKERS)


def test_p104_a_manual_assignment_gives_both_numbers() -> None:
    new = NewTopic("t", assignments=[(0, [1, 2]), (1, [2, 3])])
    plan = plan_topic(MetadataImage(), new, Defaults(1, 1, THREE_BROKERS), lambda _: None)
    assert (plan.partition_count, plan.replication_factor) == (2, 2)


def test_p102_ten_thousand_partitions_a_request() -> None:
    check_partition_total([10_000, -1, 0])
    with pytest.raises(PolicyViolation, match="Excessively large number of partitions"):
        check_partition_total([10_000, 1])


def test_p111_growth() -> None:
    topic = Topic(name="t", topic_id=b"i" * 16, leader_epochs=(0,), overrides={})
    assert check_growth(topic, 2, None, ONE_BROKER) is topic
    assert check_growth(topic, 3, [[1], [1]], ONE_BROKER) is topic
    with pytest.raises(UnknownTopicOrPartition):
        check_growth(None, 2, None, ONE_BROKER)

"""What the differential test does not reach; the rest of the rules is in tests/differential."""

import random
from typing import Any

import pytest

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import Placement
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.placements import check_assignment
from broker_lite.control.topics.topic_rules import (
    Defaults,
    Growth,
    GrowthPlan,
    NewTopic,
    TopicPlan,
    check_partition_total,
    plan_growth,
    plan_topic,
)
from broker_lite.errors import (
    BrokerError,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    PolicyViolation,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from tests.control.registered import broker, image_of_brokers, placement

ONE_BROKER = image_of_brokers(1)
THREE_BROKERS = image_of_brokers(1, 2, 3)


def defaults(partition_count: int = 1, replication_factor: int = 1) -> Defaults:
    return Defaults(partition_count, replication_factor, random.Random(1))


def planned(image: MetadataImage, new: NewTopic, **numbers: int) -> TopicPlan:
    return plan_topic(image, new, defaults(**numbers), lambda _: None)


def grown(image: MetadataImage, count: int, assignments: Any = None, name: str = "t") -> GrowthPlan:
    return plan_growth(image, Growth(name, count, assignments), random.Random(1))


def with_topic(image: MetadataImage, *replicas: int) -> MetadataImage:
    """The image, with a topic "t" of one partition."""
    partitions = (PartitionRegistration(replicas[0], replicas=replicas, isr=replicas),)
    image.topics["t"] = Topic(name="t", topic_id=b"i" * 16, partitions=partitions, overrides={})
    return image


def test_p103_defaults_fill_in_what_is_left_open() -> None:
    plan = planned(THREE_BROKERS, NewTopic("t"), partition_count=7, replication_factor=2)
    assert (plan.partition_count, plan.replication_factor, plan.overrides) == (7, 2, {})


def test_p103_a_replica_is_in_sync_from_the_start_where_its_broker_is_active() -> None:
    image = image_of_brokers(1, broker(2, is_fenced=True), 3)
    for place in planned(image, NewTopic("t", 20, 3)).placements:
        first, second, third = place.replicas
        assert {first, second} == {1, 3}
        assert third == 2
        assert place == placement(*place.replicas, isr=[first, second])


def test_c01_a_broker_that_stops_gets_no_replicas() -> None:
    stopped = broker(4, is_fenced=True, is_stopping=True)
    image = image_of_brokers(1, broker(2, is_stopping=True), 3, stopped)
    for place in planned(image, NewTopic("t", 20, 3)).placements:
        assert sorted(place.replicas[:2]) == [1, 3]
        assert place.replicas[2] == 4
    with pytest.raises(InvalidReplicationFactor, match=r"because only 3 broker\(s\) are"):
        planned(image, NewTopic("t", 1, 4))
    everybody = image_of_brokers(broker(1, is_stopping=True), broker(2, is_stopping=True))
    with pytest.raises(InvalidReplicationFactor, match="All brokers are currently fenced, or"):
        planned(everybody, NewTopic("t", 1, 2))


FENCED = "All brokers are currently fenced, or have all their log directories cordoned."
TOO_FEW = (
    "The target replication factor of 4 cannot be reached because only 3 broker(s) are registered "
    "or some brokers have all their log directories cordoned."
)


def test_c01_a_creation_says_what_it_wanted_growth_does_not() -> None:
    everybody_fenced = image_of_brokers(*(broker(each, is_fenced=True) for each in (1, 2, 3)))
    for image, text in ((everybody_fenced, FENCED), (THREE_BROKERS, TOO_FEW)):
        with pytest.raises(InvalidReplicationFactor) as raised:
            planned(image, NewTopic("t", 1, 4))
        assert raised.value.message == f"Unable to replicate the partition 4 time(s): {text}"
    image = with_topic(everybody_fenced, 1, 2, 3, 4)
    with pytest.raises(InvalidReplicationFactor) as raised:
        grown(image, 2)
    assert raised.value.message == FENCED
    image = with_topic(image_of_brokers(1, 2, 3), 1, 2, 3, 4)
    with pytest.raises(InvalidReplicationFactor) as raised:
        grown(image, 2)
    assert raised.value.message == TOO_FEW


def test_p105_configs_are_sorted_and_the_last_of_a_key_counts() -> None:
    plan = planned(ONE_BROKER, NewTopic("t", configs=[("b", "1"), ("a", "2"), ("b", "3")]))
    assert list(plan.overrides.items()) == [("a", "2"), ("b", "3")]


def test_p104_all_replica_lists_have_one_length() -> None:
    check_assignment([3, 1], 2, THREE_BROKERS.brokers)
    with pytest.raises(InvalidReplicaAssignment, match=r"a partition with 1 replica\(s\), but"):
        check_assignment([3], 2, THREE_BROKERS.brokers)


def test_p104_a_fenced_broker_may_be_assigned_one_that_is_not_registered_may_not() -> None:
    image = image_of_brokers(1, broker(2, is_fenced=True))
    check_assignment([2, 1], None, image.brokers)
    with pytest.raises(InvalidReplicaAssignment) as raised:
        check_assignment([4, 3, 1], None, image.brokers)
    assert raised.value.message == (
        "The manual partition assignment includes broker 3, but no such broker is registered."
    )


def test_p104_a_manual_assignment_gives_both_numbers() -> None:
    new = NewTopic("t", assignments=[(0, [1, 2]), (1, [3, 2])])
    plan = planned(THREE_BROKERS, new)
    assert (plan.partition_count, plan.replication_factor) == (2, 2)
    assert plan.placements == [placement(1, 2), placement(3, 2)]


def test_p104_the_order_of_a_manual_assignment_is_free() -> None:
    new = NewTopic("t", assignments=[(1, [3, 2]), (0, [1, 2])])
    assert planned(THREE_BROKERS, new).placements == [placement(1, 2), placement(3, 2)]


def test_c03_the_first_active_replica_of_an_assignment_leads() -> None:
    image = image_of_brokers(broker(1, is_fenced=True), broker(2, is_stopping=True), 3)
    plan = planned(image, NewTopic("t", assignments=[(0, [1, 2, 3])]))
    assert plan.placements == [placement(1, 2, 3, isr=[3])]


def test_c03_an_assignment_needs_an_active_broker() -> None:
    image = image_of_brokers(broker(1, is_fenced=True), broker(2, is_stopping=True), 3)
    text = (
        "All brokers specified in the manual partition assignment for partition {} are fenced or "
        "in controlled shutdown."
    )
    with pytest.raises(InvalidReplicaAssignment) as raised:
        planned(image, NewTopic("t", assignments=[(0, [3, 1]), (1, [1, 2])]))
    assert raised.value.message == text.format(1)
    with pytest.raises(InvalidReplicaAssignment) as raised:
        grown(with_topic(image, 3, 1), 4, [[3, 2], [3, 1], [2, 1]])
    assert raised.value.message == text.format(3)
    # The first partition that is wrong is told, whatever is wrong with it.
    with pytest.raises(InvalidReplicaAssignment) as raised:
        planned(image, NewTopic("u", assignments=[(0, [1, 2]), (1, [3, 3])]))
    assert raised.value.message == text.format(0)
    with pytest.raises(InvalidReplicaAssignment) as raised:
        grown(with_topic(image, 3, 1), 3, [[2, 1], [3, 9]])
    assert raised.value.message == text.format(1)


def test_p102_ten_thousand_partitions_a_request() -> None:
    check_partition_total([10_000, -1, 0])
    with pytest.raises(PolicyViolation, match="Excessively large number of partitions"):
        check_partition_total([10_000, 1])


def test_p111_growth() -> None:
    image = with_topic(image_of_brokers(1), 1)
    topic = image.topics["t"]
    assert grown(image, 2) == GrowthPlan(topic, [placement(1)])
    assert grown(image, 3, [[1], [1]]) == GrowthPlan(topic, [placement(1)] * 2)


def test_p111_growth_keeps_the_replication_factor() -> None:
    image = with_topic(image_of_brokers(1, 2, 3), 3, 1)
    assert [len(each.replicas) for each in grown(image, 9).placements] == [2] * 8
    assert grown(image, 2, [[2, 3]]).placements == [placement(2, 3)]


@pytest.mark.parametrize(
    ("name", "count", "assignments", "error"),
    [
        ("none", 2, None, UnknownTopicOrPartition),
        ("t", 1, None, InvalidPartitions),
        ("t", 0, None, InvalidPartitions),
        ("t", 3, [[1, 2]], InvalidReplicaAssignment),
        ("t", 2, [[1]], InvalidReplicaAssignment),
        ("t", 2, [[1, 1]], InvalidReplicaAssignment),
        ("t", 2, [[]], InvalidReplicaAssignment),
        ("t", 2, [[1, 4]], InvalidReplicaAssignment),
    ],
)
def test_p111_what_cannot_grow(
    name: str, count: int, assignments: Any, error: type[BrokerError]
) -> None:
    image = with_topic(image_of_brokers(1, 2, 3), 3, 1)
    with pytest.raises(error):
        grown(image, count, assignments, name)


def test_many_partitions_of_one_broker_are_one_value() -> None:
    """A topic may get 10,000 partitions at once."""
    plan = planned(ONE_BROKER, NewTopic("t", 10_000))
    assert plan.placements == [placement(1)] * 10_000
    assert len({id(place) for place in plan.placements}) == 1


def test_the_placement_of_a_broker_without_a_single_directory_is_open() -> None:
    """Source: DirectoryId.UNASSIGNED."""
    image = image_of_brokers(broker(1, directories=[b"a" * 16, b"b" * 16]))
    plan = planned(image, NewTopic("t"))
    assert plan.placements == [Placement((1,), (1,), (bytes(16),))]


def test_p111_billions_of_partitions_are_refused_before_they_are_placed() -> None:
    image = with_topic(image_of_brokers(1), 1)
    for room in (0, 10_000):
        with pytest.raises(UnknownServerError):
            plan_growth(image, Growth("t", 2**31 - 1), random.Random(1), room)

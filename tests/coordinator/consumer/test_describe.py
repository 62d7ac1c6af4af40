"""G-101: ConsumerGroupDescribe."""

from dataclasses import replace

from broker_lite.coordinator.consumer.describe import describe
from broker_lite.coordinator.consumer.member import ClassicMemberData
from tests.coordinator.consumer.consumer_driver import Driver


def test_a_group() -> None:
    """G-101: with topic ids and names, current and target."""
    driver = Driver(t=2)
    driver.join("m1", rack_id="r", subscribed_topic_regex="t", server_assignor="range")
    driver.join("m2", instance_id="i")
    group = describe(driver.group)
    assert (group.error_code, group.group_id, group.group_state) == (0, "group", "Reconciling")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (3, 3, "range")
    first, second = group.members
    assert (first.member_id, first.instance_id, first.rack_id) == ("m1", None, "r")
    assert (first.member_epoch, first.client_id, first.client_host) == (2, "client", "/127.0.0.1")
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == (["t"], "t")
    (assigned,) = first.assignment.topic_partitions
    assert assigned.topic_id == driver.topics.id("t")
    assert (assigned.topic_name, assigned.partitions) == ("t", [0, 1])
    assert len(first.target_assignment.topic_partitions[0].partitions) == 1
    assert (second.instance_id, second.member_type) == ("i", 1)
    assert second.subscribed_topic_regex == ""
    assert second.assignment.topic_partitions == []


def test_what_has_to_be_given_back_is_still_held() -> None:
    """G-101, measured: until a member has reported less, it is shown with all that it had."""
    driver = Driver(t=2)
    driver.join("m1")
    driver.join("m2")
    driver.beat("m1")
    first, second = describe(driver.group).members
    assert first.assignment.topic_partitions[0].partitions == [0, 1]
    assert second.assignment.topic_partitions == []


def test_g96_among_equals_it_is_uniform() -> None:
    """G-96, measured: whoever came first."""
    driver = Driver(t=2)
    driver.join("m1", server_assignor="range")
    assert describe(driver.group).assignor_name == "range"
    driver.join("m2", server_assignor="uniform")
    assert describe(driver.group).assignor_name == "uniform"


def test_what_is_not_there_any_more() -> None:
    """G-101: a deleted topic is left out, the default assignor stands for none."""
    driver = Driver(t=2)
    driver.join("m1")
    driver.topics.delete("t")
    group = describe(driver.group)
    assert group.assignor_name == "uniform"
    assert group.members[0].assignment.topic_partitions == []
    assert group.members[0].target_assignment.topic_partitions == []


def test_classic_members_are_marked() -> None:
    """G-101: member_type 0."""
    driver = Driver(t=2)
    driver.join("m1")
    classic = ClassicMemberData(session_timeout_ms=1, protocols=())
    driver.group.roster.put(replace(driver.group.roster.members["m1"], classic=classic))
    assert describe(driver.group).members[0].member_type == 0

"""Heartbeats of consumer groups, request by request, as measured on Kafka 4.3.1.

Also tests: broker_lite.coordinator.assignors.by_name, broker_lite.coordinator.consumer.changes,
broker_lite.coordinator.consumer.target.
"""

from dataclasses import replace
from typing import Any

import pytest

from broker_lite.coordinator.consumer.member import ClassicMemberData, MemberState
from broker_lite.coordinator.group_settings import GroupSettings
from tests.coordinator.consumer.consumer_driver import Driver, Request, state_of


def owned(driver: Driver, *partitions: int, name: str = "t") -> list[Any]:
    return [Request.TopicPartitions(topic_id=driver.topics.id(name), partitions=list(partitions))]


def names_of(records: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in records]


def test_a_partition_moves_in_three_steps() -> None:
    """G-95, G-92, G-93, G-94: the second member gets it only after the first one gave it up."""
    driver = Driver(t=6)
    range_ = {"server_assignor": "range"}
    first = driver.join("m1", **range_)
    assert (first.member_epoch, driver.partitions("m1")) == (2, [0, 1, 2, 3, 4, 5])
    assert driver.join("m2", **range_).member_epoch == 3
    assert driver.owned["m2"] == {}
    revoke = driver.beat("m1", topic_partitions=owned(driver, 0, 1, 2, 3, 4, 5))
    assert (revoke.member_epoch, driver.partitions("m1")) == (2, [0, 1, 2])
    assert driver.group.state.value == "Reconciling"
    assert driver.beat("m2").assignment is None
    assert driver.beat("m1").member_epoch == 3
    assert driver.beat("m2").member_epoch == 3
    assert driver.partitions("m2") == [3, 4, 5]
    assert driver.group.state.value == "Stable"


def test_records_of_a_join_are_kafkas() -> None:
    """G-84, G-85, G-88: member, group epoch, targets, target epoch, current assignment."""
    driver = Driver(t=2)
    driver.join("m1", client_id="raw")
    assert names_of(driver.last_records()) == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]
    member, group, target, target_epoch, current = (value for _, value in driver.last_records())
    assert (member.client_id, member.client_host) == ("raw", "/127.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t"], "")
    assert (group.epoch, group.metadata_hash != 0) == (2, True)
    assert target.topic_partitions[0].partitions == [0, 1]
    assert (target_epoch.assignment_epoch, target_epoch.assignment_timestamp) == (2, driver.now_ms)
    assert (current.member_epoch, current.previous_member_epoch, current.state) == (2, 0, 0)
    assert current.assigned_partitions[0].assignment_epochs == [2, 2]


@pytest.mark.parametrize(
    ("names", "epoch"),
    [
        pytest.param((), 1, id="G-88 nothing"),
        pytest.param(("nope",), 2, id="G-88 G-90 a topic that is missing"),
    ],
)
def test_first_epoch(names: tuple[str, ...], epoch: int) -> None:
    driver = Driver(t=2)
    response = driver.join("m1", names)
    assert response.member_epoch == epoch
    assert response.assignment.topic_partitions == []
    assert driver.group.state.value == "Stable"


def test_a_topic_is_found_when_it_appears() -> None:
    """G-90, G-84: and gone when it is deleted, and larger when it grows."""
    driver = Driver()
    driver.join("m1", ["t"])
    driver.topics.make("t", 2)
    driver.group.topics_changed(["other"])
    assert driver.beat("m1").assignment is None
    driver.group.topics_changed(["t"])
    assert driver.beat("m1").member_epoch == 3
    assert driver.partitions("m1") == [0, 1]
    driver.topics.grow("t", 3)
    driver.group.topics_changed(["t"])
    driver.beat("m1")
    assert driver.partitions("m1") == [0, 1, 2]
    old_id = driver.topics.id("t")
    driver.topics.make("t", 1)
    driver.group.topics_changed(["t"])
    driver.beat("m1")
    driver.settle()
    assert old_id not in driver.owned["m1"]
    assert driver.partitions("m1") == [0]


def test_the_assignment_is_told_only_when_it_matters() -> None:
    """G-87."""
    driver = Driver(t=2)
    driver.join("m1")
    epoch = driver.epochs["m1"]
    assert driver.beat("m1").assignment is None
    assert driver.send(member_id="m1", member_epoch=epoch).assignment is None
    full = driver.beat("m1", rebalance_timeout_ms=5, subscribed_topic_names=["t"])
    assert full.assignment.topic_partitions[0].partitions == [0, 1]
    by_regex = driver.beat("m1", rebalance_timeout_ms=5, subscribed_topic_regex="")
    assert by_regex.assignment is not None
    assert driver.join("m1").assignment.topic_partitions[0].partitions == [0, 1]


@pytest.mark.parametrize(
    ("epoch", "partitions", "code"),
    [
        pytest.param(99, [], 110, id="G-82 ahead"),
        pytest.param(1, [], 110, id="G-82 far behind"),
        pytest.param(2, None, 110, id="G-82 previous, nothing said"),
        pytest.param(2, [9], 110, id="G-82 previous, owns more"),
        pytest.param(2, [0], 0, id="G-82 previous, a lost response"),
        pytest.param(3, None, 0, id="G-82 current"),
    ],
)
def test_epochs(epoch: int, partitions: list[int] | None, code: int) -> None:
    driver = Driver(t=2, u=1)
    driver.join("m1")
    driver.beat("m1", subscribed_topic_names=["t", "u"])
    assert driver.epochs["m1"] == 3
    said = None if partitions is None else owned(driver, *partitions)
    before = state_of(driver.group)
    response = driver.send(member_id="m1", member_epoch=epoch, topic_partitions=said)
    assert response.error_code == code
    if code:
        assert "must abandon all its partitions and rejoin" in response.error_message
        assert state_of(driver.group) == before
    else:
        assert response.member_epoch == 3


def test_unknown_topics_in_a_late_heartbeat() -> None:
    """G-82: a topic that is not assigned at all."""
    driver = Driver(t=1, u=1)
    driver.join("m1")
    driver.beat("m1", subscribed_topic_names=["t", "u"])
    driver.beat("m1", subscribed_topic_names=["t"])
    response = driver.send(
        member_id="m1",
        member_epoch=driver.group.roster.members["m1"].previous_member_epoch - 1,
        topic_partitions=owned(driver, 0, name="u"),
    )
    assert response.error_code == 110


def test_an_unknown_member_has_to_join() -> None:
    """G-82, G-79."""
    driver = Driver(t=1)
    driver.join("m1")
    assert driver.send(member_id="m2", member_epoch=2).error_code == 25
    assert driver.leave("m2").error_code == 25
    assert driver.leave("m2", -2, instance_id="i").error_code == 25


def test_leaving() -> None:
    """G-79: the tombstones in Kafka's order, then the group's next epoch."""
    driver = Driver(t=2)
    driver.join("m1")
    driver.join("m2")
    response = driver.leave("m2")
    assert (response.member_id, response.member_epoch) == ("m2", -1)
    assert (response.heartbeat_interval_ms, response.assignment) == (0, None)
    assert names_of(driver.last_records()) == [
        "CurrentMemberAssignment",
        "TargetAssignmentMember",
        "MemberMetadata",
        "Metadata",
    ]
    assert [value is None for _, value in driver.last_records()] == [True, True, True, False]
    assert driver.group.group_epoch == 4
    assert driver.group.state.value == "Assigning"
    driver.leave("m1")
    assert driver.group.state.value == "Empty"
    assert driver.group.metadata_hash == 0


def test_g_84_racks_count_like_partitions() -> None:
    driver = Driver(t=2)
    driver.join("m1", ["t"])
    epoch = driver.group.group_epoch
    driver.topics.racks_by_topic["t"] = ["a,b", "a,b"]
    driver.group.topics_changed(["t"])
    driver.beat("m1")
    assert driver.group.group_epoch == epoch + 1
    driver.group.topics_changed(["t"])
    driver.beat("m1")
    assert driver.group.group_epoch == epoch + 1


def test_a_full_group() -> None:
    """G-81: members stay welcome."""
    driver = Driver(GroupSettings(consumer_size_max=1), t=2)
    driver.join("m1")
    response = driver.join("m2")
    assert response.error_code == 81
    assert response.error_message.endswith("has reached its maximum capacity of 1 members.")
    assert driver.join("m1").error_code == 0
    assert driver.beat("m1").error_code == 0


def test_a_static_member_comes_back_under_another_id() -> None:
    """G-79, G-83: it keeps what it had, and nobody else moves."""
    driver = Driver(t=2)
    driver.join("s1", instance_id="i1")
    away = driver.leave("s1", -2, instance_id="i1")
    assert (away.error_code, away.member_epoch) == (0, -2)
    ((name, current),) = driver.last_records()
    assert (name, current.member_epoch) == ("CurrentMemberAssignment", -2)
    assert current.assigned_partitions[0].assignment_epochs == [0, 0]
    assert driver.send(member_id="s1", member_epoch=2, instance_id="i1").error_code == 110
    back = driver.join("s2", instance_id="i1")
    assert (back.member_epoch, driver.partitions("s2")) == (2, [0, 1])
    assert names_of(driver.last_records()) == [
        *["CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata"],
        *["MemberMetadata", "TargetAssignmentMember", "CurrentMemberAssignment"],
        "CurrentMemberAssignment",
    ]
    assert driver.group.group_epoch == 2
    assert driver.group.roster.static_members == {"i1": "s2"}
    assert {key[2] for key in driver.timers} == {"s2"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({"member_id": "s2", "member_epoch": 0}, 111, id="G-83 in use"),
        pytest.param({"member_id": "s1", "member_epoch": 0}, 111, id="G-83 in use by itself"),
        pytest.param({"member_id": "s2", "member_epoch": 2}, 82, id="G-83 another's"),
        pytest.param({"member_id": "s2", "member_epoch": -1}, 82, id="G-79 another's leave"),
        pytest.param({"member_id": "s2", "member_epoch": -2}, 82, id="G-79 another's pause"),
        pytest.param(
            {"member_id": "s1", "member_epoch": 2, "instance_id": "i2"}, 25, id="G-83 unknown"
        ),
    ],
)
def test_static_members(fields: dict[str, Any], code: int) -> None:
    driver = Driver(t=2)
    driver.join("s1", instance_id="i1")
    request = {
        "instance_id": "i1",
        "rebalance_timeout_ms": 1,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }
    assert driver.send(**{**request, **fields}).error_code == code


def test_a_member_may_change_its_instance_id() -> None:
    """G-83: the old one is free then; Kafka 4.3.1 would never give it back."""
    driver = Driver(t=2)
    driver.join("s1", instance_id="i1")
    driver.join("s1", instance_id="i2")
    assert driver.group.roster.static_members == {"i2": "s1"}
    assert driver.join("s2", instance_id="i1").error_code == 0


def test_null_leaves_fields_as_they_are() -> None:
    """G-84."""
    driver = Driver(t=2)
    driver.join("m1", rack_id="r1", server_assignor="range", subscribed_topic_regex="x.*")
    driver.beat("m1")
    assert driver.last_records() == []
    member = driver.group.roster.members["m1"]
    assert (member.rack_id, member.server_assignor, member.regex) == ("r1", "range", "x.*")
    driver.beat("m1", rack_id="r2", rebalance_timeout_ms=7)
    assert names_of(driver.last_records()) == ["MemberMetadata"]
    assert driver.group.roster.members["m1"].rack_id == "r2"
    assert driver.group.group_epoch == 2


def test_a_topic_is_given_up_at_once_when_nobody_subscribes() -> None:
    """G-92, G-93: a member is never told of a topic that it has just left."""
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=10_000), t=2, u=2)
    driver.join("m1", ["t", "u"])
    response = driver.beat("m1", subscribed_topic_names=["u"])
    assert response.member_epoch == 2
    assert driver.partitions("m1", "t") == []
    assert driver.partitions("m1", "u") == [0, 1]
    member = driver.group.roster.members["m1"]
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    driver.beat("m1", subscribed_topic_names=[], topic_partitions=None)
    assert driver.owned["m1"] == {}


def test_the_assignment_interval() -> None:
    """G-13, G-85: members wait with their old target, new ones with an empty one."""
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=1_000), t=4)
    driver.join("m1")
    assert driver.partitions("m1") == [0, 1, 2, 3]
    response = driver.join("m2")
    assert (response.member_epoch, driver.owned["m2"]) == (2, {})
    assert driver.group.state.value == "Assigning"
    driver.advance(999)
    assert driver.beat("m1").assignment is None
    driver.advance(1)
    driver.settle()
    assert sorted(driver.partitions("m1") + driver.partitions("m2")) == [0, 1, 2, 3]
    assert len(driver.partitions("m2")) == 2


def test_the_assignor_that_most_members_want() -> None:
    """G-96."""
    driver = Driver(t=4)
    assert driver.group.roster.preferred_assignor() is None
    driver.join("m1", server_assignor="range")
    driver.join("m2", server_assignor="uniform")
    driver.join("m3", server_assignor="uniform")
    assert driver.group.roster.preferred_assignor() == "uniform"
    driver.leave("m3")
    driver.leave("m2")
    assert driver.group.roster.preferred_assignor() == "range"


def test_an_assignor_that_only_a_setting_knows() -> None:
    """G-10: Kafka loads classes there; such a group is assigned as if it were `uniform`."""
    driver = Driver(GroupSettings(consumer_assignors=("org.example.Own",)), t=2)
    driver.join("m1")
    assert driver.partitions("m1") == [0, 1]


def test_a_classic_member_becomes_a_consumer_member() -> None:
    """G-108, G-83: its place is taken without asking, and its classic data goes."""
    driver = Driver(t=2)
    driver.join("s1", instance_id="i1")
    classic = ClassicMemberData(session_timeout_ms=10_000, protocols=(("range", b"m"),))
    driver.group.roster.put(replace(driver.group.roster.members["s1"], classic=classic))
    assert driver.group.roster.classic_count == 1
    driver.join("s2", instance_id="i1")
    assert driver.group.roster.classic_count == 0
    assert driver.group.roster.members["s2"].classic is None


def test_a_member_in_a_state_of_the_future_has_to_rejoin() -> None:
    """G-92: unless it says that it owns nothing."""
    driver = Driver(t=2)
    driver.join("m1")
    strange = replace(driver.group.roster.members["m1"], state=MemberState.UNKNOWN)
    driver.group.roster.put(strange)
    assert driver.beat("m1", topic_partitions=None).error_code == 110
    assert driver.beat("m1").error_code == 110
    assert driver.beat("m1", topic_partitions=[]).error_code == 0
    assert driver.group.roster.members["m1"].state is MemberState.STABLE


def test_500_members_over_1000_partitions() -> None:
    """G-98, G-85: all of them join one by one, then settle within two heartbeats each."""
    driver = Driver(t=1_000)
    for index in range(500):
        driver.join(f"m{index}")
    assert driver.settle() <= 3
    assert {len(driver.partitions(f"m{index}")) for index in range(500)} == {2}
    records = sum(map(len, driver.log))
    assert records < 20 * 500  # what changes is written, not all there is

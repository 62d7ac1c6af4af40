"""Heartbeats of streams groups, request by request, as measured on Kafka 4.3.1.

Also tests: broker_lite.coordinator.streams.group, broker_lite.coordinator.streams.member,
broker_lite.coordinator.streams.plan, broker_lite.coordinator.streams.target,
broker_lite.coordinator.streams.tasks.
"""

from typing import Any

import pytest

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.streams import changes
from broker_lite.coordinator.streams.group import StreamsGroupState
from broker_lite.coordinator.timers import INITIAL_DELAY
from broker_lite.errors import ErrorCode
from tests.coordinator.streams.streams_driver import (
    Driver,
    Request,
    statuses,
    subtopology,
    topology,
    types,
)

STATEFUL = topology(subtopology("0", "t", changelogs=["c"]))


# -- joining


def test_the_first_member_gets_all_tasks_with_epoch_2() -> None:
    """U-04, U-07: in Kafka's order of records."""
    driver = Driver(t=2)
    answer = driver.join("a")
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 2, 5000)
    assert driver.has("a") == {"0": [0, 1]}
    assert [each.partitions for each in answer.active_tasks] == [[0, 1]]
    assert (answer.standby_tasks, answer.warmup_tasks, answer.status) == ([], [], [])
    assert types(driver.effects) == [19, 23, 17, 21, 20, 22]
    assert driver.group.state is StreamsGroupState.STABLE


def test_a_second_member_gets_its_share_when_the_first_has_given_it_back() -> None:
    """U-17, U-18."""
    driver = Driver(t=2)
    driver.join("a")
    answer = driver.join("b")
    assert (answer.member_epoch, answer.active_tasks) == (3, [])
    assert driver.group.state is StreamsGroupState.RECONCILING
    revoking = driver.follow("a")
    assert (revoking.member_epoch, driver.has("a")) == (2, {"0": [0]})
    assert (driver.follow("b").active_tasks, driver.has("b")) == (None, {})
    assert driver.follow("a").member_epoch == 3
    driver.follow("b")
    assert driver.has("b") == {"0": [1]}
    assert driver.group.state is StreamsGroupState.STABLE


def test_a_heartbeat_without_news_writes_nothing() -> None:
    driver = Driver(t=1)
    driver.join("a")
    answer = driver.follow("a")
    assert (answer.active_tasks, driver.effects.records) == (None, [])


def test_a_member_that_joins_again_keeps_its_tasks() -> None:
    """U-08."""
    driver = Driver(t=2)
    driver.join("a")
    answer = driver.join("a")
    assert (answer.member_epoch, types(driver.effects)) == (2, [])
    assert [each.partitions for each in answer.active_tasks] == [[0, 1]]


def test_new_data_of_a_member_begins_an_epoch() -> None:
    """U-07."""
    driver = Driver(t=1)
    driver.join("a")
    tag, endpoint = Request.KeyValue(key="k", value="v"), Request.Endpoint(host="h", port=1)
    driver.join("a", rack_id="r", client_tags=[tag], user_endpoint=endpoint)
    member = driver.group.roster.members["a"]
    assert (member.rack_id, member.client_tags, member.user_endpoint) == (
        "r",
        (("k", "v"),),
        ("h", 1),
    )
    assert types(driver.effects) == [19, 17, 20, 22]


def test_a_full_group_takes_nobody_who_joins() -> None:
    """U-08: not even one of its members."""
    driver = Driver(GroupSettings(streams_size_max=1), t=1)
    driver.join("a")
    for member in "ab":
        answer = driver.join(member)
        text = "The streams group has reached its maximum capacity of 1 members."
        assert (answer.error_code, answer.error_message) == (ErrorCode.GROUP_MAX_SIZE_REACHED, text)


def test_the_memory_of_members_and_topologies_is_bounded() -> None:
    driver = Driver(GroupSettings(held_bytes_max=2000), t=1)
    many = topology(subtopology("0", "t", changelogs=[f"c{each}" for each in range(20)]))
    assert driver.join("a", many).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.join("a").error_code == ErrorCode.NONE


# -- epochs


@pytest.mark.parametrize(("epoch", "word"), [(9, "greater"), (1, "smaller")])
def test_another_epoch_is_fenced(epoch: int, word: str) -> None:
    """U-08."""
    driver = Driver(t=1)
    driver.join("a")
    answer = driver.beat("a", epoch)
    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert f"a {word} member epoch ({epoch}) than the one known" in answer.error_message
    assert driver.effects.records == []


def test_the_epoch_before_is_accepted_with_what_the_member_may_have() -> None:
    """U-08: its last answer was lost."""
    driver = Driver(t=2)
    driver.join("a")
    driver.topics_grow(t=3)
    driver.follow("a")
    nothing: dict[str, Any] = {"standby_tasks": [], "warmup_tasks": []}
    two, four = ([Request.TaskIds(subtopology_id="0", partitions=each)] for each in ([0, 1], [4]))
    assert driver.beat("a", 2, active_tasks=two, **nothing).error_code == ErrorCode.NONE
    for tasks in (four, [Request.TaskIds(subtopology_id="9", partitions=[])]):
        answer = driver.beat("a", 2, active_tasks=tasks, **nothing)
        assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert driver.beat("a", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_that_nobody_knows() -> None:
    """U-08, U-09."""
    driver = Driver(t=1)
    driver.join("a")
    for epoch in (1, -1):
        answer = driver.beat("b", epoch)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert answer.error_message == "Member b is not a member of group g."


# -- topologies


def test_a_topology_stays_and_cannot_change() -> None:
    """U-10."""
    driver = Driver(t=1, u=1)
    driver.join("a")
    for epoch in (0, 1):
        answer = driver.join("b", topology(subtopology("0", "u"), epoch=epoch))
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_message == "Topology updates are not supported yet."
    driver.beat("a", -1)
    assert driver.join("b", topology(subtopology("0", "u"))).error_code == ErrorCode.INVALID_REQUEST


def test_a_member_with_an_older_topology_is_told_so() -> None:
    """U-10."""
    driver = Driver(t=2)
    driver.join("a", topology(subtopology("0", "t"), epoch=5))
    answer = driver.join("b", topology(subtopology("9", "none"), epoch=3))
    detail = "The member's topology epoch 3 is behind the group's topology epoch 5."
    assert statuses(answer) == [(0, detail)]
    driver.settle("a", "b")
    assert driver.has("b") == {"0": [1]}


@pytest.mark.parametrize(
    "told", [topology(epoch=-1), topology(subtopology("0", "t"), subtopology("0", "t"))]
)
def test_a_topology_at_which_kafka_fails(told: Any) -> None:
    """U-07."""
    driver = Driver(t=1)
    answer = driver.join("a", told)
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert driver.effects.records == []


def test_a_tag_that_comes_twice() -> None:
    """U-07."""
    tags = [Request.KeyValue(key="k", value="1"), Request.KeyValue(key="k", value="2")]
    answer = Driver(t=1).join("a", client_tags=tags)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_missing_topics_are_found_when_they_come() -> None:
    """U-05, U-12."""
    driver = Driver(t=2)
    answer = driver.join("a", STATEFUL)
    assert statuses(answer) == [(3, "Internal topics are missing: c")]
    assert [each.name for each in driver.group.missing] == ["c"]
    assert (driver.group.state, driver.group.validated_epoch) == (StreamsGroupState.NOT_READY, -1)
    driver.topics_grow(c=2)
    answer = driver.follow("a")
    assert (statuses(answer), driver.has("a")) == ([], {"0": [0, 1]})
    assert driver.group.state is StreamsGroupState.STABLE


def test_source_topics_that_are_deleted_take_the_tasks_away() -> None:
    """U-12, U-15."""
    driver = Driver(t=2)
    driver.join("a")
    driver.topics.delete("t")
    driver.group.topics_changed(["t"])
    answer = driver.follow("a")
    assert statuses(answer) == [(1, "Source topics t are missing.")]
    assert (driver.has("a"), driver.group.targets["a"].active) == ({}, {})


def test_other_topics_do_not_matter() -> None:
    driver = Driver(t=1)
    driver.join("a")
    driver.follow("a")
    driver.topics_grow(u=1)
    assert not driver.group.is_metadata_stale


def test_tasks_that_are_none() -> None:
    """U-14."""
    driver = Driver(t=2)
    driver.join("a")
    for key, index, text in (
        ("9", 0, "Subtopology 9 does not exist in the topology."),
        ("0", 2, "Task 2 for subtopology 0 is invalid. Number of tasks for this subtopology: 2"),
    ):
        tasks = [Request.TaskIds(subtopology_id=key, partitions=[index])]
        answer = driver.beat("a", 2, active_tasks=tasks, standby_tasks=[], warmup_tasks=[])
        assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, text)


def test_a_loaded_group_without_a_topology() -> None:
    """U-07: Kafka fails, too; a compacted log can look like that."""
    driver = Driver(t=1)
    driver.join("a")
    driver.group = driver.loaded()
    changes.hold_topology(driver.group, None)
    assert driver.beat("a", 2).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


# -- settings of the assignment


def test_standby_tasks_follow_the_setting() -> None:
    """U-07, U-16: a change is seen with the next heartbeat."""
    driver = Driver(t=2, c=2)
    driver.join("a", STATEFUL)
    driver.join("b", STATEFUL)
    driver.settle("a", "b")
    driver.group.settings = GroupSettings(streams_standby_count=1)
    driver.settle("a", "b")
    assert (driver.has("a"), driver.keeps("a")) == ({"0": [0]}, {"0": [1]})
    assert (driver.has("b"), driver.keeps("b")) == ({"0": [1]}, {"0": [0]})
    assert driver.group.last_configs == (("num.standby.replicas", "1"),)


def test_an_empty_group_may_wait_for_more_members() -> None:
    """U-15: until then nobody has tasks; the timer computes the target."""
    driver = Driver(GroupSettings(streams_initial_rebalance_delay_ms=3000), t=2)
    told = [(5, "Assignment delayed due to the configured initial rebalance delay.")]
    answer = driver.join("a")
    assert (answer.member_epoch, answer.active_tasks, statuses(answer)) == (1, [], told)
    assert statuses(driver.follow("a")) == told
    assert statuses(driver.join("b")) == told
    driver.now_ms += 3000
    assert driver.run_timers() == [INITIAL_DELAY]
    assert driver.group.target_epoch == driver.group.group_epoch
    driver.settle("a", "b")
    assert (driver.has("a"), driver.has("b")) == ({"0": [0]}, {"0": [1]})


def test_the_delay_ends_without_members() -> None:
    driver = Driver(GroupSettings(streams_initial_rebalance_delay_ms=3000), t=2)
    driver.join("a")
    driver.beat("a", -1)
    driver.now_ms += 3000
    assert (driver.run_timers(), driver.effects.records) == ([INITIAL_DELAY], [])


def test_assignments_may_have_an_interval() -> None:
    """U-15."""
    driver = Driver(GroupSettings(streams_assignment_interval_ms=1000), t=2)
    driver.join("a")
    answer = driver.join("b")
    assert statuses(answer) == [
        (5, "Assignment delayed due to the configured assignment interval.")
    ]
    assert driver.group.state is StreamsGroupState.ASSIGNING
    driver.now_ms += 1000
    assert driver.follow("b").member_epoch == 3


@pytest.mark.parametrize("role", ["active_tasks", "standby_tasks"])
def test_a_subtopology_that_is_reported_twice(role: str) -> None:
    """U-07: Kafka fails; the member stays as it was."""
    driver = Driver(t=2)
    driver.join("a")
    before = driver.group.roster.members["a"]
    some = [Request.TaskIds(subtopology_id="0", partitions=[each]) for each in (0, 1)]
    owned: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    answer = driver.beat("a", 2, **{**owned, role: some})
    assert (answer.error_code, answer.error_message) == (-1, None)
    assert driver.group.roster.members["a"] is before
    assert driver.effects.records == []

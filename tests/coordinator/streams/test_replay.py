"""Streams groups that are loaded from their records.

Also tests: broker_lite.coordinator.streams.changes, broker_lite.coordinator.streams.records.
"""

from typing import Any

from broker_lite.coordinator.group_records import STREAMS, encode_value, group_of
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.streams import changes, records
from broker_lite.coordinator.streams.group import StreamsGroup, StreamsGroupState
from broker_lite.coordinator.streams.member import StreamsMemberState
from broker_lite.coordinator.timers import REBALANCE, SESSION
from broker_lite.wire import messages
from tests.coordinator.streams.streams_driver import (
    PLAIN,
    Driver,
    Request,
    subtopology,
    topology,
    types,
)


def state_of(group: StreamsGroup) -> tuple[Any, ...]:
    return (
        group.roster.members,
        group.group_epoch,
        group.metadata_hash,
        group.validated_epoch,
        group.last_configs,
        group.target_epoch,
        group.target_timestamp_ms,
        group.targets,
        group.topology,
        group.roster.held.count,
    )


def test_a_loaded_group_goes_on_where_it_was() -> None:
    driver = Driver(t=3, c=3)
    driver.group.settings = GroupSettings(streams_standby_count=1)
    told = topology(
        subtopology("0", "t", changelogs=["c"], groups=[([0], [])]),
        subtopology("1", "t", sinks=["r"], repartitions=[("r", 3)]),
    )
    driver.topics.make("r", 3)
    driver.join("a", told, user_endpoint=Request.Endpoint(host="h", port=1), rack_id="r")
    driver.join("b", told, client_tags=[Request.KeyValue(key="k", value="v")])
    driver.follow("a")
    loaded = driver.loaded()
    assert state_of(loaded) == state_of(driver.group)
    loaded.loaded(driver.now_ms)
    assert loaded.timers.is_set(SESSION, "b")
    assert loaded.timers.is_set(REBALANCE, "a")
    loaded.unload()
    assert len(loaded.timers.all_groups) == 0


def test_a_group_that_is_deleted_leaves_nothing() -> None:
    """U-22."""
    driver = Driver(t=1)
    driver.join("a")
    driver.beat("a", -1)
    changes.drop_group(driver.group, driver.effects)
    assert types(driver.effects)[-3:] == [20, 17, 23]
    assert driver.group.state is StreamsGroupState.DEAD
    driver.log += driver.effects.records[-3:]
    assert driver.loaded().is_deleted


def test_records_of_members_that_were_compacted_away() -> None:
    """A current assignment without a member, tombstones of what is not there, a later state."""
    driver = Driver(t=1)
    driver.join("a")
    member = driver.group.roster.members["a"]
    value = bytearray(records.current_value(member))
    value[2 + 8] = 9  # the version and two epochs come before the state
    for key in (STREAMS.member_key, STREAMS.target_key, STREAMS.current_key):
        driver.log.append((key("g", "b"), None))
    driver.log.append((STREAMS.current_key("g", "c"), bytes(value)))
    loaded = driver.loaded()
    assert loaded.roster.members["c"].state is StreamsMemberState.UNKNOWN
    driver.log.append((STREAMS.current_key("g", "a"), None))
    assert driver.loaded().roster.members["a"].member_epoch == 0


def test_tasks_without_epochs_have_that_of_the_member() -> None:
    """As a Kafka before 4.2 has written them."""
    message = messages.StreamsGroupCurrentMemberAssignmentValue
    tasks = [message.TaskIds(subtopology_id="0", partitions=[1, 2])]
    value = message(member_epoch=7, active_tasks=tasks)
    member = records.current_of("m", encode_value(message, value))
    assert member.assigned.active == {"0": {1: 7, 2: 7}}


def test_records_name_their_group() -> None:
    assert group_of(STREAMS.member_key("g", "m")) == "g"
    assert PLAIN.epoch == 0

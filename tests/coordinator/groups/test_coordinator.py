"""The group coordinator as a whole: what is in memory is what its log says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.errors import ErrorCode
from tests.coordinator.groups.groups_driver import PARTITIONS, Driver, id_of

GROUPS = ("g", "h", "c")
RETENTION_MS = 10_000

GROUP = st.sampled_from(GROUPS)
PARTITION = st.tuples(st.sampled_from("tu"), st.integers(0, 1))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), GROUP, PARTITION, st.sampled_from([-1, -1, 0, 3_000])),
        st.tuples(st.just("pend"), GROUP, PARTITION, st.integers(1, 2)),
        st.tuples(st.just("end"), st.integers(1, 2), st.booleans()),
        st.tuples(st.just("delete"), GROUP, PARTITION),
        st.tuples(st.just("delete group"), GROUP),
        st.tuples(st.just("delete topic"), st.sampled_from("tu")),
        st.tuples(st.just("expire"), st.integers(0, 6_000)),
        st.tuples(st.just("join"), GROUP),
        st.tuples(st.just("consume"), GROUP),
    ),
    max_size=25,
)


def apply(driver: Driver, step: tuple[Any, ...], number: int) -> None:
    match step:
        case ("commit", group_id, (topic, index), retention_ms):
            driver.commit(
                number,
                group_id=group_id,
                topics=[(topic, (index,))],
                retention_ms=retention_ms,
                version=9 if retention_ms == -1 else 4,
            )
        case ("pend", group_id, (topic, index), producer_id):
            topics = [(topic, (index,))]
            driver.commit_in_transaction(number, producer_id, group_id=group_id, topics=topics)
        case ("end", producer_id, committed):
            for group_id in {driver.partition_of(one): one for one in GROUPS}.values():
                driver.end(producer_id, committed=committed, group_id=group_id)
        case ("join" | "consume", group_id):
            come_and_go(driver, group_id, is_classic=step[0] == "join")
        case _:
            remove(driver, step)


def remove(driver: Driver, step: tuple[Any, ...]) -> None:
    match step:
        case ("delete", group_id, (topic, index)):
            driver.delete_offsets((topic, (index,)), group_id=group_id)
        case ("delete group", group_id):
            driver.delete_groups(group_id)
        case ("delete topic", topic):
            driver.take_all(driver.coordinator.removals.delete_topics([topic]))
        case ("expire", elapsed_ms):
            driver.expire(elapsed_ms)


def come_and_go(driver: Driver, group_id: str, *, is_classic: bool) -> None:
    if is_classic:
        joined = driver.join(group_id=group_id)
        if joined is not None and joined.error_code == 0:
            driver.leave(joined.member_id, group_id=group_id)
    elif driver.consumer_heartbeat(group_id=group_id).error_code == 0:
        driver.consumer_heartbeat("m", -1, group_id=group_id)


def with_offsets(driver: Driver, listed: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Listed groups; one that only ever had offsets leaves with the last of them in the log."""
    return {one for one in listed if one[1] or driver.fetch(group_id=one[0])}


@settings(max_examples=120, deadline=None)
@given(STEPS, st.data())
def test_memory_is_the_log_wherever_it_is_cut_g66_t53(steps: list[Any], data: Any) -> None:
    driver = Driver(offsets_retention_ms=RETENTION_MS)
    views = {0: (driver.offsets(*GROUPS), driver.list())}
    for number, step in enumerate(steps, 1):
        apply(driver, step, number)
        views[len(driver.log)] = (driver.offsets(*GROUPS), with_offsets(driver, driver.list()))
    cut = data.draw(st.sampled_from(sorted(views)))
    del driver.log[cut:]
    driver.restart()
    offsets, listed = views[cut]
    assert driver.offsets(*GROUPS) == offsets
    assert with_offsets(driver, driver.list()) == listed
    assert len(driver.log) == cut


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_all_goes_in_the_end_g74(steps: list[Any]) -> None:
    driver = Driver(offsets_retention_ms=RETENTION_MS)
    for number, step in enumerate(steps, 1):
        apply(driver, step, number)
    for group_id in GROUPS:
        for producer_id in (1, 2):
            driver.end(producer_id, committed=True, group_id=group_id)
    driver.step(300_000)
    driver.expire(RETENTION_MS)
    driver.expire(RETENTION_MS)
    assert driver.list() == set()
    assert driver.offsets(*GROUPS) == {group_id: ({}, {}) for group_id in GROUPS}
    driver.restart()
    assert driver.offsets(*GROUPS) == {group_id: ({}, {}) for group_id in GROUPS}


def test_timers_run_in_the_groups_that_they_are_of_g30() -> None:
    driver = Driver()
    assert driver.coordinator.timers.next_deadline_ms() is None
    driver.stable_member(group_id="g", session_ms=8_000)
    driver.consumer_heartbeat(group_id="c")
    assert driver.coordinator.timers.next_deadline_ms() == driver.now_ms + 8_000
    assert driver.step(7_999) == []
    assert driver.step(1) == ["g"]
    assert driver.step(45_000 - 8_000) == ["c"]
    assert {one[2] for one in driver.list()} == {"Empty"}


def test_timers_of_groups_that_are_gone_do_nothing() -> None:
    driver = Driver()
    driver.join(version=4)
    driver.delete_groups("g")
    assert driver.step(1_000_000) == []


def test_sessions_start_anew_after_a_restart_g30_g89() -> None:
    driver = Driver()
    driver.stable_member(group_id="g", session_ms=8_000)
    driver.consumer_heartbeat(group_id="c")
    driver.now_ms += 1_000_000
    driver.restart()
    assert driver.coordinator.timers.next_deadline_ms() == driver.now_ms + 8_000
    assert driver.list() == {
        ("g", "consumer", "Stable", "classic"),
        ("c", "consumer", "Stable", "consumer"),
    }


def test_a_group_that_is_too_large_after_a_restart_rebalances_g38() -> None:
    driver = Driver()
    driver.stable_member()
    driver.settings = GroupSettings(classic_size_max=0)
    driver.restart()
    assert driver.list() == {("g", "consumer", "PreparingRebalance", "classic")}


def test_open_requests_of_an_unloaded_partition_are_told_to_ask_again() -> None:
    driver = Driver()
    first = driver.join().member_id
    assert driver.join("", version=3) is None
    parked = driver.last_token
    driver.consumer_heartbeat(group_id="c")
    replies = dict(driver.coordinator.replay.unload(driver.partition_of("g")))
    assert replies[parked].error_code == ErrorCode.NOT_COORDINATOR
    assert first
    if driver.partition_of("c") != driver.partition_of("g"):
        assert {one[0] for one in driver.list()} == {"c"}
    for partition in range(PARTITIONS):
        driver.coordinator.replay.unload(partition)
    assert driver.list() == set()
    assert driver.coordinator.timers.next_deadline_ms() is None


@pytest.mark.parametrize("group_id", ["c", "other"])
def test_g91_configs_of_a_group(group_id: str) -> None:
    driver = Driver()
    driver.consumer_heartbeat(group_id="c")
    configs = {"consumer.heartbeat.interval.ms": "7000", "share.isolation.level": "x"}
    driver.coordinator.registry.configure(group_id, configs)
    beat = driver.consumer_heartbeat(group_id=group_id)
    assert beat.heartbeat_interval_ms == 7_000
    driver.coordinator.registry.update_settings(GroupSettings(consumer_heartbeat_interval_ms=6_000))
    assert driver.consumer_heartbeat(group_id=group_id).heartbeat_interval_ms == 7_000
    driver.coordinator.registry.configure(group_id, {})
    assert driver.consumer_heartbeat(group_id=group_id).heartbeat_interval_ms == 6_000


def test_g84_topics_that_change_are_looked_at_again() -> None:
    driver = Driver()
    first = driver.consumer_heartbeat(subscribed_topic_names=["t", "new"])
    driver.stable_member(group_id="classic")
    driver.topics.topics["new"] = driver.topics.topics["t"].__class__("new", id_of("new"), 2)
    driver.coordinator.registry.topics_changed(["new"])
    beat = driver.consumer_heartbeat("m", first.member_epoch)
    assert beat.member_epoch > first.member_epoch

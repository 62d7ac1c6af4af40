"""C-50, C-51: replicas that are behind, and ISRs that shrink and grow.

Also tests: broker_lite.control.replication.isr_changes.
"""

from pathlib import Path

import pytest

from broker_lite.control.cluster.reassigning import plan_reassignment
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.log.replicas import Lag
from tests.control.replication.conftest import FROZEN, LAG_MAX_MS, SHORT, Brokers, Open
from tests.log.logs import append

# -- lags


def test_c50_a_frozen_replica_in_the_isr_stops_the_high_watermark(brokers: Brokers) -> None:
    brokers.append()
    brokers.lag(2)
    assert brokers.append(2) == (1, 3)
    assert brokers.manager.end_of("t", 0, 2) == 1
    assert (brokers.manager.end_of("t", 0, 3), brokers.manager.end_of("x", 0, 2)) == (None, None)
    brokers.catch_up(2)
    assert (brokers.ends, brokers.is_idle) == ((3, 3), True)


def test_c50_a_lag_by_records_and_by_time(brokers: Brokers) -> None:
    brokers.lag(2, Lag(records=2))
    assert brokers.append(5) == (3, 5)
    brokers.lag(3, Lag(ms=100))
    assert brokers.append(3) == (5, 8)
    brokers.pass_time(99)
    assert brokers.ends == (5, 8)
    brokers.pass_time(1)
    assert brokers.ends == (6, 8)
    brokers.manager.return_all()
    brokers.manager.settle()
    assert (brokers.ends, brokers.is_idle) == ((8, 8), True)


def test_the_alarm_is_set_by_an_append(brokers: Brokers) -> None:
    brokers.lag(2, Lag(ms=100))
    brokers.due.clear()
    brokers.append()
    assert brokers.clock.steady_ms() + 100 in brokers.due


def test_c51_a_frozen_replica_leaves_the_isr_after_its_time(brokers: Brokers) -> None:
    brokers.lag(2)
    brokers.pass_time(LAG_MAX_MS * 2)
    assert brokers.partition.isr == (1, 2, 3)  # it lacks nothing
    brokers.append()
    brokers.pass_time(0)
    assert brokers.partition.isr == (1, 3)  # as in Kafka: its last fetch was long ago
    assert brokers.ends == (1, 1)
    assert brokers.append() == (2, 2)
    assert not brokers.is_idle
    brokers.catch_up(2)
    assert (brokers.partition.isr, brokers.is_idle) == ((1, 3, 2), True)


@pytest.mark.parametrize("lag", [FROZEN, Lag(records=1), Lag(ms=LAG_MAX_MS * 3)])
def test_c51_not_before_its_time(brokers: Brokers, lag: Lag) -> None:
    brokers.lag(2, lag)
    brokers.append()
    brokers.pass_time(LAG_MAX_MS)
    assert (brokers.partition.isr, brokers.ends) == ((1, 2, 3), (0, 1))
    brokers.pass_time(1)
    assert (brokers.partition.isr, brokers.ends) == ((1, 3), (1, 1))


def test_c27_a_slow_replica_joins_when_it_has_all_that_is_committed(brokers: Brokers) -> None:
    brokers.lag(2, Lag(ms=LAG_MAX_MS * 2))
    brokers.append()
    brokers.pass_time(LAG_MAX_MS + 1)
    assert brokers.partition.isr == (1, 3)
    brokers.pass_time(LAG_MAX_MS)
    assert brokers.partition.isr == (1, 3, 2)
    assert not brokers.is_idle  # the next record comes late again
    assert brokers.append() == (1, 2)


def test_c51_a_lag_that_is_set_again_is_as_old_as_before(brokers: Brokers) -> None:
    brokers.lag(2)
    brokers.append()
    brokers.pass_time(LAG_MAX_MS)
    brokers.lag(2)
    brokers.pass_time(1)
    assert brokers.partition.isr == (1, 3)


def test_c51_the_setting_counts(open_brokers: Open) -> None:
    brokers = open_brokers(replica_lag_time_max_ms="500")
    brokers.lag(3)
    brokers.append()
    brokers.pass_time(500)
    assert brokers.partition.isr == (1, 2, 3)
    brokers.pass_time(1)
    assert brokers.partition.isr == (1, 2)


def test_shrink_isr_and_catch_up(brokers: Brokers) -> None:
    topic = brokers.cluster.topics["t"]
    brokers.manager.shrink_isr(topic, 0, 2)
    assert (brokers.partition.isr, brokers.append()) == ((1, 3), (1, 1))
    epoch = brokers.partition.partition_epoch
    brokers.manager.shrink_isr(brokers.cluster.topics["t"], 0, 2)  # again
    assert brokers.partition.partition_epoch == epoch
    brokers.pass_time(LAG_MAX_MS * 2)
    assert brokers.partition.isr == (1, 3)
    brokers.catch_up(2)
    brokers.catch_up(2)
    assert (brokers.partition.isr, brokers.is_idle) == ((1, 3, 2), True)


# -- min.insync.replicas


def test_c50_with_too_few_in_sync_nothing_is_shown(open_brokers: Open) -> None:
    """KAFKA-15583."""
    brokers = open_brokers(min_insync_replicas=SHORT)
    for node_id in (2, 3):
        brokers.manager.shrink_isr(brokers.cluster.topics["t"], 0, node_id)
    assert (brokers.partition.isr, brokers.log.lacks_replicas) == ((1,), True)
    assert brokers.append(2) == (0, 2)
    brokers.catch_up(3)
    assert (brokers.log.lacks_replicas, brokers.ends) == (False, (2, 2))
    assert not brokers.is_idle  # 2 is frozen
    brokers.catch_up(2)
    assert brokers.is_idle


@pytest.mark.parametrize("is_loaded", [True, False])
def test_c50_min_insync_replicas_may_change(open_brokers: Open, is_loaded: bool) -> None:
    brokers = open_brokers()
    topic = brokers.cluster.topics["t"]
    if is_loaded:
        brokers.append()
    brokers.down(3)
    brokers.cluster.alter_configs([(TOPIC_RESOURCE, "t", {"min.insync.replicas": "3"})])
    assert brokers.append() == (int(is_loaded), 1 + is_loaded)
    brokers.cluster.alter_configs([(TOPIC_RESOURCE, "t", {"min.insync.replicas": "2"})])
    high_watermark, end_offset = brokers.ends
    assert (high_watermark, topic.partition_count) == (end_offset, 1)


def test_c50_more_than_there_are_replicas_is_no_minimum(open_brokers: Open) -> None:
    brokers = open_brokers(min_insync_replicas="3")
    brokers.create("two", (1, 2))
    log = brokers.cluster.log("two", 0)
    append(log)
    assert (log.lacks_replicas, log.high_watermark) == (False, 1)
    brokers.down(3)
    append(log)
    assert log.high_watermark == 2
    brokers.down(2)
    append(log)
    assert (log.lacks_replicas, log.high_watermark) == (True, 2)


def test_c50_the_replicas_of_others_count_where_one_broker_serves_the_directory(
    tmp_path: Path,
) -> None:
    trio = Brokers(tmp_path, min_insync_replicas="2")
    trio.append()
    trio.cluster.close(sync=False)
    alone = Brokers(tmp_path, min_insync_replicas="2", broker_lite_brokers="1")
    assert (alone.partition.replicas, alone.partition.isr) == ((1, 2, 3), (1,))
    alone.manager.settle()
    assert alone.append() == (1, 2)
    assert (alone.log.lacks_replicas, alone.partition.isr) == (True, (1,))
    alone.cluster.close(sync=False)


def test_c55_replicas_join_many_isrs_in_few_writes(open_brokers: Open) -> None:
    brokers = open_brokers()
    brokers.manager.settled_at_a_time = 2
    brokers.create("u", *[(1, 2, 3)] * 5)
    for index in range(5):
        for node_id in (2, 3):
            brokers.manager.shrink_isr(brokers.cluster.topics["u"], index, node_id)
            brokers.manager.fall_behind(brokers.cluster.topics["u"], index, node_id, Lag(ms=100))
        append(brokers.cluster.log("u", index))
    brokers.manager.settle()
    before = len(written(brokers))
    brokers.clock.step(100)
    for expected in ([4], [4, 4], [4, 4, 2]):
        assert is_due(brokers), "others come first"
        brokers.manager.on_time()
        assert written(brokers)[before:] == expected
    assert not is_due(brokers)
    topic = brokers.cluster.topics["u"]
    assert [each.isr for each in topic.partitions] == [(1, 2, 3)] * 5


def is_due(brokers: Brokers) -> bool:
    deadline_ms = brokers.manager.next_deadline_ms()
    return deadline_ms is not None and deadline_ms <= brokers.clock.steady_ms()


def test_c51_many_isrs_shrink_in_few_writes(open_brokers: Open) -> None:
    brokers = open_brokers()
    brokers.manager.settled_at_a_time = 2
    brokers.create("u", *[(1, 2, 3)] * 5)
    for index in range(5):
        for node_id in (2, 3):
            topic = brokers.cluster.topics["u"]
            brokers.manager.fall_behind(topic, index, node_id, Lag(is_frozen=True))
        append(brokers.cluster.log("u", index))
    before = len(written(brokers))
    brokers.clock.step(LAG_MAX_MS + 1)
    for expected in ([2], [2, 2], [2, 2, 1]):
        assert is_due(brokers), "others come first"
        brokers.manager.on_time()
        assert written(brokers)[before:] == expected
    assert not is_due(brokers)
    assert [each.isr for each in brokers.cluster.topics["u"].partitions] == [(1,)] * 5


def written(brokers: Brokers) -> list[int]:
    """How many records each change of the metadata log has."""
    return [len(records) for records in brokers.cluster.metadata_log.replay()]


# -- replicas that a reassignment adds


def reassign(brokers: Brokers, *replicas: int) -> None:
    planned = plan_reassignment(brokers.cluster, "t", 0, replicas)
    brokers.cluster.controller.alter_all([planned])
    brokers.manager.settle()


@pytest.fixture
def moving(open_brokers: Open) -> Brokers:
    """Topic t is only on broker 1, and has two records."""
    brokers = open_brokers(broker_session_timeout_ms="9000")
    reassign(brokers, 1)
    brokers.append(2)
    return brokers


def test_c43_a_frozen_replica_joins_when_it_has_caught_up(moving: Brokers) -> None:
    moving.lag(2)
    reassign(moving, 1, 2)
    moving.pass_time(LAG_MAX_MS * 2)
    assert (moving.partition.isr, moving.partition.adding) == ((1,), (2,))
    assert moving.manager.end_of("t", 0, 2) == 0, "it has copied nothing"
    assert moving.append() == (3, 3), "nobody waits for it"
    moving.catch_up(2)
    assert (moving.partition.isr, moving.partition.adding, moving.is_idle) == ((1, 2), (), True)


def test_c43_a_slow_replica_joins_later(moving: Brokers) -> None:
    moving.lag(2, Lag(ms=1000))
    reassign(moving, 1, 2)
    moving.pass_time(999)
    assert moving.partition.adding == (2,)
    moving.pass_time(1)
    assert (moving.partition.isr, moving.partition.adding) == ((1, 2), ())


@pytest.mark.parametrize("is_known", [True, False], ids=["loaded", "not loaded"])
def test_c43_a_broker_that_is_gone_joins_when_it_is_back(
    moving: Brokers, open_brokers: Open, is_known: bool
) -> None:
    if not is_known:
        moving.cluster.close()
        moving = open_brokers(broker_session_timeout_ms="9000")
    moving.down(2)
    reassign(moving, 3, 2)
    assert (moving.partition.isr, moving.partition.adding) == ((1, 3), (2, 3))
    moving.pass_time(1)
    if is_known:
        assert moving.manager.end_of("t", 0, 2) == 0
    moving.up(2)
    assert (moving.partition.replicas, sorted(moving.partition.isr)) == ((3, 2), [2, 3])


def test_c43_replicas_join_when_the_leader_is_back(moving: Brokers) -> None:
    moving.manager.node_gone(1)
    moving.cluster.membership.go_silent(1)
    reassign(moving, 2)
    assert (moving.partition.leader, moving.partition.isr) == (1, (1,))
    moving.cluster.membership.speak(1)
    moving.manager.node_back(1)
    moving.manager.settle()
    assert (moving.partition.leader, moving.partition.isr) == (2, (2,))


def test_c43_c52_a_replica_that_is_added_while_nobody_leads_has_nothing(moving: Brokers) -> None:
    moving.down(1)
    moving.pass_time(9001)
    reassign(moving, 2)
    assert (moving.partition.leader, moving.partition.adding) == (NO_LEADER, (2,))
    moving.elect_unclean(2)
    assert (moving.partition.leader, moving.ends) == (2, (0, 0))


def test_c43_a_replica_that_is_added_while_nobody_leads_joins_later(moving: Brokers) -> None:
    moving.down(1)
    moving.pass_time(9001)
    reassign(moving, 1, 2)
    moving.up(1)
    assert (moving.partition.isr, moving.ends) == ((1, 2), (2, 2))
    assert moving.is_idle


def test_a_lag_of_a_broker_that_gets_no_replica_ends_with_the_others(moving: Brokers) -> None:
    moving.lag(3)
    assert moving.append() == (3, 3)
    moving.manager.return_all()
    moving.manager.settle()
    assert (moving.partition.isr, moving.is_idle) == ((1,), True)

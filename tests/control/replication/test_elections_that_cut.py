"""C-52, C-55: elections that lose records, and brokers that come and go."""

from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError
from broker_lite.log.replicas import Lag
from broker_lite.settings import Settings
from tests.control.replication.conftest import FROZEN, LAG_MAX_MS, Brokers, Open
from tests.log.logs import append
from tests.support.disk import Disk
from tests.support.small_disk import files_end_at

# -- elections


def test_c52_an_unclean_leader_loses_what_it_lacks(brokers: Brokers) -> None:
    brokers.append()
    brokers.lag(3)
    brokers.append(2)
    old = brokers.log
    brokers.pass_time(LAG_MAX_MS + 1)
    assert brokers.ends == (3, 3)
    brokers.elect_unclean(3)
    assert (brokers.ends, old.is_deleted, brokers.log is old) == ((1, 1), True, False)
    assert (brokers.partition.leader, brokers.partition.isr) == (3, (3,))
    assert (brokers.log.leader_id, brokers.log.leader_epoch) == (3, 1)
    assert brokers.partition.is_recovering
    brokers.pass_time(0)  # the others truncate, fetch and join
    assert (brokers.partition.isr, brokers.is_idle) == ((3, 1, 2), True)
    assert not brokers.partition.is_recovering
    assert brokers.append() == (2, 2)


def test_c52_a_leader_that_lacks_nothing_cuts_nothing(brokers: Brokers) -> None:
    brokers.append()
    old = brokers.log
    brokers.lag(3)
    brokers.lead(3)
    assert (brokers.log is old, old.is_deleted, old.leader_id) == (True, False, 3)
    assert brokers.is_idle
    assert brokers.append() == (2, 2)
    brokers.lead(1)
    assert (brokers.append(), brokers.is_idle) == ((3, 3), True)


def test_c52_a_leader_of_the_isr_cuts_what_was_not_committed(brokers: Brokers) -> None:
    brokers.append()
    brokers.lag(2)
    brokers.append(3)
    assert brokers.ends == (1, 4)
    brokers.lead(2)
    assert (brokers.ends, brokers.is_idle, brokers.partition.isr) == ((1, 1), True, (1, 2, 3))


def test_c52_replicas_that_have_even_less_stay_behind(brokers: Brokers) -> None:
    brokers.append()
    brokers.lag(2)
    brokers.append()
    brokers.lag(3, Lag(records=1))
    brokers.append(2)
    assert (brokers.ends, brokers.manager.end_of("t", 0, 3)) == ((1, 4), 3)
    brokers.lead(3)
    assert brokers.ends == (1, 3)  # 2 is in the ISR, and has one record
    assert (brokers.manager.end_of("t", 0, 2), brokers.manager.end_of("t", 0, 3)) == (1, None)
    assert brokers.append() == (1, 4)
    brokers.lead(2)
    assert brokers.ends == (1, 1)
    assert brokers.is_idle


def test_c52_a_lag_goes_on_after_a_cut(brokers: Brokers) -> None:
    brokers.lag(2, Lag(ms=1000))
    brokers.append()
    brokers.lag(3, Lag(ms=10))
    brokers.pass_time(10)
    brokers.append()
    brokers.lead(3)
    assert brokers.ends == (0, 1)
    assert brokers.manager.end_of("t", 0, 2) == 0
    brokers.pass_time(1000)
    assert brokers.ends == (1, 1)


def test_c52_an_empty_replica_leads(brokers: Brokers) -> None:
    brokers.lag(3)
    brokers.append(3)
    brokers.elect_unclean(3)
    assert brokers.ends == (0, 0)
    assert brokers.append() == (1, 1)


def test_c52_a_log_that_cannot_be_cut(brokers: Brokers, disk: Disk) -> None:
    brokers.append()
    brokers.lag(3)
    brokers.append()
    disk.refuse("truncate")
    brokers.elect_unclean(3)
    disk.mend()
    assert (brokers.ends, brokers.is_idle) == ((2, 2), True)
    assert brokers.append() == (3, 3)


# -- brokers that come and go


def test_a_broker_that_is_gone_lags_until_it_is_back(brokers: Brokers) -> None:
    brokers.append()
    brokers.down(2)
    assert (brokers.partition.isr, brokers.append()) == ((1, 3), (2, 2))
    assert brokers.manager.end_of("t", 0, 2) == 1
    brokers.pass_time(LAG_MAX_MS * 2)
    brokers.up(2)
    assert (brokers.partition.isr, brokers.is_idle) == ((1, 3, 2), True)


def test_a_lag_of_a_broker_that_is_gone_stands_still(brokers: Brokers) -> None:
    brokers.append()
    brokers.lag(2, Lag(ms=100))
    brokers.append()
    brokers.down(2)
    brokers.lag(2, Lag(ms=1))
    brokers.catch_up(2)
    brokers.manager.return_all()
    brokers.manager.settle()
    brokers.pass_time(1000)
    assert brokers.manager.end_of("t", 0, 2) == 1
    brokers.append()
    brokers.elect_unclean(2)  # the records of 1 are not on 2
    assert brokers.ends == (1, 1)


def test_c26_a_silent_follower_holds_the_high_watermark(open_brokers: Open) -> None:
    brokers = open_brokers(broker_session_timeout_ms="9000")
    brokers.append()
    brokers.down(2)
    assert (brokers.append(), brokers.partition.isr) == ((1, 2), (1, 2, 3))
    brokers.pass_time(8999)
    assert brokers.ends == (1, 2)
    brokers.pass_time(1)
    assert (brokers.ends, brokers.partition.isr) == ((2, 2), (1, 3))


def test_c26_a_silent_leader_shrinks_nothing(open_brokers: Open) -> None:
    brokers = open_brokers(broker_session_timeout_ms="90000")
    brokers.append()
    brokers.lag(2)
    brokers.append()
    brokers.down(1)
    brokers.pass_time(LAG_MAX_MS * 2)
    assert brokers.partition.isr == (1, 2, 3)
    brokers.manager.node_back(1)
    brokers.cluster.membership.speak(1)
    brokers.manager.settle()
    assert (brokers.partition.leader, brokers.ends) == (1, (1, 2))
    brokers.pass_time(0)
    assert brokers.partition.isr == (1, 3)


def test_c26_the_leader_after_a_silent_one_cuts(open_brokers: Open) -> None:
    brokers = open_brokers(broker_session_timeout_ms="9000")
    brokers.append()
    brokers.lag(2)
    brokers.append()
    brokers.down(1)
    brokers.pass_time(9000)
    assert (brokers.partition.leader, brokers.partition.isr, brokers.ends) == (2, (2, 3), (1, 1))
    assert (brokers.append(), brokers.manager.end_of("t", 0, 1)) == ((2, 2), 1)


@pytest.mark.parametrize("is_loaded", [True, False], ids=["loaded", "not loaded"])
def test_c55_nobody_joins_while_the_leader_is_silent(open_brokers: Open, is_loaded: bool) -> None:
    brokers = open_brokers(broker_session_timeout_ms="9000")
    brokers.append()
    if not is_loaded:
        brokers.cluster._logs.loaded.clear()
    brokers.down(2)
    brokers.pass_time(9000)
    brokers.down(1)
    brokers.up(2)
    brokers.pass_time(1)
    assert (brokers.partition.leader, brokers.partition.isr) == (1, (1, 3))
    brokers.pass_time(8999)
    assert (brokers.partition.leader, brokers.partition.leader_epoch) == (3, 1)
    brokers.pass_time(0)
    assert brokers.partition.isr == (3, 2)


def test_c55_a_silent_leader_is_not_replaced_by_one_that_has_come_back(
    open_brokers: Open,
) -> None:
    """Nobody else is in the ISR, because the leader could not let anybody in."""
    brokers = open_brokers(broker_session_timeout_ms="9000")
    brokers.append()
    for node_id in (2, 3):
        brokers.down(node_id)
        brokers.pass_time(9000)
    brokers.down(1)
    brokers.up(2)
    brokers.pass_time(9000)
    assert (brokers.partition.leader, brokers.partition.isr) == (NO_LEADER, ())
    brokers.up(1)
    assert (brokers.partition.leader, brokers.partition.isr) == (1, (1, 2))


def test_without_a_leader_a_broker_that_is_back_has_what_it_had(brokers: Brokers) -> None:
    """Only the leader has the records, and it is not there."""
    brokers.append()
    brokers.down(2)
    brokers.down(3)
    brokers.append(2)
    brokers.down(1)
    assert brokers.partition.leader == NO_LEADER
    brokers.up(2)
    brokers.catch_up(2)
    brokers.manager.return_all()
    brokers.manager.settle()
    assert brokers.partition.leader == NO_LEADER
    assert brokers.manager.end_of("t", 0, 2) == 1
    brokers.pass_time(LAG_MAX_MS * 2)
    brokers.up(1)
    assert brokers.partition.leader == 1
    assert (brokers.partition.isr, brokers.ends) == ((1, 2), (3, 3))
    brokers.up(3)
    assert (brokers.partition.isr, brokers.is_idle) == ((1, 2, 3), True)


def test_without_a_leader_an_unclean_election_loses_records(brokers: Brokers) -> None:
    brokers.append()
    brokers.down(3)
    brokers.append()
    brokers.down(2)
    brokers.append()
    brokers.down(1)
    brokers.up(3)
    brokers.up(2)
    brokers.elect_unclean(2)
    brokers.pass_time(0)
    assert (brokers.ends, brokers.partition.isr) == ((2, 2), (2, 3))
    brokers.up(1)
    assert (brokers.ends, brokers.partition.isr) == ((2, 2), (2, 3, 1))
    assert brokers.is_idle


def test_an_unclean_election_by_config_when_a_broker_comes(open_brokers: Open) -> None:
    brokers = open_brokers(unclean_leader_election_enable="true")
    brokers.append()
    brokers.down(3)
    brokers.down(2)
    brokers.append(4)
    brokers.down(1)
    assert brokers.partition.leader == NO_LEADER
    brokers.up(3)
    assert (brokers.partition.leader, brokers.ends) == (3, (1, 1))
    brokers.up(1)
    brokers.up(2)
    assert (brokers.partition.isr, brokers.ends, brokers.is_idle) == ((3, 1, 2), (1, 1), True)


def test_a_leader_that_is_gone_lags_behind_the_new_one(brokers: Brokers) -> None:
    brokers.append()
    brokers.down(1)
    assert brokers.partition.leader == 2
    assert (brokers.append(), brokers.manager.end_of("t", 0, 1)) == ((2, 2), 1)
    brokers.down(2)
    assert (brokers.append(), brokers.manager.end_of("t", 0, 2)) == ((3, 3), 2)
    brokers.up(1)
    brokers.up(2)
    assert (brokers.partition.isr, brokers.is_idle) == ((3, 1, 2), True)


def test_a_log_that_is_loaded_while_a_broker_is_gone(brokers: Brokers) -> None:
    brokers.create("u", (1, 2, 3))
    brokers.down(3)
    log = brokers.cluster.log("u", 0)
    append(log)
    assert (brokers.manager.end_of("u", 0, 3), log.high_watermark) == (0, 1)
    brokers.create("v", (1, 2))
    append(brokers.cluster.log("v", 0))
    assert brokers.manager.end_of("v", 0, 3) is None


# -- topics, disks and restarts


def test_a_topic_is_deleted_while_a_replica_is_behind(brokers: Brokers) -> None:
    brokers.lag(2, Lag(ms=50))
    brokers.append()
    log = brokers.log
    brokers.cluster.delete_topics([brokers.cluster.topics["t"]])
    assert not brokers.cluster.logs.commits.lagging
    brokers.pass_time(LAG_MAX_MS * 2)
    assert brokers.manager.next_deadline_ms() is None
    brokers.create("t", (1, 2, 3))
    assert (brokers.append(), brokers.is_idle, brokers.log is log) == ((1, 1), True, False)


def test_a_log_that_is_offline_does_not_stop_the_timers(brokers: Brokers, disk: Disk) -> None:
    brokers.create("u", (1, 2, 3))
    other = brokers.cluster.log("u", 0)
    brokers.manager.fall_behind(brokers.cluster.topics["u"], 0, 2, FROZEN)
    brokers.lag(2)
    brokers.append()
    append(other)
    failed = brokers.log.visibility
    failed.flusher.offline_reason = "a broken disk"
    brokers.cluster.logs.offline.take(failed)
    brokers.clock.step(LAG_MAX_MS + 1)
    brokers.manager.on_time()
    assert brokers.cluster.topics["u"].partitions[0].isr == (1, 3)
    assert brokers.manager.next_deadline_ms() is None  # or the timers would never sleep
    brokers.manager.return_all()
    brokers.manager.settle()
    brokers.down(3)
    brokers.up(3)
    assert other.high_watermark == 1


def test_a_change_that_cannot_be_written_is_tried_again(
    brokers: Brokers,
) -> None:
    brokers.manager.shrink_isr(brokers.cluster.topics["t"], 0, 2)
    with files_end_at(0), pytest.raises(KafkaStorageError):
        brokers.catch_up(2)
    assert brokers.partition.isr == (1, 3)
    brokers.pass_time(0)
    assert brokers.partition.isr == (1, 3, 2)


def test_after_a_restart_missing_replicas_join(open_brokers: Open) -> None:
    brokers = open_brokers()
    brokers.append()
    brokers.manager.shrink_isr(brokers.cluster.topics["t"], 0, 2)
    brokers.append()
    brokers.cluster.close()
    brokers = open_brokers()
    assert brokers.partition.isr == (1, 3)
    brokers.pass_time(0)
    assert (brokers.partition.isr, brokers.ends) == ((1, 3, 2), (2, 2))


def test_one_broker_has_nothing_to_do(open_brokers: Open, tmp_path: Path) -> None:
    settings = Settings({})
    cluster = Cluster.open(settings, tmp_path / "one", Clock.standing_still())
    manager = ReplicaManager(cluster, Clock.standing_still())
    (topic,) = cluster.create_topics([cluster.plan_topic(NewTopic("t"))])
    append(cluster.log("t", 0))
    cluster.alter_configs([(TOPIC_RESOURCE, "t", {"min.insync.replicas": "2"})])
    assert (manager.next_deadline_ms(), cluster.log("t", 0).visibility.replicas) == (None, None)
    assert (append(cluster.log("t", 0)).base_offset, topic.partition_count) == (1, 1)
    assert cluster.log("t", 0).high_watermark == 2
    cluster.close()

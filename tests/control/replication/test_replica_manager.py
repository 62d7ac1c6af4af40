"""C-50 to C-53: replicas that are behind, ISRs that change, elections that lose records."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError
from broker_lite.log.log import Log
from broker_lite.log.replicas import Lag
from broker_lite.settings import Given, Settings
from tests.log.logs import append
from tests.support.disk import Disk, disk

__all__ = ["disk"]

FROZEN = Lag(is_frozen=True)
LAG_MAX_MS = 30_000
SHORT = "2"


class Brokers:
    """Three brokers of which the test says what happens to them; topic t is on 1, 2, 3."""

    def __init__(self, data_dir: Path, **texts: str) -> None:
        texts = {"broker_lite_brokers": "3", "broker_session_timeout_ms": "0", **texts}
        given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
        self.clock = Clock.standing_still()
        self.cluster = Cluster.open(Settings(given), data_dir, self.clock)
        self.due: list[int | None] = []
        self.cluster.membership.due_at = self.due.append
        self.manager = ReplicaManager(self.cluster, self.clock)
        for node_id in (1, 2, 3):
            self.cluster.register(node_id, [])
        if "t" not in self.cluster.topics:
            self.create("t")

    def create(self, name: str, *assignments: tuple[int, ...]) -> None:
        chosen = [*enumerate(assignments or [(1, 2, 3)])]
        plan = self.cluster.plan_topic(NewTopic(name, assignments=chosen))
        self.cluster.make_logs(*self.cluster.create_topics([plan]))

    @property
    def partition(self) -> PartitionRegistration:
        return self.cluster.topics["t"].partitions[0]

    @property
    def log(self) -> Log:
        return self.cluster.log("t", 0)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left that a Produce would look at."""
        return not self.cluster.logs.commits.lagging and self.log.visibility.replicas is None

    def lag(self, node_id: int, lag: Lag = FROZEN) -> None:
        self.manager.fall_behind(self.cluster.topics["t"], 0, node_id, lag)

    def catch_up(self, node_id: int) -> None:
        self.manager.catch_up(self.cluster.topics["t"], 0, node_id)

    def append(self, count: int = 1) -> tuple[int, int]:
        for _ in range(count):
            append(self.log)
        return self.ends

    @property
    def ends(self) -> tuple[int, int]:
        return self.log.high_watermark, self.log.log_end_offset

    def lead(self, node_id: int) -> None:
        before = self.partition
        after = before._replace(leader=node_id, leader_epoch=before.leader_epoch + 1)
        self.cluster.controller.alter(self.cluster.topics["t"], 0, after)

    def elect_unclean(self, node_id: int) -> None:
        self.manager.elect_unclean(self.cluster.topics["t"], 0, node_id)

    def down(self, node_id: int) -> None:
        self.manager.node_gone(node_id)
        self.cluster.membership.go_silent(node_id)

    def up(self, node_id: int, *, was_killed: bool = True) -> None:
        self.cluster.membership.prepare_return(node_id, was_killed=was_killed)
        self.cluster.register(node_id, [])
        self.manager.node_back(node_id)
        self.manager.settle()
        self.cluster.membership.catch_up(node_id)

    def pass_time(self, ms: int) -> None:
        """Step the clock and run what is due; it must not be due again at once."""
        self.clock.step(ms)
        for timed in (self.cluster.membership, self.manager):
            deadline = timed.next_deadline_ms()
            if deadline is not None and deadline <= self.clock.steady_ms():
                timed.on_time()
                again = timed.next_deadline_ms()
                assert again is None or again > self.clock.steady_ms()


Open = Callable[..., Brokers]


@pytest.fixture
def open_brokers(tmp_path: Path) -> Iterator[Open]:
    opened: list[Brokers] = []

    def open_some(**texts: str) -> Brokers:
        opened.append(Brokers(tmp_path / "data", **texts))
        return opened[-1]

    yield open_some
    for each in opened:
        each.cluster.close(sync=False)


@pytest.fixture
def brokers(open_brokers: Open) -> Brokers:
    return open_brokers()


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
    brokers.manager.catch_up_all()
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


def test_c52_a_log_that_cannot_be_cut(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers.append()
    brokers.lag(3)
    brokers.append()

    def fail(*_: object) -> int:
        raise KafkaStorageError("a broken disk")

    monkeypatch.setattr(brokers.cluster, "truncate", fail)
    brokers.elect_unclean(3)
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
    brokers.manager.catch_up_all()
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
    brokers.manager.catch_up_all()
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
    brokers.manager.catch_up_all()
    brokers.down(3)
    brokers.up(3)
    assert other.high_watermark == 1


def test_a_change_that_cannot_be_written_is_tried_again(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.manager.shrink_isr(brokers.cluster.topics["t"], 0, 2)

    def fail(*_: object) -> None:
        raise KafkaStorageError("a full disk")

    with monkeypatch.context() as patched:
        patched.setattr(brokers.cluster.controller, "join", fail)
        with pytest.raises(KafkaStorageError):
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

"""Three brokers of which a test says what happens to them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.electing import led_uncleanly_by
from broker_lite.control.metadata.topic import PartitionRegistration
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.log.log import Log
from broker_lite.log.replicas import Lag
from broker_lite.settings import Given, Settings
from tests.log.logs import append
from tests.support.disk import disk

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
        self.cluster.membership.fence_others()
        for node_id in self.cluster.node_ids:
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
        after = led_uncleanly_by(self.partition, node_id)
        self.cluster.controller.alter(self.cluster.topics["t"], 0, after)

    def down(self, node_id: int) -> None:
        self.manager.node_gone(node_id)
        self.cluster.membership.go_silent(node_id)

    def up(self, node_id: int, *, was_killed: bool = True) -> None:
        self.cluster.membership.prepare_return(node_id, was_killed=was_killed)
        self.cluster.register(node_id, [])
        self.manager.node_back(node_id)
        self.manager.settle()

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

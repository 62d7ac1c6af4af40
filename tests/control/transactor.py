"""Transactions over a real data directory, and groups that only note what they are told."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.state_topic import ReplayedBatch, StateTopic
from broker_lite.control.coordinators.transaction_service import Transactions
from broker_lite.control.topics.internal_topics import TRANSACTIONS_TOPIC
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.transactions.coordinator import Outcome
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import Transaction
from broker_lite.errors import KafkaStorageError
from broker_lite.settings import Given, Settings
from tests.log.batches import batch, record

TRANSACTIONAL = 0x10
NAME = "x"
STATE_PARTITION = 20
"""Where "x" is kept."""


class NotedGroups:
    """Groups as transactions see them."""

    def __init__(self) -> None:
        self.completed: list[tuple[int, int, bool]] = []

    def partition_of(self, group_id: str) -> int:
        return 3

    def complete_transaction(self, partition: int, producer_id: int, *, committed: bool) -> None:
        self.completed.append((partition, producer_id, committed))


class WatchedTopic(StateTopic):
    """The state log, and what a test has done before and after a partition is used."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, TRANSACTIONS_TOPIC)
        self.mend()

    def mend(self) -> None:
        """Do nothing more than a StateTopic does."""
        self.before_append = self.after_append = self.before_replay = _nothing

    def append(
        self,
        partition: int,
        records: Sequence[StateRecord],
        *,
        now_ms: int,
        producer: tuple[int, int] | None = None,
    ) -> None:
        self.before_append(partition)
        super().append(partition, records, now_ms=now_ms, producer=producer)
        self.after_append(partition)

    def replay_partition(self, partition: int) -> Iterator[ReplayedBatch]:
        self.before_replay(partition)
        return super().replay_partition(partition)


class TransactionBroker:
    """A broker's transactions; topic "t" has two partitions."""

    def __init__(self, data_dir: Path, *, is_new: bool = True, **settings: str) -> None:
        self.data_dir = data_dir
        self.settings = Settings(
            {name.replace("_", "."): Given(text, "test") for name, text in settings.items()}
        )
        self.now_ms = 1_700_000_000_000
        self.groups = NotedGroups()
        self.open()
        if is_new:
            plan = self.cluster.plan_topic(NewTopic("t", partition_count=2))
            self.cluster.create_topics([plan])

    def open(self) -> None:
        self.clock = Clock.standing_still(self.now_ms)
        self.cluster = Cluster.open(self.settings, self.data_dir, self.clock)
        self.topic = WatchedTopic(self.cluster)
        self.transactions = Transactions(
            cluster=self.cluster, clock=self.clock, groups=self.groups, topic=self.topic
        )
        self.transactions.start()

    def killed(self, number: int) -> "TransactionBroker":
        """A broker that finds what kill -9 would leave now."""
        copy = self.data_dir.with_name(f"killed-{number}")
        shutil.copytree(self.data_dir, copy)
        return TransactionBroker(copy, is_new=False)

    def restart(self) -> None:
        self.cluster.close(sync=False)
        self.open()

    def step(self, step_ms: int) -> None:
        self.clock.step(step_ms)
        self.transactions.on_time()

    def init(self, name: str = NAME, expected: Producer | None = None) -> Outcome:
        return asyncio.run(
            self.transactions.init_producer_id(name, Terms(1000), expected=expected, node_id=1)
        )

    def add(self, producer: Producer, *partitions: tuple[str, int], name: str = NAME) -> int:
        return self.transactions.add_partitions(name, producer, partitions, client_version=2)

    def end(self, producer: Producer, *, commit: bool = True, name: str = NAME) -> Outcome:
        return asyncio.run(
            self.transactions.end(name, producer, is_commit=commit, client_version=2, node_id=1)
        )

    def produce(self, producer: Producer, partition: int = 0) -> None:
        log = self.cluster.log("t", partition)
        data = batch(record(), attributes=TRANSACTIONAL, producer=(*producer, 0))
        log.append_batch(data, now_ms=self.now_ms)

    def begin(self) -> Producer:
        """Open a transaction with a record in both partitions."""
        producer = self.init().producer
        assert self.add(producer, ("t", 0), ("t", 1)) == 0
        self.produce(producer, 0)
        self.produce(producer, 1)
        return producer

    def state(self, name: str = NAME) -> str:
        found = self.transactions.find(name, 1)
        return found.state.text if isinstance(found, Transaction) else ""

    def open_transactions(self) -> list[bool]:
        """Of each partition of "t"."""
        logs = [self.cluster.log("t", partition) for partition in (0, 1)]
        return [log.last_stable_offset < log.log_end_offset for log in logs]


def failing(_: int) -> None:
    raise KafkaStorageError


def _nothing(_: int) -> None:
    """What is done with a partition that is not watched."""

"""Three brokers in one process, whose coordinators move; without a server."""

import asyncio
from pathlib import Path
from typing import Any

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.transactions.coordinator import Outcome
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import Transaction
from broker_lite.wire import messages
from tests.control.group_node import Node
from tests.control.transactor import NAME, TransactionBroker
from tests.support.coordinator_topics import make_offsets_topic

SETTINGS = {
    "broker_lite_brokers": "3",
    "default_replication_factor": "3",
    "offsets_topic_replication_factor": "3",
    "offsets_topic_num_partitions": "3",
    "transaction_state_log_replication_factor": "3",
    "transaction_state_log_min_isr": "1",
    "transaction_state_log_num_partitions": "3",
}


def register(cluster: Cluster) -> None:
    """Let the three brokers in."""
    for node_id in cluster.node_ids:
        cluster.register(node_id, [])


def take_leader(cluster: Cluster, topic: str, partition: int) -> int:
    """Fence the brokers until a partition has no leader; return the one that led it last."""
    last = -1
    while (leader := cluster.topics[topic].partitions[partition].leader) != -1:
        last = leader
        cluster.controller.fence(leader)
    return last


class Trio(Node):
    """Three brokers with groups."""

    def __init__(self, data_dir: Path, **texts: str) -> None:
        super().__init__(data_dir, **{**SETTINGS, **texts})

    def start(self) -> None:
        super().start()
        register(self.cluster)
        if "t" not in self.cluster.topics:
            self.cluster.create_topics([self.cluster.plan_topic(NewTopic("t", 2))])
        make_offsets_topic(self.cluster)

    @property
    def partition(self) -> int:
        """The partition of the group g."""
        return self.groups.partition_of("g")

    @property
    def leader(self) -> int:
        """The broker that coordinates the group g."""
        return self.groups.topic.leader(self.partition)

    def move(self) -> None:
        """Let another broker coordinate the group g."""
        self.cluster.controller.fence(self.leader)

    def take_leader(self) -> int:
        """Let no broker coordinate the group g; return the one that did."""
        return take_leader(self.cluster, OFFSETS_TOPIC, self.partition)

    async def heartbeat(self, member_id: str, generation: int) -> int:
        event = self.groups.coordinator.members.heartbeat
        body = messages.HeartbeatRequest(
            group_id="g", member_id=member_id, generation_id=generation
        )
        answer: Any = await self.groups.ask(event, "g", body, Caller(3, "c", "/h", None))
        return int(answer.error_code)

    def sync(self, member_id: str, generation: int) -> Any:
        return self.ask("SyncGroup", 3, group_id="g", member_id=member_id, generation_id=generation)

    async def consume(self, member_id: str, epoch: int = 0) -> Any:
        """Send a ConsumerGroupHeartbeat of the group g."""
        first = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["t"]}
        body = messages.ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member_id,
            member_epoch=epoch,
            **({**first, "topic_partitions": []} if epoch == 0 else {}),  # type: ignore[arg-type]
        )
        event = self.groups.coordinator.members.consumer_heartbeat
        return await self.groups.ask(event, "g", body, Caller(1, "c", "/h", None))


class TransactionTrio(TransactionBroker):
    """Three brokers with transactions; requests go to the coordinator of their id."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        super().__init__(data_dir, **{**SETTINGS, **settings})
        self.topic.ensure()

    def open(self) -> None:
        super().open()
        register(self.cluster)

    @property
    def partition(self) -> int:
        """The partition of the id x."""
        return self.topic.partition_of(NAME)

    @property
    def leader(self) -> int:
        """The broker that coordinates the id x."""
        return self.topic.leader(self.partition)

    @property
    def epoch(self) -> int:
        """The leader epoch of the partition of the id x."""
        return self.cluster.leader_epoch(TRANSACTIONS_TOPIC, self.partition)

    def move(self) -> None:
        """Let another broker coordinate the id x."""
        topic = self.cluster.topics[TRANSACTIONS_TOPIC]
        before = topic.partitions[self.partition]
        leader = next(each for each in before.replicas if each != before.leader)
        after = before._replace(leader=leader, leader_epoch=before.leader_epoch + 1)
        self.cluster.controller.alter(topic, self.partition, after)

    def set_leader(self, topic_name: str, partition: int, leader: int) -> None:
        """Make a broker the leader of a partition, or no broker."""
        topic = self.cluster.topics[topic_name]
        before = topic.partitions[partition]
        after = before._replace(leader=leader, leader_epoch=before.leader_epoch + 1)
        self.cluster.controller.alter(topic, partition, after)

    def init(self, name: str = NAME, expected: Producer | None = None) -> Outcome:
        return asyncio.run(
            self.transactions.init_producer_id(
                name, Terms(1000), expected=expected, node_id=self.leader
            )
        )

    def end(self, producer: Producer, *, commit: bool = True, name: str = NAME) -> Outcome:
        return asyncio.run(
            self.transactions.end(
                name, producer, is_commit=commit, client_version=2, node_id=self.leader
            )
        )

    def state(self, name: str = NAME) -> str:
        found = self.transactions.find(name, self.leader)
        return found.state.text if isinstance(found, Transaction) else found.name

    def coordinator_epochs(self) -> list[int]:
        """The coordinator epoch of the last marker in each partition of "t"; -1 before."""
        states = [self.cluster.log("t", partition).producer_state for partition in (0, 1)]
        return [each.coordinator_epoch for state in states for each in state.describe()]

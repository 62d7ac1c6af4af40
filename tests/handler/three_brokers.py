"""Three brokers in one process; a test asks the one that it chooses."""

from typing import Any, Self

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.coordinator.placement import partition_of
from broker_lite.handler.context import ListenerInfo
from broker_lite.wire import messages
from tests.control.trio import SETTINGS, register
from tests.support.handler_broker import HandlerBroker, OpenBroker


def _sibling(node_id: int) -> ListenerInfo | None:
    return ListenerInfo("PLAINTEXT", bound_port=9091 + node_id) if node_id in (1, 2, 3) else None


class ThreeBrokers:
    """The brokers 1, 2 and 3 with topic "t" of three partitions and both state topics.

    Attributes:
        broker: sends requests to the broker that was chosen last.
    """

    def __init__(self, broker: HandlerBroker) -> None:
        self.broker = broker
        self.cluster = broker.cluster
        self.context = broker.context
        self.context.sibling = _sibling
        register(self.cluster)
        for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            self.cluster.create_topic(name)
        self.create("t", (1, 2, 3), (2, 3, 1), (3, 1, 2))

    @classmethod
    def open(cls, open_broker: OpenBroker, **settings: str) -> Self:
        return cls(open_broker(**{**SETTINGS, **settings}))

    def create(self, name: str, *assignments: tuple[int, ...]) -> None:
        """Create a topic with these replicas; the first of each partition leads it."""
        kind = messages.CreateTopicsRequest
        topic = kind.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                kind.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in enumerate(assignments)
            ],
        )
        (created,) = self.broker.call("CreateTopics", 5, topics=[topic], timeout_ms=1000).topics
        assert created.error_code == 0, created.error_message

    def ask(self, node_id: int, name: str, version: int, **fields: Any) -> Any:
        """Send a request to a broker."""
        self.context.node_id = node_id
        self.context.local_address = ("127.0.0.1", 9091 + node_id)
        return self.broker.call(name, version, **fields)

    def partition(self, name: str, topic: str = OFFSETS_TOPIC) -> int:
        """The partition of a group, or with the other topic of a transactional id."""
        return partition_of(name, self.cluster.topics[topic].partition_count)

    def coordinator(self, name: str, topic: str = OFFSETS_TOPIC) -> int:
        """The broker that coordinates a group or transactional id."""
        return self.cluster.topics[topic].partitions[self.partition(name, topic)].leader

    def other(self, name: str, topic: str = OFFSETS_TOPIC) -> int:
        """A broker that does not coordinate it."""
        return next(each for each in (1, 2, 3) if each != self.coordinator(name, topic))

    def set_leader(self, topic_name: str, partition: int, leader: int) -> None:
        """Make a broker the leader of a partition, or no broker."""
        topic = self.cluster.topics[topic_name]
        before = topic.partitions[partition]
        after = before._replace(leader=leader, leader_epoch=before.leader_epoch + 1)
        self.cluster.controller.alter(topic, partition, after)

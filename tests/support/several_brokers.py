"""What tests do with a cluster of several brokers: places of topics, brokers that come and go."""

from collections.abc import Sequence

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.context import ListenerInfo
from tests.support.handler_broker import HandlerBroker


def place_topic(cluster: Cluster, name: str, *replicas: Sequence[int], **configs: str) -> Topic:
    """Create a topic, of which each partition has the given replicas, and its logs."""
    new = NewTopic(
        name,
        assignments=list(enumerate(replicas)),
        configs=[(key.replace("_", "."), value) for key, value in configs.items()],
    )
    (topic,) = cluster.create_topics([cluster.plan_topic(new)])
    cluster.make_logs(topic)
    return topic


def partition_of(cluster: Cluster, name: str, index: int = 0) -> PartitionRegistration:
    """A partition as it is now."""
    return cluster.topics[name].partitions[index]


def come_back(cluster: Cluster, node_id: int) -> None:
    """Let in a broker that was gone, and let it be in sync with all its partitions."""
    cluster.controller.unfence(node_id)
    join_isrs(cluster, node_id)


def join_isrs(cluster: Cluster, node_id: int) -> None:
    """Let a broker be in sync with all its partitions that have a leader."""
    cluster.controller.join(
        (topic, index, (node_id,))
        for topic in cluster.topics.values()
        for index in range(topic.partition_count)
    )


def talk_to(broker: HandlerBroker, node_id: int) -> HandlerBroker:
    """The connection is one to another broker of the process; all have ports from 9092 on."""
    context = broker.context
    context.node_id = node_id
    context.settings = broker.cluster.settings_of(node_id)
    context.local_address = ("127.0.0.1", 9091 + node_id)
    context.sibling = lambda other: ListenerInfo("PLAINTEXT", bound_port=9091 + other)
    return broker

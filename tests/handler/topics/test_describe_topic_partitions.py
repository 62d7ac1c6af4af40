"""What the differential test does not reach; most of P-93 and P-94 is in tests/differential."""

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

TYPES = messages.DescribeTopicPartitionsRequest


def make(broker: HandlerBroker, name: str, count: int) -> None:
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic(name, count, 1))])


def test_p93_all_topics_page_by_page(broker: HandlerBroker) -> None:
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        make(broker, name, count)
    cursor, seen = None, []
    while True:
        response = broker.call(
            "DescribeTopicPartitions", 0, topics=[], cursor=cursor, response_partition_limit=2
        )
        for topic in response.topics:
            seen += [(topic.name, each.partition_index) for each in topic.partitions]
        if response.next_cursor is None:
            break
        cursor = TYPES.Cursor(
            topic_name=response.next_cursor.topic_name,
            partition_index=response.next_cursor.partition_index,
        )
    assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


def test_p93_the_brokers_limit(open_broker: OpenBroker) -> None:
    broker = open_broker(max_request_partition_size_limit="4")
    make(broker, "t", 9)
    response = broker.call("DescribeTopicPartitions", 0, topics=[])
    assert len(one(response.topics).partitions) == 4
    assert response.next_cursor.partition_index == 4


def test_p95_fields_of_a_partition(broker: HandlerBroker) -> None:
    make(broker, "t", 1)
    topic = one(broker.call("DescribeTopicPartitions", 0, topics=[]).topics)
    assert topic.topic_id == broker.cluster.topics["t"].topic_id
    partition = one(topic.partitions)
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)
    assert (partition.replica_nodes, partition.isr_nodes) == ([1], [1])
    # as Kafka 4.3.1 tells them: empty, not null
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])
    assert partition.offline_replicas == []


def test_p93_unknown_topics_are_not_created(broker: HandlerBroker) -> None:
    asked = [TYPES.TopicRequest(name="t")]
    topic = one(broker.call("DescribeTopicPartitions", 0, topics=asked).topics)
    assert (topic.error_code, topic.topic_authorized_operations) == (3, 3576)
    assert broker.cluster.topics == {}

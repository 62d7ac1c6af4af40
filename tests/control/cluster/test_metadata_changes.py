from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.features import supported_features
from broker_lite.control.cluster.metadata_changes import Endpoint, Replica
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_records import MetadataRecord, PartitionRecords
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import TopicPlan

REPLICA = Replica(3, b"d" * 16)
ID = b"i" * 16


def test_a_topic_is_topic_configs_partitions() -> None:
    plan = TopicPlan("t", 2, 1, {"a": "1"})
    records = changes.creation(plan, ID, REPLICA)
    topic, config, partitions = records
    assert isinstance(topic, MetadataRecord)
    assert isinstance(config, MetadataRecord)
    assert (topic.api_key, config.api_key) == (kinds.TOPIC, kinds.CONFIG)
    assert isinstance(partitions, PartitionRecords)
    *_, last = partitions.each()
    partition = last.value
    assert (partition.partition_id, partition.leader, partition.leader_epoch) == (1, 3, 0)
    assert (partition.replicas, partition.isr, partition.directories) == ([3], [3], [b"d" * 16])


def test_growth_starts_at_the_partitions_there_are() -> None:
    topic = Topic(name="t", topic_id=ID, leader_epochs=(0, 0), overrides={})
    records = changes.growth(topic, 4, REPLICA)
    assert [record.value.partition_id for record in records.each()] == [2, 3]
    assert changes.removal(topic).value.topic_id == ID


def test_a_broker_is_registered_fenced_and_then_let_in() -> None:
    register, unfence = changes.registration(
        REPLICA,
        broker_epoch=5,
        incarnation_id=ID,
        endpoints=[Endpoint("PLAINTEXT", "h", 9092)],
        rack=None,
        supported=supported_features("4.3"),
    )
    assert register.value.fenced
    levels = {one.name: one.max_supported_version for one in register.value.features}
    assert (levels["metadata.version"], levels["share.version"]) == (30, 0)
    assert [(one.name, one.port) for one in register.value.end_points] == [("PLAINTEXT", 9092)]
    assert register.value.log_dirs == [b"d" * 16]
    assert (unfence.value.broker_epoch, unfence.value.fenced) == (5, -1)
    for record in (register, unfence):
        kinds.encode(record)


def test_a_broker_that_stops_is_fenced() -> None:
    record = changes.departure(3, 5)
    assert (record.value.broker_id, record.value.broker_epoch, record.value.fenced) == (3, 5, 1)

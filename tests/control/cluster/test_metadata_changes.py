import pytest

from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.features import supported_features
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.metadata_records import MetadataRecord, PartitionRecords
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.topic_rules import GrowthPlan, TopicPlan
from tests.control.registered import directory, placement

ID = b"i" * 16
DIRECTORY = b"d" * 16


def test_a_topic_is_topic_configs_partitions() -> None:
    plan = TopicPlan("t", [placement(1), placement(3, 2, isr=[2])], {"a": "1"})
    records = changes.creation(plan, ID)
    topic, config, partitions = records
    assert isinstance(topic, MetadataRecord)
    assert isinstance(config, MetadataRecord)
    assert (topic.api_key, config.api_key) == (kinds.TOPIC, kinds.CONFIG)
    assert isinstance(partitions, PartitionRecords)
    *_, last = partitions.each()
    partition = last.value
    assert (partition.partition_id, partition.leader, partition.leader_epoch) == (1, 2, 0)
    assert (partition.replicas, partition.isr) == ([3, 2], [2])
    assert partition.directories == [directory(3), directory(2)]


def test_growth_starts_at_the_partitions_there_are() -> None:
    partitions = (PartitionRegistration(1), PartitionRegistration(1))
    topic = Topic(name="t", topic_id=ID, partitions=partitions, overrides={})
    records = changes.growth(GrowthPlan(topic, [placement(3), placement(4)]))
    each = [record.value for record in records.each()]
    assert [(one.partition_id, one.leader) for one in each] == [(2, 3), (3, 4)]
    assert changes.removal(topic).value.topic_id == ID


def test_c20_a_broker_is_registered_fenced_and_then_let_in() -> None:
    register = changes.registration(
        3,
        DIRECTORY,
        broker_epoch=5,
        incarnation_id=ID,
        endpoints=[Endpoint("PLAINTEXT", "h", 9092)],
        rack="r",
        supported=supported_features("4.3"),
    )
    unfence = changes.unfencing(3, 5)
    assert register.value.fenced
    assert not register.value.in_controlled_shutdown
    assert (register.value.broker_id, register.value.broker_epoch) == (3, 5)
    assert (register.value.incarnation_id, register.value.rack) == (ID, "r")
    levels = {one.name: one.max_supported_version for one in register.value.features}
    assert (levels["metadata.version"], levels["share.version"]) == (30, 1)
    endpoints = [(one.name, one.host, one.port) for one in register.value.end_points]
    assert endpoints == [("PLAINTEXT", "h", 9092)]
    assert register.value.log_dirs == [DIRECTORY]
    assert (unfence.value.broker_epoch, unfence.value.fenced) == (5, -1)
    for record in (register, unfence):
        kinds.encode(record)


def test_c21_a_broker_that_is_gone_is_fenced() -> None:
    record = changes.fencing(3, 5)
    assert (record.value.broker_id, record.value.broker_epoch, record.value.fenced) == (3, 5, 1)
    assert not record.value.in_controlled_shutdown


def test_c22_a_broker_that_stops_says_nothing_of_its_fence() -> None:
    record = changes.controlled_shutdown(3, 5).value
    assert (record.broker_id, record.broker_epoch, record.fenced) == (3, 5, 0)
    assert record.in_controlled_shutdown == 1


def test_c23_a_broker_that_leaves_for_good() -> None:
    record = changes.unregistration(3, 5)
    assert record.api_key == kinds.UNREGISTER_BROKER
    assert (record.value.broker_id, record.value.broker_epoch) == (3, 5)


@pytest.mark.parametrize("level", [17, 22, 23, 29, 30])
def test_changes_of_a_broker_have_the_version_that_kafka_writes(level: int) -> None:
    """C-21, C-22: by what the record says, not by metadata.version."""
    records = [changes.unfencing(3, 5), changes.fencing(3, 5), changes.controlled_shutdown(3, 5)]
    versions = [kinds.encode(record, level)[2] for record in records]
    assert versions == [0, 0, 1]
    assert [kinds.decode(kinds.encode(record, level)) for record in records] == records

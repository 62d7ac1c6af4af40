from typing import Any

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from broker_lite.control.metadata.metadata_records import MetadataRecord, PartitionRecords, make
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from tests.control.registered import placement

ID, OTHER_ID = b"a" * 16, b"b" * 16


def topic(name: str = "t", topic_id: bytes = ID) -> MetadataRecord:
    return make(kinds.TOPIC, name=name, topic_id=topic_id)


def partition(index: int, epoch: int = 0, topic_id: bytes = ID) -> MetadataRecord:
    return make(
        kinds.PARTITION,
        partition_id=index,
        topic_id=topic_id,
        leader_epoch=epoch,
        partition_epoch=0,
    )


def config(name: str, value: str | None, **resource: Any) -> MetadataRecord:
    where = {"resource_type": TOPIC_RESOURCE, "resource_name": "t", **resource}
    return make(kinds.CONFIG, name=name, value=value, **where)


def image_of(*batches: list[MetadataRecord]) -> MetadataImage:
    image = MetadataImage()
    for batch in batches:
        image.apply(batch)
    return image


def test_a_topic_is_there_by_name_and_id() -> None:
    image = image_of([topic(), config("retention.ms", "5"), partition(0), partition(1)])
    found = image.topics["t"]
    assert image.topics_by_id[ID] is found
    assert found.partition_count == 2
    assert found.overrides == {"retention.ms": "5"}
    assert not found.is_internal


def test_the_order_of_the_records_of_a_topic_is_free() -> None:
    image = image_of([topic(), partition(0), config("retention.ms", "5")])
    assert image.topics["t"].overrides == {"retention.ms": "5"}


def test_p74_internal_topics_are_told() -> None:
    image = image_of([topic("__consumer_offsets"), partition(0)])
    assert image.topics["__consumer_offsets"].is_internal


def test_partitions_are_added_and_values_do_not_change() -> None:
    image = image_of([topic(), partition(0)])
    before = image.topics["t"]
    image.apply([partition(1), partition(2)])
    assert before.partition_count == 1
    assert image.topics["t"].partition_count == 3


def test_partitions_that_are_one_value_are_those_of_their_records() -> None:
    places = [placement(1, 2), placement(3, 1, 2, isr=[1, 2]), placement(1, 2)]
    records = PartitionRecords(ID, 1, places)
    together = image_of([topic(), partition(0)])
    together.apply([records])
    one_by_one = image_of([topic(), partition(0)], list(records.each()))
    assert together.topics == one_by_one.topics
    first, second, third = together.topics["t"].partitions[1:]
    assert first == PartitionRegistration(leader=1, replicas=(1, 2), isr=(1, 2))
    assert second == PartitionRegistration(leader=1, replicas=(3, 1, 2), isr=(1, 2))
    assert third is first


def test_p89_a_change_of_leader_raises_the_epoch_anything_else_does_not() -> None:
    change = {"partition_id": 0, "topic_id": ID}
    image = image_of(
        [topic(), partition(0, 3)],
        [make(kinds.PARTITION_CHANGE, leader=1, **change)],
        [make(kinds.PARTITION_CHANGE, isr=[1], **change)],
    )
    (changed,) = image.topics["t"].partitions
    assert (changed.leader, changed.leader_epoch, changed.isr) == (1, 4, (1,))
    assert changed.partition_epoch == 2


def test_a_partition_record_again_is_the_partition_as_it_is_now() -> None:
    image = image_of([topic(), partition(0)], [partition(0, 9)])
    assert [one.leader_epoch for one in image.topics["t"].partitions] == [9]


def test_a_partition_is_what_its_record_says() -> None:
    record = make(
        kinds.PARTITION,
        partition_id=0,
        topic_id=ID,
        replicas=[3, 1, 2],
        isr=[],
        leader=NO_LEADER,
        leader_epoch=7,
        partition_epoch=9,
        eligible_leader_replicas=[1],
        last_known_elr=[3],
        leader_recovery_state=1,
    )
    image = image_of([topic(), record])
    assert image.topics["t"].partitions == (
        PartitionRegistration(NO_LEADER, 7, (3, 1, 2), (), (1,), (3,), 9, True),
    )


def test_a_change_leaves_what_it_does_not_name() -> None:
    """Null leaves a list as it is, an empty list empties it (PartitionRegistration.merge)."""
    before = PartitionRegistration(1, 3, (1, 2), (1,), (2,), (1,), 5, True)
    image = image_of([topic(), partition(0, 3)])
    name = {"partition_id": 0, "topic_id": ID}
    image.apply(
        [
            make(
                kinds.PARTITION,
                **name,
                replicas=[1, 2],
                isr=[1],
                leader=1,
                leader_epoch=3,
                partition_epoch=5,
                eligible_leader_replicas=[2],
                last_known_elr=[1],
                leader_recovery_state=1,
            )
        ]
    )
    assert image.topics["t"].partitions == (before,)
    image.apply([make(kinds.PARTITION_CHANGE, **name)])
    assert image.topics["t"].partitions == (before._replace(partition_epoch=6),)
    nothing: list[int] = []
    image.apply(
        [
            make(
                kinds.PARTITION_CHANGE,
                **name,
                isr=nothing,
                eligible_leader_replicas=nothing,
                last_known_elr=nothing,
                leader_recovery_state=0,
                leader=NO_LEADER,
            )
        ]
    )
    after = PartitionRegistration(NO_LEADER, 4, (1, 2), (), (), (), 7, False)
    assert image.topics["t"].partitions == (after,)


def test_a_leader_that_is_named_again_has_a_new_epoch() -> None:
    image = image_of([topic(), partition(0, 3)])
    leader = image.topics["t"].partitions[0].leader
    image.apply([make(kinds.PARTITION_CHANGE, partition_id=0, topic_id=ID, leader=leader)])
    (changed,) = image.topics["t"].partitions
    assert (changed.leader, changed.leader_epoch, changed.partition_epoch) == (leader, 4, 1)


def test_partitions_that_are_alike_share_one_value() -> None:
    image = image_of([topic(), partition(0), partition(1)])
    first, second = image.topics["t"].partitions
    assert first is second
    image.apply([topic("u", OTHER_ID), partition(0, topic_id=OTHER_ID)])
    assert image.topics["u"].partitions[0] is first


def test_a_change_of_one_partition_leaves_its_neighbours() -> None:
    image = image_of([topic(), partition(0), partition(1), partition(2)])
    before = image.topics["t"].partitions
    image.apply([make(kinds.PARTITION_CHANGE, partition_id=1, topic_id=ID, isr=[2])])
    after = image.topics["t"].partitions
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1].isr == (2,)


def test_changes_of_partitions_that_are_not_there_are_skipped() -> None:
    image = image_of([topic(), partition(0)])
    before = image.topics["t"]
    image.apply([make(kinds.PARTITION_CHANGE, partition_id=1, topic_id=ID, leader=5)])
    image.apply([make(kinds.PARTITION_CHANGE, partition_id=0, topic_id=OTHER_ID, leader=5)])
    assert image.topics == {"t": before}


def test_growth_in_the_batch_of_the_creation() -> None:
    image = MetadataImage()
    image.apply(
        [
            topic(),
            PartitionRecords(ID, 0, [placement(1)]),
            config("retention.ms", "5"),
            PartitionRecords(ID, 1, [placement(2), placement(1)]),
            make(kinds.PARTITION_CHANGE, partition_id=2, topic_id=ID, leader=7),
        ]
    )
    found = image.topics["t"]
    assert [one.leader for one in found.partitions] == [1, 2, 7]
    assert found.overrides == {"retention.ms": "5"}


def test_p92_removal_takes_configs_and_the_id_along() -> None:
    image = image_of([topic(), config("retention.ms", "5"), partition(0)])
    image.apply([make(kinds.REMOVE_TOPIC, topic_id=ID)])
    assert (image.topics, image.topics_by_id, image.colliding_topic("t")) == ({}, {}, None)
    image.apply([topic(topic_id=OTHER_ID), partition(0, topic_id=OTHER_ID)])
    assert image.topics["t"].overrides == {}
    assert image.topics["t"].topic_id == OTHER_ID


def test_removal_in_the_batch_of_the_creation() -> None:
    image = image_of([topic(), partition(0), make(kinds.REMOVE_TOPIC, topic_id=ID)])
    assert image.topics == {}


def test_records_of_topics_that_are_gone_are_skipped() -> None:
    image = image_of(
        [
            partition(0),
            make(kinds.PARTITION_CHANGE, partition_id=0, topic_id=ID, leader=1),
            make(kinds.REMOVE_TOPIC, topic_id=ID),
        ]
    )
    assert image.topics == {}


def test_p101_the_topic_that_a_name_collides_with() -> None:
    image = image_of([topic("a.b"), partition(0)])
    assert image.colliding_topic("a_b") == "a.b"
    assert image.colliding_topic("a-b") is None


def test_configs_are_values_by_resource() -> None:
    broker = {"resource_type": BROKER_RESOURCE, "resource_name": ""}
    image = image_of([config("message.max.bytes", "9", **broker)])
    first = image.configs(BROKER_RESOURCE, "")
    image.apply([config("message.max.bytes", None, **broker)])
    assert first == {"message.max.bytes": "9"}
    assert image.configs(BROKER_RESOURCE, "") == {}


def test_a_changed_config_makes_a_new_topic_value() -> None:
    image = image_of([topic(), partition(0)])
    before = image.topics["t"]
    image.apply([config("retention.ms", "7")])
    assert before.overrides == {}
    assert image.topics["t"].overrides == {"retention.ms": "7"}
    assert image.topics_by_id[ID] is image.topics["t"]


def test_features_ids_and_broker_epoch() -> None:
    image = image_of(
        [
            make(kinds.FEATURE_LEVEL, name="group.version", feature_level=1),
            make(kinds.FEATURE_LEVEL, name="metadata.version", feature_level=25),
            make(kinds.FEATURE_LEVEL, name="group.version", feature_level=0),
            make(kinds.PRODUCER_IDS, broker_id=1, broker_epoch=2, next_producer_id=1000),
            make(kinds.REGISTER_BROKER, broker_id=1, broker_epoch=4),
        ]
    )
    assert image.features == {"metadata.version": 25}
    assert (image.next_producer_id, image.version) == (1000, 1)
    assert (image.broker_epoch(1), image.broker_epoch(2)) == (4, -1)


def test_kinds_that_nothing_depends_on_are_skipped() -> None:
    image = image_of([make(kinds.BROKER_REGISTRATION_CHANGE, broker_id=1)])
    assert image.topics == {}

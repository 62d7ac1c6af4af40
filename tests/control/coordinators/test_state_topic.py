from pathlib import Path

import pytest

from broker_lite.control.cluster.controller import Moved
from broker_lite.control.coordinators.state_topic import ReplayedBatch, StateTopic
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.placement import partition_of
from broker_lite.errors import (
    InvalidReplicationFactor,
    KafkaStorageError,
    NotEnoughReplicas,
    RecordListTooLarge,
)
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker
from broker_lite.record.crc import crc32c
from tests.control.conftest import OpenCluster
from tests.support.disk import Disk

NOW_MS = 1_700_000_000_000


def records(*pairs: tuple[bytes, bytes | None]) -> list[StateRecord]:
    return [StateRecord(*pair) for pair in pairs]


def test_it_is_made_when_it_is_needed(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    assert (topic.exists, topic.partition_count, [*topic.replay()]) == (False, 50, [])
    made = topic.ensure()
    assert topic.ensure() is made
    assert topic.exists


def test_g23_what_cannot_be_made_is_an_error(open_cluster: OpenCluster) -> None:
    topic = StateTopic(open_cluster(offsets_topic_replication_factor="2"), OFFSETS_TOPIC)
    with pytest.raises(InvalidReplicationFactor):
        topic.append(0, records((b"k", b"v")), now_ms=NOW_MS)


def test_one_step_is_one_batch_and_is_read_back(open_cluster: OpenCluster) -> None:
    topic = StateTopic(open_cluster(), OFFSETS_TOPIC)
    topic.append(3, records((b"a", b"1"), (b"b", None)), now_ms=NOW_MS)
    topic.append(49, records((b"c", b"3")), now_ms=NOW_MS)
    topic.append(3, records((b"d", b"4")), now_ms=NOW_MS, producer=(7, 1))
    expected = [
        (3, ReplayedBatch(-1, False, None, [(b"a", b"1"), (b"b", None)])),
        (3, ReplayedBatch(7, True, None, [(b"d", b"4")])),
        (49, ReplayedBatch(-1, False, None, [(b"c", b"3")])),
    ]
    assert [*topic.replay()] == expected


def test_where_its_partitions_end(open_cluster: OpenCluster, disk: Disk) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    assert topic.end_offset(3) == 0
    topic.append(3, records((b"a", b"1"), (b"b", None)), now_ms=NOW_MS)
    assert topic.end_offset(3) == 2
    cluster.close()
    topic = StateTopic(open_cluster(), OFFSETS_TOPIC)
    disk.refuse("scandir", below=OFFSETS_TOPIC)
    assert topic.end_offset(3) == -1
    disk.mend()
    assert topic.end_offset(3) == 2


def test_the_codec_of_the_setting_is_used(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC, codec=1)
    topic.append(0, records((b"k", bytes(10_000))), now_ms=NOW_MS)
    assert cluster.logs.size_bytes(OFFSETS_TOPIC, 0) < 1000
    ((_, batch),) = topic.replay()
    assert batch.records == [(b"k", bytes(10_000))]


def test_t53_a_marker_says_how_a_transaction_ended(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    topic.append(0, records((b"k", b"v")), now_ms=NOW_MS, producer=(7, 1))
    marker = EndTransactionMarker(is_commit=True, coordinator_epoch=0)
    cluster.log(OFFSETS_TOPIC, 0).append_control(7, 1, marker, now_ms=NOW_MS)
    assert [batch.marker for _, batch in topic.replay()] == [None, marker]


def test_it_is_the_same_after_a_restart(open_cluster: OpenCluster) -> None:
    first = open_cluster()
    StateTopic(first, OFFSETS_TOPIC).append(5, records((b"k", b"v")), now_ms=NOW_MS)
    first.close()
    topic = StateTopic(open_cluster(), OFFSETS_TOPIC)
    assert [batch.records for _, batch in topic.replay()] == [[(b"k", b"v")]]


def test_what_was_deleted_from_the_log_is_not_read(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    for value in (b"1", b"2"):
        topic.append(0, records((b"k", value)), now_ms=NOW_MS)
    cluster.log(OFFSETS_TOPIC, 0).log_start_offset = 1
    assert [batch.records for batch in topic.replay_partition(0)] == [[(b"k", b"2")]]


def test_g07_what_is_where_does_not_change_while_it_is_used(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(offsets_topic_num_partitions="3")
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    assert (topic.ensure().partition_count, topic.partition_of("g")) == (3, 103 % 3)
    cluster.create_partitions([cluster.plan_growth(Growth(OFFSETS_TOPIC, 7))])
    assert topic.partition_of("g") == 103 % 3
    assert StateTopic(cluster, OFFSETS_TOPIC).partition_of("g") == 103 % 7
    # a topic that is made anew is another one
    cluster.delete_topics([cluster.topics[OFFSETS_TOPIC]])
    cluster.create_topics([cluster.plan_topic(NewTopic(OFFSETS_TOPIC, 5))])
    assert topic.partition_of("g") == 103 % 5


def test_g07_many_ids_and_long_ones_are_where_they_belong(open_cluster: OpenCluster) -> None:
    topic = StateTopic(open_cluster(), OFFSETS_TOPIC)
    for entity_id in ("g" * 201, *map(str, range(10_002)), "0"):
        assert topic.partition_of(entity_id) == partition_of(entity_id, topic.partition_count)


def test_only_a_batch_larger_than_a_segment_is_refused(open_cluster: OpenCluster) -> None:
    settings = {"offsets_topic_segment_bytes": str(2 << 20)}
    topic = StateTopic(open_cluster(**settings), OFFSETS_TOPIC)
    topic.append(0, records((b"k", bytes((2 << 20) - 100))), now_ms=NOW_MS)
    with pytest.raises(RecordListTooLarge):
        topic.append(0, records((b"k", bytes(2 << 20))), now_ms=NOW_MS)
    assert len([*topic.replay()]) == 1


def test_what_is_damaged_is_told(open_cluster: OpenCluster, tmp_path: Path) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    for value in (b"1", b"2"):
        topic.append(0, records((b"k", value)), now_ms=NOW_MS)
    path = tmp_path / "data" / f"{OFFSETS_TOPIC}-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2 + 30] ^= 1
    path.write_bytes(data)
    with pytest.raises(KafkaStorageError, match="__consumer_offsets-0 cannot be read at offset 1"):
        list(topic.replay())


def test_a_batch_whose_records_are_damaged_is_told(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    builder = BatchBuilder()
    builder.append(NOW_MS, b"k", b"v")
    batch = bytearray(builder.build())
    batch[RECORD_BATCH_OVERHEAD] = 0x7F  # the length of the record
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    topic.ensure()
    cluster.log(OFFSETS_TOPIC, 0).append_batch(batch, now_ms=NOW_MS)
    with pytest.raises(KafkaStorageError, match="__consumer_offsets-0 cannot be read at offset 1"):
        list(topic.replay())


# -- who leads


def test_c60_one_broker_leads_everything_even_before_the_topic_exists(
    open_cluster: OpenCluster,
) -> None:
    cluster = open_cluster(offsets_topic_num_partitions="3")
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    for _ in range(2):
        assert topic.leads_all(1)
        assert topic.is_led("g", 1)
        assert topic.is_led_by_any("g")
        assert not topic.is_led("g", 2)
        topic.ensure()
    assert topic.partitions_to_replay() == [0, 1, 2]
    cluster.controller.fence(1)
    assert not topic.leads_all(1)
    assert not topic.is_led("g", 1)
    assert not topic.is_led_by_any("g")
    assert topic.partitions_to_replay() == []


def test_c60_each_of_several_brokers_leads_its_partitions(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(
        broker_lite_brokers="3",
        offsets_topic_num_partitions="3",
        offsets_topic_replication_factor="3",
    )
    topic = StateTopic(cluster, OFFSETS_TOPIC)
    assert [topic.leader(partition) for partition in range(3)] == [-1, -1, -1]
    assert not any(topic.is_led("g", node_id) for node_id in (1, 2, 3))
    assert not topic.is_led_by_any("g")
    topic.ensure()
    leaders = [topic.leader(partition) for partition in range(4)]
    assert sorted(leaders) == [-1, 1, 2, 3]
    place = topic.partition_of("g")
    assert [n for n in (1, 2, 3) if topic.is_led("g", n)] == [leaders[place]]
    assert topic.is_led_by_any("g")
    assert not any(map(topic.leads_all, (1, 2, 3)))
    cluster.controller.fence(1)
    cluster.controller.fence(2)
    assert topic.leads_all(3)


def test_c65_moves_are_those_of_its_own_partitions_to_another_epoch(
    open_cluster: OpenCluster,
) -> None:
    cluster = open_cluster()
    topic, other = StateTopic(cluster, OFFSETS_TOPIC).ensure(), cluster.create_topic("t")
    before = topic.partitions[0]
    led = Moved(topic, 0, before, before._replace(leader_epoch=1))
    shrunk = Moved(topic, 1, before, before._replace(isr=()))
    foreign = Moved(other, 0, before, before._replace(leader_epoch=1))
    assert StateTopic(cluster, OFFSETS_TOPIC).moves([led, shrunk, foreign]) == [led]


def test_c53_transactions_need_enough_replicas_and_groups_do_not(
    open_cluster: OpenCluster,
) -> None:
    """As in Kafka: the one appends with acks -1, the other with acks 1."""
    cluster = open_cluster()
    for name, expected in ((OFFSETS_TOPIC, 1), (TRANSACTIONS_TOPIC, 0)):
        topic = StateTopic(cluster, name)
        topic.ensure()
        cluster.log(name, 0).lacks_replicas = True
        if expected:
            topic.append(0, records((b"k", b"v")), now_ms=NOW_MS)
        else:
            with pytest.raises(NotEnoughReplicas):
                topic.append(0, records((b"k", b"v")), now_ms=NOW_MS)
        assert topic.end_offset(0) == expected

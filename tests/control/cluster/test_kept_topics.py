"""Topics that are made anew."""

import pytest

from broker_lite.control.cluster import kept_topics
from broker_lite.control.cluster.kept_topics import kept, make_anew
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from tests.control.conftest import OpenCluster
from tests.control.trio import SETTINGS, register


def topic(number: int, *partitions: PartitionRegistration, is_internal: bool = False) -> Topic:
    return Topic(
        name=f"t{number}",
        topic_id=bytes([number]) * 16,
        partitions=partitions,
        overrides={"retention.ms": str(number)},
        is_internal=is_internal,
    )


def test_topics_of_kafka_itself_are_not_kept() -> None:
    plain = topic(1)
    assert kept([plain, topic(2, is_internal=True)]) == [plain]


@pytest.mark.parametrize("at_a_time", [1, 10_000])
def test_ids_configs_and_replicas_stay_and_leaders_do_not(
    open_cluster: OpenCluster, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    monkeypatch.setattr(kept_topics, "PARTITIONS_PER_REQUEST_MAX", at_a_time)
    cluster = open_cluster(**SETTINGS)
    register(cluster)
    moved = PartitionRegistration(3, 7, replicas=(2, 3), isr=(3,), partition_epoch=9)
    growing = PartitionRegistration(-1, 1, replicas=(3, 1, 2), isr=(), adding=(1,))
    before = [topic(1, moved, growing), topic(2, moved)]
    make_anew(cluster, before)
    first, second = (cluster.topics[each.name] for each in before)
    for made, old in ((first, before[0]), (second, before[1])):
        assert (made.topic_id, made.overrides) == (old.topic_id, old.overrides)
    assert first.partitions == (
        PartitionRegistration(2, 0, replicas=(2, 3), isr=(2, 3)),
        PartitionRegistration(3, 0, replicas=(3, 2), isr=(3, 2)),
    )
    assert second.partition_count == 1


def test_nothing_is_made_of_nothing(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    make_anew(cluster, [])
    assert not cluster.topics

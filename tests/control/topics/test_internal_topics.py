import pytest

from broker_lite.control.topics.internal_topics import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    automatic_topic,
    partition_count,
)
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.settings import load_settings
from tests.control.conftest import OpenCluster


@pytest.mark.parametrize(
    ("name", "count", "configs"),
    [
        (
            OFFSETS_TOPIC,
            50,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": "104857600",
            },
        ),
        (
            TRANSACTIONS_TOPIC,
            50,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": "1",
                "segment.bytes": "104857600",
                "unclean.leader.election.enable": "false",
            },
        ),
    ],
)
def test_p85_kafkas_own_topics_have_kafkas_configs(
    open_cluster: OpenCluster, name: str, count: int, configs: dict[str, str]
) -> None:
    cluster = open_cluster()
    topic = cluster.create_topic(name)
    assert (topic.partition_count, dict(topic.overrides)) == (count, configs)
    assert topic.is_internal
    # 50 directories would cost the first client 10 ms; each is made when it is used
    assert [*cluster.logs.data_dir.glob(f"{name}-*")] == []
    assert cluster.log(name, 49).log_end_offset == 0


def test_p85_settings_change_them() -> None:
    texts = {
        "offsets.topic.num.partitions": "3",
        "offsets.topic.segment.bytes": "2000000",
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": "2",
    }
    settings = load_settings(env={}, overrides=texts)
    offsets = automatic_topic(settings, OFFSETS_TOPIC)
    assert (offsets.partition_count, dict(offsets.configs)["segment.bytes"]) == (3, "2000000")
    assert automatic_topic(settings, TRANSACTIONS_TOPIC).replication_factor == 2
    assert [partition_count(settings, n) for n in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)] == [3, 4]


def test_p85_other_topics_have_the_brokers_defaults() -> None:
    assert automatic_topic(load_settings(env={}, overrides={}), "t") == NewTopic("t")

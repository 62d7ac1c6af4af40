"""What the differential test does not reach; most of P-141 is in tests/differential."""

from pathlib import Path

import pytest

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.log.replicas import Lag
from broker_lite.record.builder import BatchBuilder
from tests.log.batches import batch, record
from tests.support.disk import Disk
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import place_topic, talk_to


@pytest.mark.parametrize("version", range(6))
def test_p141_every_version_measures_all(
    broker: HandlerBroker, version: int, tmp_path: Path
) -> None:
    broker.cluster.create_topic("t")
    builder = BatchBuilder()
    builder.append(1, None, b"v")
    batch = builder.build()
    broker.cluster.log("t", 0).append_batch(batch, now_ms=1)
    result = one(broker.call("DescribeLogDirs", version, topics=None).results)
    assert (result.error_code, result.log_dir) == (0, str(tmp_path / "data"))
    partition = one(one(result.topics).partitions)
    assert (partition.partition_size, partition.offset_lag) == (len(batch), 0)
    assert (result.total_bytes > result.usable_bytes >= 0) == (version >= 4)


def test_many_partitions_that_nobody_uses(broker: HandlerBroker) -> None:
    (topic,) = broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("t", 300, 1))])
    broker.cluster.make_logs(topic, 0, 299)
    result = one(broker.call("DescribeLogDirs", 5, topics=None).results)
    assert [each.partition_size for each in one(result.topics).partitions] == [0] * 300
    assert broker.cluster.logs.loaded_logs() == []


def test_a_partition_that_cannot_be_measured_is_left_out(
    open_broker: OpenBroker, disk: Disk
) -> None:
    stopped = open_broker()
    stopped.cluster.create_topic("t")
    stopped.cluster.log("t", 0).append_batch(batch(record()), now_ms=1)
    stopped.cluster.close()
    broker = open_broker()
    disk.refuse("scandir", below="t-")
    result = one(broker.call("DescribeLogDirs", 5, topics=None).results)
    assert result.topics == []


def test_p141_a_file_system_that_does_not_tell_its_size(
    broker: HandlerBroker, tmp_path: Path
) -> None:
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    result = one(broker.call("DescribeLogDirs", 5, topics=None).results)
    (tmp_path / "elsewhere").rename(tmp_path / "data")
    assert (result.total_bytes, result.usable_bytes) == (-1, -1)


@pytest.mark.parametrize(("node_id", "indexes"), [(1, [0, 1]), (2, [1]), (3, [0])])
def test_p141_each_broker_measures_its_replicas(
    open_broker: OpenBroker, node_id: int, indexes: list[int]
) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), node_id)
    place_topic(broker.cluster, "t", [1, 3], [2, 1])
    result = one(broker.call("DescribeLogDirs", 4, topics=None).results)
    assert [each.partition_index for each in one(result.topics).partitions] == indexes


@pytest.fixture
def lagging(open_broker: OpenBroker) -> HandlerBroker:
    """Broker 2 has the first one of two records of t-0."""
    broker = open_broker(broker_lite_brokers="3")
    topic = place_topic(broker.cluster, "t", [1, 2, 3])
    manager = ReplicaManager(broker.cluster, broker.clock)
    log = broker.cluster.log("t", 0)
    log.append_batch(batch(record()), now_ms=1)
    manager.fall_behind(topic, 0, 2, Lag(is_frozen=True))
    log.append_batch(batch(record()), now_ms=1)
    return broker


def sizes_at(broker: HandlerBroker, node_id: int) -> list[int]:
    result = one(talk_to(broker, node_id).call("DescribeLogDirs", 4, topics=None).results)
    return [each.partition_size for topic in result.topics for each in topic.partitions]


def test_p141_a_replica_that_is_behind_tells_what_it_has(lagging: HandlerBroker) -> None:
    size_bytes = len(batch(record()))
    assert [sizes_at(lagging, node_id) for node_id in (1, 2, 3)] == [
        [size_bytes * 2],
        [size_bytes],
        [size_bytes * 2],
    ]


def test_p141_a_replica_that_cannot_be_measured_is_left_out(lagging: HandlerBroker) -> None:
    path = Path(lagging.cluster.log("t", 0).segments.active.path)
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert (sizes_at(lagging, 2), len(sizes_at(lagging, 3))) == ([], 1)

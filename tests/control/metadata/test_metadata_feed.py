"""The bytes of a metadata log, read by who follows it."""

import asyncio
from pathlib import Path

import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_feed import (
    FEED_BYTES,
    Followed,
    MetadataReader,
    batches_of,
)
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import MetadataRecord, make
from broker_lite.control.metadata.metadata_snapshot import Snapshot
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import BrokerError
from broker_lite.handler.large import in_slices
from tests.control.conftest import OpenCluster


def decoded(data: bytes) -> list[Followed]:
    async def decode() -> list[Followed]:
        return [await in_slices(batch) for batch in batches_of(data)]

    return asyncio.run(decode())


def read_all(reader: MetadataReader) -> list[Followed]:
    found: list[Followed] = []
    while data := reader.read():
        found += decoded(data)
    return found


def replayed(cluster: Cluster) -> list[list[MetadataRecord]]:
    """What a restart would read."""
    return [list(records) for records in cluster.metadata_log.replay()]


def with_records(found: list[Followed]) -> list[list[MetadataRecord]]:
    return [each.records for each in found if each.records]


def topic(cluster: Cluster, name: str, partitions: int = 1) -> None:
    cluster.create_topics([cluster.plan_topic(NewTopic(name, partitions))])


def test_a_follower_knows_what_a_restart_would_know(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic(cluster, "t", 3)
    reader = MetadataReader(cluster.metadata_log, cluster.metadata_version)
    found = read_all(reader)
    assert with_records(found) == replayed(cluster)
    assert found[-1].end_offset == cluster.metadata_log.end_offset
    assert reader.read() == b""


def test_what_is_written_later_comes_later(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    reader = MetadataReader(cluster.metadata_log, cluster.metadata_version)
    reader.go_to_end()
    assert reader.read() == b""
    topic(cluster, "t")
    (followed,) = read_all(reader)
    assert [record.api_key for record in followed.records] == [kinds.TOPIC, kinds.PARTITION]


def test_a_batch_above_the_size_of_a_read_comes_alone(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    reader = MetadataReader(cluster.metadata_log, cluster.metadata_version)
    reader.go_to_end()
    topic(cluster, "large", 9000)
    topic(cluster, "small")
    first = reader.read()
    assert len(first) > FEED_BYTES
    assert [len(each.records) for each in decoded(first)] == [9001]
    assert [len(each.records) for each in read_all(reader)] == [2]


def test_the_log_may_have_several_segments(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(metadata_log_segment_bytes="8388608")
    for number in range(14):
        topic(cluster, f"t{number}", 9900)
    assert len(cluster.metadata_log.segments) > 1
    reader = MetadataReader(cluster.metadata_log, cluster.metadata_version)
    data = b"".join(iter(reader.read, b""))
    files = sorted((cluster.logs.data_dir / "__cluster_metadata-0").glob("*.log"))
    assert data == b"".join(
        file.read_bytes()[: segment.size_bytes]
        for file, segment in zip(files, cluster.metadata_log.segments, strict=True)
    )


def test_a_snapshot_comes_before_the_log(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    topic(cluster, "t")
    log = cluster.metadata_log
    log.snapshot = Snapshot(log.end_offset, 0, ((make(kinds.TOPIC, name="of the snapshot"),),))
    topic(cluster, "later")
    found = with_records(read_all(MetadataReader(log, cluster.metadata_version)))
    names = [record.value.name for batch in found for record in batch if record.api_key == 2]
    assert names == ["of the snapshot", "later"]


def test_a_damaged_batch_is_refused(open_cluster: OpenCluster, tmp_path: Path) -> None:
    cluster = open_cluster()
    topic(cluster, "t")
    data = bytearray(MetadataReader(cluster.metadata_log, cluster.metadata_version).read())
    data[-1] ^= 1
    with pytest.raises(BrokerError):
        decoded(bytes(data))
    assert isinstance(cluster.metadata_log, MetadataLog)

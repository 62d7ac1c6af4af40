"""How far groups are behind, by what a broker wrote when they committed."""

from pathlib import Path

from pyspark.sql import SparkSession

from broker_lite.coordinator.offset_records import (
    NO_EXPIRY,
    CommittedOffset,
    encode_offset_key,
    encode_offset_value,
)
from broker_lite.pipeline.report.data import GroupFacts, PartitionFacts
from broker_lite.pipeline.spark.jobs.group_lags import group_lags
from broker_lite.testing import Broker
from broker_lite.wire import ZERO_UUID
from tests.pipeline.support import T0, NewRecord, Partition

ENDS = tuple(PartitionFacts("t", number, 1, 1, 1, 0, 99, T0, T0) for number in range(2))


def commit(group: str, partition: int, offset: int, topic: str = "t") -> NewRecord:
    committed = CommittedOffset(offset, -1, "", T0 + offset, NO_EXPIRY, ZERO_UUID)
    return NewRecord(encode_offset_key(group, topic, partition), encode_offset_value(committed))


def removal(group: str, partition: int) -> NewRecord:
    return NewRecord(encode_offset_key(group, "t", partition), None)


def test_g_66_the_last_commit_of_each_partition_counts(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path, "__consumer_offsets", 1) as log:
        log.append([commit("slow", 0, 10), commit("slow", 1, 60), commit("slow", 0, 30)])
        log.append([commit("gone", 0, 5), commit("slow", 0, 99, topic="elsewhere")])
        log.append([removal("gone", 0), NewRecord(b"\0\2about a group", b"v")])
        log.append([NewRecord(b"\0\1damaged", b"v"), NewRecord(None, b"no key")])
    with Partition(tmp_path, "__consumer_offsets", 2) as log:
        log.append([commit("fast", 0, 100), commit("ahead", 1, 140)])
        log.append([commit("fast", 0, 0)], producer_id=7, is_transactional=True)
        log.end_transaction(7, commit=False)
        log.append([commit("fast", 1, 98)], producer_id=7, is_transactional=True)
        log.end_transaction(7, commit=True)
    assert group_lags(spark, str(tmp_path), ENDS) == (
        GroupFacts("slow", 2, 70 + 40, "t-0", 70, T0 + 60),
        GroupFacts("fast", 2, 2, "t-1", 2, T0 + 100),
        GroupFacts("ahead", 1, 0, "t-1", 0, T0 + 140),
    )
    assert group_lags(spark, str(tmp_path), ENDS[:1])[0] == GroupFacts(
        "slow", 1, 70, "t-0", 70, T0 + 30
    )


def test_a_log_that_is_no_brokers_has_no_groups(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path, "t", 0) as log:
        log.append([NewRecord(b"k", b"v")])
    assert group_lags(spark, str(tmp_path), ENDS) == ()
    assert group_lags(spark, str(tmp_path / "t-0"), ENDS) == ()


def test_what_a_broker_wrote(spark: SparkSession, tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data", topics=["t"]) as broker:
        broker.produce("t", *"abcde", partition=0)
        broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 2}})
    ends = (PartitionFacts("t", 0, 1, 5, 1, 0, 4, T0, T0),)
    (found,) = group_lags(spark, str(tmp_path / "data"), ends)
    assert found[:5] == ("g", 1, 3, "t-0", 3)

"""What a report measures is what was written."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from broker_lite.pipeline.report.data import PartitionFacts, ProducerFacts, SizeCount
from broker_lite.pipeline.report.log_page import log_page
from broker_lite.pipeline.spark.jobs.report import newest, report
from tests.pipeline.mixed_log import write_mixed_log
from tests.pipeline.support import T0, NewRecord, Partition, damage

MINUTE_MS = 60_000


def records(*keys: bytes | None, after_ms: int = 0) -> list[NewRecord]:
    return [NewRecord(key, b"v" * 100, timestamp_ms=T0 + after_ms) for key in keys]


def write_log(root: Path) -> None:
    with Partition(root, "orders", 0) as log:
        log.append(records(b"a", b"a", b"b", None), producer_id=5, codec=4)
        log.append(records(b"a", after_ms=30 * MINUTE_MS), producer_id=6, is_transactional=True)
        log.end_transaction(6, commit=True)
    with Partition(root, "orders", 1) as log:
        log.append(records(b"c", after_ms=60 * MINUTE_MS))
    with Partition(root, "unkeyed", 0) as log:
        log.append([NewRecord(None, None, timestamp_ms=T0)])


def test_a_report(spark: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path)
    found = report(spark, str(tmp_path))
    names = [(one.name, one.batches, one.records, one.last_offset) for one in found.partitions]
    assert names == [("orders-0", 3, 5, 5), ("orders-1", 1, 1, 0), ("unkeyed-0", 1, 1, 0)]
    assert found.partitions[1].first_ms == T0 + 60 * MINUTE_MS
    assert found.bucket_ms == {"orders": MINUTE_MS, "unkeyed": 1000}
    assert sum(one.number for one in found.batch_sizes) == 5
    assert found.batch_records == (SizeCount(1, 3), SizeCount(4, 1))
    rates = [
        (point.topic, point.at_ms - T0 // MINUTE_MS * MINUTE_MS, point.records)
        for point in found.rates
    ]
    assert ("orders", 0, 4) in rates
    assert ("orders", 60 * MINUTE_MS, 1) in rates
    assert [one.offset for one in found.times if one.name == "orders-0"] == [3, 4, 5]
    assert found.producer_count == 2
    large, small = found.producers
    assert isinstance(large, ProducerFacts)
    assert {large.producer_id, small.producer_id} == {5, 6}
    assert {large.transactional_batches, small.transactional_batches} == {0, 1}
    codecs = {(one.topic, one.codec): one for one in found.codecs}
    assert codecs.keys() == {("orders", "none"), ("orders", "zstd"), ("unkeyed", "none")}
    assert codecs["orders", "zstd"].ratio > 2
    assert found.key_sizes == (SizeCount(1, 5),)
    assert found.value_sizes == (SizeCount(128, 6),)
    orders, unkeyed = found.keys
    assert (orders.records, orders.without_key, orders.keys) == (6, 1, 3)
    assert orders.top == ((b"a", 3), (b"b", 1), (b"c", 1))
    assert (unkeyed.records, unkeyed.without_key, unkeyed.keys, unkeyed.top) == (1, 1, 0, ())
    assert "orders-0" in log_page(found)


def test_headers_of_batches_only_and_damage_left_out(spark: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path)
    damage(tmp_path / "orders-1" / f"{0:020}.log", 16)
    found = report(spark, str(tmp_path), {"subscribe": "orders"}, with_records=False)
    assert [one.name for one in found.partitions] == ["orders-0"]
    assert found.damaged_places == 1
    assert (found.codecs, found.keys, found.key_sizes, found.value_sizes) == ((), (), (), ())


def test_records_with_log_append_time_have_the_time_of_the_append(
    spark: SparkSession, tmp_path: Path
) -> None:
    day_ms = 86_400_000
    with Partition(tmp_path) as log:
        log.append(records(b"a", after_ms=-day_ms), log_append_time_ms=T0 + 5, producer_id=1)
        log.append(records(b"b", after_ms=-day_ms), log_append_time_ms=T0 + 9, producer_id=1)
    found = report(spark, str(tmp_path), with_records=False)
    written = [row.timestamp_ms for row in log.rows]
    (partition,), (producer,) = found.partitions, found.producers
    assert (partition.first_ms, partition.last_ms) == (min(written), max(written))
    assert (producer.first_ms, producer.last_ms) == (T0 + 5, T0 + 9)
    (delay,) = found.delays
    assert delay[1:] == (2, day_ms + 5, day_ms + 9, day_ms + 9)


def test_a_sample_has_the_newest_offsets() -> None:
    short = PartitionFacts("t", 1, 1, 1, 1, 10, 10, T0, T0)
    long = short._replace(partition=0, last_offset=109)
    options = newest({"subscribePattern": ".*", "checkCrc": "false"}, (long, short), 0.25)
    assert json.loads(options.pop("startingOffsets")) == {"t": {"0": 85, "1": 10}}
    assert json.loads(options.pop("assign")) == {"t": [0, 1]}
    assert options == {"checkCrc": "false"}


def test_figures_of_a_mixed_log_are_those_of_a_count_by_hand(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_mixed_log(tmp_path)
    with Partition(tmp_path, "old") as old:
        for index in range(10):
            old.append([NewRecord(b"k", b"v" * 1000, timestamp_ms=index * 1000)])
    with Partition(tmp_path, "nothing-yet"):
        pass
    found = report(spark, str(tmp_path), sample_bytes=2000)
    by_topic = {one.topic: one for one in found.partitions}
    assert by_topic["cleaned"].missing_offsets == 35 - 3  # offsets 10 to 44, three records
    assert by_topic["orders"].missing_offsets == by_topic["old"].missing_offsets == 0
    assert found.bucket_ms["old"] == 1000
    points = [point for point in found.rates if point.topic == "old"]
    assert [(point.at_ms, point.records) for point in points] == [(n * 1000, 1) for n in range(10)]
    logs = sum(path.stat().st_size for path in tmp_path.rglob("*.log"))
    assert sum(one.size_bytes for one in found.partitions) == logs
    assert found.sampled_share == 2000 / logs
    sampled = {one.topic: one.records for one in found.keys}
    assert sampled["old"] == max(1, round(10 * found.sampled_share))


def test_a_log_without_batches(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path):
        pass
    found = report(spark, str(tmp_path))
    assert (found.partitions, found.rates, found.keys) == ((), (), ())
    assert "Report on a Kafka log" in log_page(found)

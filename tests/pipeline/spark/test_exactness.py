"""What our source reads from files is what Spark's Kafka connector reads from the broker.

The judge is the connector on a real Kafka, for files that Kafka wrote; it reads from broker-lite,
too, beside broker-lite's files. Equal is: the same schema, and no row more or less on either side,
headers included.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from tests.pipeline.connector import topics
from tests.pipeline.connector.topics import CODECS, T0, TOPICS, Broker
from tests.pipeline.spark.readers import BROKERS, REFUSALS, Options, Readers, running_broker
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.client, pytest.mark.slow]

SPARKS_TOPIC: Final = "written-by-spark"
ALL: Final = {"subscribePattern": ".+", "includeHeaders": "true"}
SMALL_SPLITS: Final = {"maxSplitBytes": "100000"}
# Spark keeps its producers for minutes; those of a broker that is gone shall not ask for it.
ENDS_QUIETLY: Final = {
    "kafka.reconnect.backoff.ms": "600000",
    "kafka.reconnect.backoff.max.ms": "600000",
}
COMMITTED: Final = {"kafka.isolation.level": "read_committed"}


@pytest.fixture(scope="module", params=BROKERS)
def readers(
    request: pytest.FixtureRequest,
    connector: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Readers]:
    """Both readers, once over what Kafka wrote and once over what broker-lite wrote."""
    if request.param == "kafka":
        require("java", "mvn")
    folder = tmp_path_factory.mktemp("exactness")
    with running_broker(request.param, folder) as written:
        write_topics(connector, written.broker)
        topics.wait_for_cleaner(written.directory)
        topics.wait_for_log_starts(written.directory)
        yield Readers(connector, written)


def write_topics(spark: SparkSession, broker: Broker) -> None:
    """Those of librdkafka, and one that Kafka's Java client writes, for Spark, by each codec."""
    topics.write_topics(broker)
    kafka = {"kafka.bootstrap.servers": broker.bootstrap, "includeHeaders": "true"}
    source = spark.read.format("kafka").options(**kafka).option("subscribe", "codec-none").load()
    rows = source.selectExpr("key", "value", "headers", "partition").cache()
    for codec in CODECS:
        writer = rows.write.format("kafka").options(**kafka).option("topic", SPARKS_TOPIC)
        writer.options(**ENDS_QUIETLY).option("kafka.compression.type", codec).save()
    rows.unpersist()


def counts(rows: DataFrame) -> dict[str, int]:
    return {row["topic"]: row["count"] for row in rows.groupBy("topic").count().collect()}


@pytest.mark.parametrize(
    "options",
    [{}, {**COMMITTED, **SMALL_SPLITS}],
    ids=["uncommitted", "committed-small-splits"],
)
def test_every_record_of_every_topic(readers: Readers, options: Options) -> None:
    assert readers.differences({**ALL, **options}) == []


def test_the_topics_hold_what_they_are_for(readers: Readers) -> None:
    """Equal rows say little when there are none."""
    every = counts(readers.ours(ALL))
    committed = counts(readers.ours({**ALL, **COMMITTED}))
    assert every.keys() == {topic.name for topic in TOPICS} - {"empty"} | {SPARKS_TOPIC}
    # compaction has left nothing of what was aborted in the other topics
    undone = {name for name in every if committed[name] < every[name]}
    assert undone == {"decided", "undecided"}
    batches = readers.ours({**ALL, "view": "batches"})
    [found] = batches.selectExpr(
        "collect_set(codec) AS codecs", "collect_set(timestampType) AS timestamp_types"
    ).collect()
    assert len(found["codecs"]) == len(CODECS)
    assert len(found["timestamp_types"]) == 2
    gaps = "max(offset) + 1 - count(*)"
    per_partition = readers.ours({**ALL, "subscribePattern": "compacted.*"})
    rows = per_partition.groupBy("topic", "partition").agg(expr(gaps).alias("gaps")).collect()
    assert len(rows) == 4
    assert all(row["gaps"] > 1000 for row in rows)


def _json(topic: str, first: int, second: int) -> str:
    return json.dumps({topic: {"0": first, "1": second}})


def _segments(**options: str) -> Options:
    return {"subscribe": "segments", **options}


RANGES: Final[Mapping[str, Options]] = {
    "offsets": _segments(
        startingOffsets=_json("segments", 100, -2), endingOffsets=_json("segments", 1501, -1)
    ),
    "offset-to-latest": _segments(startingOffsets=_json("segments", 1999, 2000)),
    "nothing": _segments(
        startingOffsets=_json("segments", 7, 8), endingOffsets=_json("segments", 7, 8)
    ),
    "timestamps": _segments(
        startingTimestamp=str(T0 + 1_000_500), endingTimestamp=str(T0 + 3_001_000)
    ),
    "timestamps-of-partitions": _segments(
        startingOffsetsByTimestamp=_json("segments", T0 - 1, T0 + 2_345_000),
        endingOffsetsByTimestamp=_json("segments", T0 + 17_000, T0 + 10**9),
    ),
    "no-record-so-young": _segments(
        startingTimestamp=str(T0 + 10**9), startingOffsetsByTimestampStrategy="latest"
    ),
    "disordered-timestamps": {
        "subscribe": "codec-zstd",
        "startingTimestamp": str(T0 + 100_250),
        "endingTimestamp": str(T0 + 150_250),
    },
    "min-partitions": _segments(minPartitions="7"),
    "max-records": _segments(maxRecordsPerPartition="300"),
    "assign": {"assign": json.dumps({"segments": [1], "decided": [0]})},
    "pattern": {"subscribePattern": "(seg|dec|emp).*"},
    "deleted-start": {
        "subscribe": "trimmed",
        "startingOffsets": _json("trimmed", 5, 1000),
        "failOnDataLoss": "false",
    },
    "deleted-range": {
        "subscribe": "trimmed",
        "startingOffsets": _json("trimmed", 5, 1000),
        "endingOffsets": _json("trimmed", 1000, 1500),
        "failOnDataLoss": "false",
    },
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(readers: Readers, name: str) -> None:
    assert readers.differences(RANGES[name]) == []


WRONG: Final[Mapping[str, Options]] = {
    "starts-at-latest": _segments(startingOffsets="latest"),
    "ends-at-earliest": _segments(endingOffsets="earliest"),
    "two-selections": _segments(subscribePattern="segments"),
    "topic-left-out": _segments(startingOffsets=_json("other", 1, 2)),
    "partition-left-out": _segments(startingOffsets='{"segments":{"0":1}}'),
    "partition-unknown": _segments(startingOffsets='{"segments":{"0":1,"1":1,"2":1}}'),
    "no-json": _segments(startingOffsets="soon"),
    "no-record-so-young": _segments(startingTimestamp=str(T0 + 10**9)),
    "start-behind-end": _segments(
        startingOffsets=_json("segments", 9, 9), endingOffsets=_json("segments", 8, 10)
    ),
    "no-partitions": _segments(minPartitions="0"),
    "deleted-start": {"subscribe": "trimmed", "startingOffsets": _json("trimmed", 5, 1000)},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_connector_refuses_is_refused(readers: Readers, name: str) -> None:
    for reader in (readers.connector, readers.ours):
        with pytest.raises(REFUSALS):
            reader(WRONG[name]).count()

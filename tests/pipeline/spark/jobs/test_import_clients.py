"""S-95: what real clients wrote is the same after export and import, for Kafka's own tool, too.

Two brokers write the logs, broker-lite and Kafka. A transactional client commits, aborts and leaves
a transaction open; a topic has LogAppendTime; the leader epochs of Kafka rise at its restart.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from broker_lite.pipeline.spark.jobs.export import export, records_of
from broker_lite.pipeline.spark.jobs.import_ import import_table
from broker_lite.pipeline.spark.jobs.verify import verify
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka, run_tool
from tests.support.toolchain import require

pytestmark = [pytest.mark.client, pytest.mark.slow]
TIMEOUT_S = 60
TOPICS = ("events", "appended")
HEADERS = [("h", b"1"), ("h", None), ("", b""), ("h", b"1")]
# Where a batch lies, and its bytes, which differ with LogAppendTime: nobody sees the times within.
_EPOCH = re.compile(r"partitionLeaderEpoch: \d+")
_PLACE = re.compile(r" (position|size|crc): -?\d+|\s+$|^(Dumping|Log starting offset).*")


class Broker(Protocol):
    """What both kinds have."""

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""


def producer_of(broker: Broker, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, **settings})


def send(producer: Producer, count: int) -> None:
    for number in range(count):
        for topic in TOPICS:
            place = {"topic": topic, "partition": number % 2}
            headers = HEADERS if number % 5 == 0 else []
            key = None if number % 7 == 0 else f"k{number % 3}"
            producer.produce(**place, key=key, value=b"v" * (number % 90), headers=headers)
    assert producer.flush(TIMEOUT_S) == 0


def make_topics(broker: Broker) -> None:
    appended = {"message.timestamp.type": "LogAppendTime"}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    new = [NewTopic("events", 2, 1), NewTopic("appended", 2, 1, config=appended)]
    for future in admin.create_topics(new).values():
        future.result(TIMEOUT_S)


def transact(broker: Broker, name: str, codec: str) -> Producer:
    """Commit, abort, commit; then leave a transaction open."""
    client = producer_of(broker, **{"transactional.id": name, "compression.type": codec})
    client.init_transactions(TIMEOUT_S)
    for is_commit in (True, False, True):
        client.begin_transaction()
        send(client, 40)
        if is_commit:
            client.commit_transaction(TIMEOUT_S)
        else:
            client.abort_transaction(TIMEOUT_S)
    client.begin_transaction()
    send(client, 6)
    return client


def write_logs(start: Callable[[], AbstractContextManager[Broker]]) -> None:
    with start() as broker:
        make_topics(broker)
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            send(producer_of(broker, **{"compression.type": codec}), 30)
        send(producer_of(broker, **{"enable.idempotence": True}), 30)
        clients = [transact(broker, name, codec) for name, codec in (("a", "none"), ("b", "zstd"))]
    with start() as broker:
        send(producer_of(broker), 10)
    del clients  # until here, so that nobody ends their transactions


def dump(root: Path) -> list[str]:
    """All batches, records and markers, as Kafka's tool prints them."""
    paths = sorted(path for name in TOPICS for path in root.glob(f"{name}-*/*.log"))
    flags = ("--deep-iteration", "--print-data-log", "--files", ",".join(map(str, paths)))
    told = run_tool("org.apache.kafka.tools.DumpLogSegments", *flags)
    lines = [_PLACE.sub("", line) for line in told.splitlines()]
    return [line for line in lines if line]


def check(spark: SparkSession, root: Path, tmp_path: Path) -> list[str]:
    """Export, import and compare; give what Kafka's tool prints of the new logs."""
    table, new = str(tmp_path / "table"), tmp_path / "new"
    options = {"subscribe": ",".join(TOPICS)}
    exported = export(spark, str(root), table, options)
    assert [note.split(" of ")[1].split()[0] for note in exported.notes] == ["aborted", "open"]
    import_table(spark, table, str(new))
    for isolation in ("read_uncommitted", "read_committed"):
        chosen = {**options, "isolationLevel": isolation}
        both = [records_of(spark, str(place), chosen) for place in (root, new)]
        assert differences(*both) == (0, 0)
    assert verify(spark, str(new), is_deep=True).findings == ()
    before, after = dump(root), dump(new)
    assert after == before
    assert any("endTxnMarker: ABORT" in line for line in after)
    assert all("isvalid: false" not in line for line in after)
    indexes = [path for path in new.rglob("*") if path.suffix in (".index", ".timeindex")]
    for flag in ("--index-sanity-check", "--verify-index-only"):
        files = ",".join(map(str, indexes))
        told = run_tool("org.apache.kafka.tools.DumpLogSegments", flag, "--files", files)
        assert "Found" not in told
        assert "mismatch" not in told.lower()
    return after


def differences(left: DataFrame, right: DataFrame) -> tuple[int, int]:
    return left.exceptAll(right).count(), right.exceptAll(left).count()


def test_logs_of_broker_lite(spark: SparkSession, tmp_path: Path) -> None:
    require("java", "mvn")
    write_logs(lambda: BrokerProcess(tmp_path / "data"))
    check(spark, tmp_path / "data", tmp_path)


@pytest.mark.kafka
def test_logs_of_kafka(spark: SparkSession, tmp_path: Path) -> None:
    require("java", "mvn")
    kafka = ReferenceKafka(tmp_path / "kafka", is_short_lived=True)
    write_logs(lambda: kafka)
    told = check(spark, kafka.log_dir, tmp_path)
    assert len({found[0] for line in told if (found := _EPOCH.search(line))}) > 1

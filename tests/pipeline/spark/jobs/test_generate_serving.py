"""S-96: a broker starts on the directory that `spark generate --broker` made, or added to."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from broker_lite.cli import main
from tests.commands.test_served_files import modes
from tests.support.broker_process import BrokerProcess

pytestmark = [pytest.mark.client, pytest.mark.slow]
TIMEOUT_S = 30
RECORDS, PARTITIONS = 2000, 2
ORDERS = (
    *("--topic", "orders", "--set", f"records={RECORDS}", "--set", f"partitions={PARTITIONS}"),
    *("--set", "value_bytes=100", "--set", "batch_bytes=2k"),
    *("--set", "producers=2", "--set", "transaction_batches=2"),
)


def consumed(bootstrap: str, topic: str, partition: int) -> list[int | None]:
    """The offsets of all records of a partition."""
    config = {"bootstrap.servers": bootstrap, "group.id": "g", "enable.partition.eof": True}
    consumer = Consumer(config)
    consumer.assign([TopicPartition(topic, partition, 0)])
    offsets = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "nothing came"
        if message.error() is not None:
            break
        offsets.append(message.offset())
    consumer.close()
    return offsets


def generated(data_dir: Path, capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert main(["spark", "generate", str(data_dir), "--broker", *arguments]) == 0
    return capfd.readouterr().out


def test_s96_generate_serve_consume(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_dir = tmp_path / "data"
    told = generated(data_dir, capfd, *ORDERS)
    assert f"orders: partitions={PARTITIONS} records={RECORDS} " in told, "markers are no records"
    with BrokerProcess(data_dir) as broker:
        seen = [consumed(broker.bootstrap, "orders", number) for number in range(PARTITIONS)]
        assert sum(map(len, seen)) == RECORDS
        assert "stray" not in broker.log
    told = generated(data_dir, capfd, *ORDERS)
    assert f"records={RECORDS} " in told
    generated(data_dir, capfd, "--topic", "more", "--set", "records=10")
    with BrokerProcess(data_dir) as broker:
        again = [consumed(broker.bootstrap, "orders", number) for number in range(PARTITIONS)]
        assert sum(map(len, again)) == 2 * RECORDS
        assert [each[: len(seen[number])] for number, each in enumerate(again)] == seen
        assert len(consumed(broker.bootstrap, "more", 0)) == 10
    assert not list(data_dir.glob("*-stray"))


def test_nobody_else_reads_a_brokers_directory(tmp_path: Path) -> None:
    """The workers of the session write most of its files."""
    words = ("--topic", "t", "--set", "records=50", "--set", "partitions=2", "--master", "local[1]")
    line = (sys.executable, "-m", "broker_lite", "spark", "generate", str(tmp_path / "data"))
    subprocess.run([*line, "--broker", *words], check=True, capture_output=True, umask=0o022)
    assert modes(tmp_path / "data") == ({0o700}, {0o600})


def test_s44_a_plain_directory_is_set_aside_with_a_line(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_dir = tmp_path / "plain"
    assert main(["spark", "generate", str(data_dir), "--topic", "t", "--set", "records=5"]) == 0
    with BrokerProcess(data_dir) as broker:
        assert "set aside as *-stray" in broker.log
        assert "t-0" in broker.log


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--topic-config", "retention.ms=1"), "need --broker"),
        (("--broker", "--topic-config", "segment.bytes=1"), "segment.bytes"),
    ],
)
def test_wrong_use_of_the_flags(
    spark: SparkSession,
    tmp_path: Path,
    arguments: tuple[str, ...],
    text: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = [str(tmp_path / "data"), "--topic", "t", "--set", "records=5", *arguments]
    assert main(["spark", "generate", *words]) == 2
    assert text in capfd.readouterr().err


def test_a_place_that_is_not_local(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["memory://logs", "--topic", "t", "--set", "records=5", "--broker"]
    assert main(["spark", "generate", *words]) == 2
    assert "not a local directory" in capfd.readouterr().err

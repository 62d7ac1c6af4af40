"""Kafka's own command line tools: against the running broker, and on the files it wrote."""

import json
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.records import CODECS
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.reference_kafka import java_command, run_tool

pytestmark = [pytest.mark.kafka, pytest.mark.client, pytest.mark.usefixtures("java")]
TOOLS = "org.apache.kafka.tools"
TIMEOUT_S = 60


def test_topics_configs_and_offsets(bootstrap: str, topic: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    named = (*at, "--topic", topic)
    created = run_tool(f"{TOOLS}.TopicCommand", *named, "--create", "--partitions", "3")
    assert f"Created topic {topic}" in created
    assert topic in run_tool(f"{TOOLS}.TopicCommand", *at, "--list").splitlines()
    described = run_tool(f"{TOOLS}.TopicCommand", *named, "--describe")
    assert "PartitionCount: 3" in described
    run_tool(f"{TOOLS}.TopicCommand", *named, "--alter", "--partitions", "4")
    entity = (*at, "--entity-type", "topics", "--entity-name", topic)
    run_tool("kafka.admin.ConfigCommand", *entity, "--alter", "--add-config", "retention.ms=123456")
    configs = run_tool("kafka.admin.ConfigCommand", *entity, "--describe")
    assert "retention.ms=123456" in configs
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=123456" in configs
    offsets = run_tool(f"{TOOLS}.GetOffsetShell", *named)
    assert offsets.split() == [f"{topic}:{partition}:0" for partition in range(4)]
    run_tool(f"{TOOLS}.TopicCommand", *named, "--delete")
    assert topic not in run_tool(f"{TOOLS}.TopicCommand", *at, "--list").splitlines()


def test_broker_api_versions_and_log_dirs(bootstrap: str) -> None:
    versions = run_tool(f"{TOOLS}.BrokerApiVersionsCommand", "--bootstrap-server", bootstrap)
    assert "Produce(0): 0 to 13" in versions
    assert "Fetch(1)" in versions
    printed = run_tool(f"{TOOLS}.LogDirsCommand", "--bootstrap-server", bootstrap, "--describe")
    directories = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    assert len(directories["brokers"]) == 1


def test_console_producer_and_consumer(bootstrap: str, topic: str) -> None:
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    lines = "".join(f"key-{index}\tvalue-{index}\n" for index in range(500))
    producer = java_command(
        f"{TOOLS}.ConsoleProducer", (*at, "--reader-property", "parse.key=true")
    )
    subprocess.run(producer, input=lines, text=True, check=True, timeout=TIMEOUT_S)
    read = run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *(*at, "--partition", "0", "--offset", "earliest", "--max-messages", "500"),
        *("--formatter-property", "print.key=true", "--timeout-ms", "30000"),
    )
    assert sorted(read.splitlines()) == sorted(lines.splitlines())


def test_producer_performance(bootstrap: str, topic: str) -> None:
    printed = run_tool(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", topic, "--num-records", "50000", "--record-size", "100"),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}"),
    )
    assert "50000 records sent" in printed
    ends = run_tool(f"{TOOLS}.GetOffsetShell", "--bootstrap-server", bootstrap, "--topic", topic)
    assert ends.split() == [f"{topic}:0:50000"]


def _fill(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    config = {"index.interval.bytes": "100", "segment.bytes": str(1 << 20)}
    made = admin.create_topics([NewTopic(codec, 2, 1, config=config) for codec in CODECS])
    for future in made.values():
        future.result(TIMEOUT_S)
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 0,
            }
        )
        for index in range(2000):
            headers = [("h", b"x"), ("n", None)]
            value = f"value-{index}".encode() * 200
            producer.produce(codec, value, b"k", partition=index % 2, headers=headers)
            if index % 20 == 0:
                producer.flush(TIMEOUT_S)
        assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.slow
def test_dump_tool_finds_no_fault_in_what_we_wrote(tmp_path: Path) -> None:
    """S-10 to S-17, S-95: logs, indexes, snapshots and the metadata log."""
    with BrokerProcess(tmp_path / "data", settings=[KEEP]) as broker:
        _fill(broker)
    files = {
        suffix: sorted(str(path) for path in (tmp_path / "data").glob(f"*-[01]/*{suffix}"))
        for suffix in (".log", ".index", ".timeindex", ".snapshot")
    }
    metadata = [name for name in files[".log"] if "__cluster_metadata" in name]
    logs = [name for name in files[".log"] if name not in metadata]
    assert len(logs) > 2 * len(CODECS), "several segments"
    dumped = run_tool(f"{TOOLS}.DumpLogSegments", "--deep-iteration", "--files", ",".join(logs))
    assert dumped.count("| offset:") == 2000 * len(CODECS)
    assert "isvalid: false" not in dumped
    indexes = ",".join(name for name in files[".index"] + files[".timeindex"])
    checked = run_tool(f"{TOOLS}.DumpLogSegments", "--verify-index-only", "--files", indexes)
    snapshots = run_tool(f"{TOOLS}.DumpLogSegments", "--files", ",".join(files[".snapshot"]))
    assert "producerId:" in snapshots
    decoded = run_tool(
        f"{TOOLS}.DumpLogSegments", "--cluster-metadata-decoder", "--files", ",".join(metadata)
    )
    for record in ("TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "PRODUCER_IDS_RECORD"):
        assert record in decoded
    for printed in (dumped, checked, snapshots, decoded):
        for fault in ("Mismatches in", "not found", "invalid bytes", "Could not", "Exception"):
            assert fault not in printed, printed[:2000]

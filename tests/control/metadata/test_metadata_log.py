import json
import re
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.metadata_changes import acl_creation, acl_removal
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import MetadataRecord, decode, make
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from broker_lite.security.acls.acl import Operation
from broker_lite.settings import Given, Settings
from tests.control.metadata_files import stored
from tests.support.acls import acl
from tests.support.reference_kafka import run_tool
from tests.support.toolchain import require

NOW_MS = 1_700_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Log:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    request = LoadRequest("__cluster_metadata", 0, str(directory), LogConfig(), is_clean=False)
    return load_log(request, FileCache(4), now_ms=NOW_MS)


def test_each_start_is_an_election_that_is_won(log: Log) -> None:
    for expected_epoch in (1, 2):
        MetadataLog(log, 7).become_leader(now_ms=NOW_MS)
        *_, last = stored(Path(log.directory, f"{0:020d}.log"))
        assert last.is_control
        assert last.leader_epoch == expected_epoch
        (record,) = iterate_records(last)
        # what a Kafka 4.3.1 wrote for node 1, with 7 for the node's number
        assert record.key == bytes.fromhex("00000002")
        assert record.value == bytes.fromhex(
            "000000000007" + "020000000700" + "020000000700" + "00"
        )
        state = json.loads(Path(log.directory, "quorum-state").read_text())
        assert state["leaderEpoch"] == expected_epoch
        assert state["currentVoters"] == [{"voterId": 7}]
    text = Path(log.directory, "partition.metadata").read_text()
    assert text == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_change_is_one_batch_and_is_on_disk(log: Log) -> None:
    metadata_log = MetadataLog(log, 1)
    assert metadata_log.is_new
    metadata_log.become_leader(now_ms=NOW_MS)
    records = [make(kinds.TOPIC, name=name, topic_id=b"i" * 16) for name in "ab"]
    assert metadata_log.append(records, now_ms=NOW_MS) == 2
    assert (metadata_log.end_offset, metadata_log.is_new) == (3, False)
    assert log.flusher.recovery_point == 3
    assert list(metadata_log.replay()) == [records]


def test_a_record_that_cannot_be_read_is_an_error(log: Log) -> None:
    builder = BatchBuilder()
    builder.append(NOW_MS, None, b"\x01\x7f\x00")
    log.append_batch(builder.build(), now_ms=NOW_MS)
    with pytest.raises(KafkaStorageError, match="cannot be read"):
        list(MetadataLog(log, 1).replay())


def test_a_damaged_batch_is_an_error_not_another_state(log: Log) -> None:
    metadata_log = MetadataLog(log, 1)
    metadata_log.append([make(kinds.TOPIC, name="t", topic_id=b"i" * 16)], now_ms=NOW_MS)
    with Path(log.directory, f"{0:020d}.log").open("r+b") as file:
        file.seek(70)
        file.write(b"\xff")
    with pytest.raises(KafkaStorageError, match="damaged at offset 0"):
        list(metadata_log.replay())


def test_a_log_that_begins_with_a_snapshot_is_refused(log: Log) -> None:
    metadata_log = MetadataLog(log, 1)
    metadata_log.append([make(kinds.TOPIC, name="t", topic_id=b"i" * 16)], now_ms=NOW_MS)
    log.log_start_offset = 1
    with pytest.raises(KafkaStorageError, match="a snapshot that is missing"):
        list(metadata_log.replay())


class LogOfABadDisk:
    """A log whose data never gets to the disk."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def flush(self) -> None:
        raise KafkaStorageError


def test_after_a_failed_flush_no_change_is_taken(log: Log) -> None:
    metadata_log = MetadataLog(LogOfABadDisk(log), 1)  # type: ignore[arg-type]
    record = make(kinds.TOPIC, name="t", topic_id=b"i" * 16)
    for text in (None, "an earlier change"):
        with pytest.raises(KafkaStorageError, match=text):
            metadata_log.append([record], now_ms=NOW_MS)
    assert metadata_log.end_offset == 1


def test_files_that_cannot_be_written_beside_the_log(log: Log) -> None:
    metadata_log = MetadataLog(log, 1)
    Path(log.directory, "quorum-state").mkdir()
    with pytest.raises(KafkaStorageError):
        metadata_log.become_leader(now_ms=NOW_MS)


@pytest.mark.kafka
def test_kafkas_dump_tool_reads_it(tmp_path: Path) -> None:
    require("java", "mvn")
    cluster = Cluster.open(Settings(), tmp_path, Clock.standing_still())
    cluster.register(1, [Endpoint("PLAINTEXT", "127.0.0.1", 9092)])
    cluster.create_topic("t")
    cluster.alter_configs([(2, "t", {"retention.ms": "5"})])
    cluster.write([acl_creation(b"i" * 16, acl(Operation.READ)), acl_removal(b"i" * 16)])
    cluster.next_producer_id()
    cluster.delete_topics([cluster.topics["t"]])
    cluster.close()
    files = f"{tmp_path}/__cluster_metadata-0/{0:020d}.log,{tmp_path}/bootstrap.checkpoint"
    dump = "org.apache.kafka.tools.DumpLogSegments"
    text = run_tool(dump, "--cluster-metadata-decoder", "--files", files)
    for kind in (
        "LeaderChange: ",
        "SnapshotHeader ",
        "SnapshotFooter ",
        "FEATURE_LEVEL_RECORD",
        "REGISTER_BROKER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "PRODUCER_IDS_RECORD",
        "REMOVE_TOPIC_RECORD",
        '"ACCESS_CONTROL_ENTRY_RECORD"',
        "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
        '"principal":"User:alice"',
    ):
        assert kind in text
    assert "isvalid: false" not in text
    assert "rror" not in text


@pytest.mark.kafka
def test_kafkas_dump_tool_reads_what_happens_to_brokers(tmp_path: Path) -> None:
    """C-10 to C-27: each record as the image has it, so nothing of it is in another field."""
    require("java", "mvn")
    settings = Settings({"broker.lite.brokers": Given("3", "test")})
    cluster = Cluster.open(settings, tmp_path, Clock.standing_still())
    for node_id in cluster.node_ids:
        cluster.register(node_id, [Endpoint("PLAINTEXT", "127.0.0.1", 9091 + node_id)])
    for name, replicas in (("t", (1, 2, 3)), ("u", (3,))):
        new = NewTopic(name, assignments=((0, replicas),))
        cluster.create_topics([cluster.plan_topic(new)])
    start = cluster.metadata_log.end_offset
    cluster.controller.fence(1)
    cluster.controller.shut_down(2)
    cluster.controller.lose(3)
    cluster.controller.unfence(3)
    cluster.controller.unregister(2)
    found = [cluster.topics[name].partitions[0] for name in ("t", "u")]
    cluster.close()
    assert [(one.leader, one.leader_epoch) for one in found] == [(NO_LEADER, 3), (NO_LEADER, 1)]
    written = _dumped(tmp_path, start)
    kind = "BROKER_REGISTRATION_CHANGE_RECORD"
    brokers = [record["data"] for record in written if record["type"] == kind]
    assert [
        (one["brokerId"], one.get("fenced", 0), one.get("inControlledShutdown", 0))
        for one in brokers[:2]
    ] == [(1, 1, 0), (2, 0, 1)]
    assert "UNREGISTER_BROKER_RECORD" in [record["type"] for record in written]
    kafka = [
        _changed(record["data"])
        for record in written
        if record["type"] == "PARTITION_CHANGE_RECORD"
    ]
    ours = [
        _ours(record.value)
        for record in _stored(tmp_path, start)
        if record.api_key == kinds.PARTITION_CHANGE
    ]
    assert kafka == ours
    assert {"leader": -1, "isr": [], "lastKnownElr": [3]} in ours


_FIELDS = {
    "leader": "leader",
    "isr": "isr",
    "eligibleLeaderReplicas": "eligible_leader_replicas",
    "lastKnownElr": "last_known_elr",
    "leaderRecoveryState": "leader_recovery_state",
}


def _dumped(data_dir: Path, start: int) -> list[Any]:
    """The records from an offset on, as Kafka's tool decodes them."""
    dump = "org.apache.kafka.tools.DumpLogSegments"
    path = data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    text = run_tool(dump, "--cluster-metadata-decoder", "--files", str(path))
    found = re.findall(r"\| offset: (\d+).* payload: (.+)$", text, re.MULTILINE)
    return [json.loads(payload) for offset, payload in found if int(offset) >= start]


def _stored(data_dir: Path, start: int) -> list[MetadataRecord]:
    path = data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    return [
        decode(one.value or b"")
        for each in stored(path)
        if not each.is_control and each.base_offset >= start
        for one in iterate_records(each)
    ]


def _changed(data: Any) -> dict[str, object]:
    return {name: data[name] for name in _FIELDS if name in data}


def _ours(value: Any) -> dict[str, object]:
    fields = {name: getattr(value, ours) for name, ours in _FIELDS.items()}
    unchanged = {"leader": -2, "leaderRecoveryState": -1}
    return {name: each for name, each in fields.items() if each != unchanged.get(name)}

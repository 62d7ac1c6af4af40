"""S-95, S-96: brokers serve what was written into their data directories while they were stopped.

Broker-lite and a real Kafka: each makes the topics, stops, gets segments behind what it had, starts
as after a clean stop, and gives all of it to a real client, transactions as they ended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.generate.segments import PartitionGenerator
from broker_lite.pipeline.generate.spec import GenerateSpec
from broker_lite.pipeline.write.commit import commit, log_ends
from broker_lite.record.control import read_end_transaction_marker
from tests.pipeline.write.test_restamp import batches
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka, run_tool
from tests.support.toolchain import require

pytestmark = [pytest.mark.client, pytest.mark.slow]
IO = LocalFileIO()
TIMEOUT_S = 30
TOPICS = ("plain", "transactional")
SPEC = GenerateSpec.parse(
    {
        "seed": 5,
        "topics": [
            {
                "name": "plain",
                "records": 3000,
                "value_bytes": 100,
                "segment_bytes": "100k",
                "codecs": ["none", "gzip", "snappy", "lz4", "zstd"],
            },
            {
                "name": "transactional",
                "records": 3000,
                "value_bytes": 100,
                "batch_bytes": "1k",
                "segment_bytes": "100k",
                "producers": 2,
                "transaction_batches": 2,
                "abort_share": 0.4,
            },
        ],
    }
)


class Broker(Protocol):
    """What both kinds have."""

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""


Started = Callable[[], AbstractContextManager[Broker]]


def write_generated(data_directory: Path) -> int:
    """Put the specification's segments behind the logs; give how many records were committed."""
    root, keys = str(data_directory), [(name, 0) for name in TOPICS]
    ends = log_ends(IO, root, keys)
    staged = []
    for topic in SPEC.topics:
        made = PartitionGenerator(SPEC.seed, topic, 0, ends[topic.name, 0])
        for number in range(made.shape.segment_count):
            staged += made.write(IO, root, "job-1", number)
    commit(IO, root, staged)
    return sum(committed_records(data_directory / f"{name}-0") for name in TOPICS)


def committed_records(directory: Path) -> int:
    """Count by the markers, batch by batch."""
    count, waiting = 0, dict[int, int]()
    for path in sorted(directory.glob("*.log")):
        for batch in batches(path):
            if batch.is_control:
                marker = read_end_transaction_marker(batch)
                assert marker is not None
                ended = waiting.pop(batch.producer_id)
                count += ended if marker.is_commit else 0
            elif batch.is_transactional:
                waiting[batch.producer_id] = waiting.get(batch.producer_id, 0) + batch.record_count
            else:
                count += batch.record_count
    assert not waiting
    return count


def make_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS])
    for future in made.values():
        future.result(TIMEOUT_S)


def produce(bootstrap: str) -> None:
    """One record to the first topic; the other one stays empty until it is generated."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("plain", b"by a client", partition=0)
    assert producer.flush(TIMEOUT_S) == 0


def read(bootstrap: str, isolation_level: str, topics: Sequence[str] = TOPICS) -> Iterator[Message]:
    """All records, up to the ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    with closing(consumer):
        consumer.assign([TopicPartition(name, 0, 0) for name in topics])
        left = len(topics)
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, "an end is reached"
            if message.error() is None:
                yield message
            else:
                left -= 1


def serve(broker: Started, data_directory: Path) -> None:
    with broker() as running:
        make_topics(running.bootstrap)
        produce(running.bootstrap)
    committed = write_generated(data_directory)
    files = {path for name in TOPICS for path in (data_directory / f"{name}-0").glob("*.log")}
    assert len(files) > len(TOPICS) + 2
    with broker() as running:
        assert len(list(read(running.bootstrap, "read_uncommitted"))) == 1 + 6000
        assert len(list(read(running.bootstrap, "read_committed"))) == committed
        assert 4000 < committed < 6000
        produce(running.bootstrap)
        assert len(list(read(running.bootstrap, "read_committed"))) == committed + 1


def test_broker_lite_serves_it(tmp_path: Path) -> None:
    serve(partial(BrokerProcess, tmp_path / "data"), tmp_path / "data")
    log = (tmp_path / "data.out").read_text()
    assert "cut" not in log
    assert "recover" not in log


@pytest.mark.kafka
def test_kafka_serves_it_and_its_dump_tool_finds_no_fault(tmp_path: Path) -> None:
    require("java", "mvn")
    kafka = ReferenceKafka(tmp_path / "kafka")
    serve(lambda: kafka, kafka.log_dir)
    output = (tmp_path / "kafka" / "server.out").read_text()
    assert "Recovering unflushed" not in output
    assert "stray" not in output
    dump(kafka.log_dir, TOPICS)


def dump(data_directory: Path, topics: Iterable[str]) -> None:
    """Let the tool look at logs, record by record, and at indexes and snapshots."""
    tool = "org.apache.kafka.tools.DumpLogSegments"
    every = [path for name in topics for path in (data_directory / f"{name}-0").iterdir()]
    for suffixes, flags in (
        ((".log",), ["--deep-iteration"]),
        ((".index", ".timeindex"), ["--verify-index-only"]),
        ((".txnindex", ".snapshot"), []),
    ):
        names = ",".join(sorted(str(path) for path in every if path.suffix in suffixes))
        printed = run_tool(tool, *flags, "--files", names)
        faults = (
            "Mismatches in",
            "not found",
            "invalid",
            "isvalid: false",
            "Could not",
            "Exception",
        )
        for fault in faults:
            assert fault not in printed, printed[:3000]

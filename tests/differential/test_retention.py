"""S-50 to S-53, S-90: the same segments go here and in a real Kafka."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.client import Client, check
from broker_lite.client.partition_offsets import EARLIEST, LATEST, list_offsets
from broker_lite.client.topic_partitions import find_topics
from broker_lite.testing import Broker
from broker_lite.testing.batches import make_batch
from broker_lite.wire import messages
from tests.differential.retention_cases import BOTH, CASES, HOUR_MS, Case
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka]
TOPIC_CONFIGS = {
    "segment.ms": 1 << 60,
    "retention.ms": -1,
    "min.cleanable.dirty.ratio": 1,
    "message.timestamp.after.max.ms": 9 * HOUR_MS,
}
KAFKA = {
    "log.retention.check.interval.ms": "20",
    "log.initial.task.delay.ms": "0",
    "log.cleaner.backoff.ms": "20",
    "log.cleaner.dedupe.buffer.size": "1048577",
    "log.cleaner.io.buffer.size": "65536",
}
# In Kafka one thread looks at logs with `delete`, another one at those that are compacted.
MARKERS = {"marker-delete": "delete", "marker-both": BOTH}
PASSES = 2
TIMEOUT_S = 60

State = dict[str, tuple[list[int], int, int]]


class Side:
    """A broker that the cases are tried on."""

    def __init__(self, client: Client, log_dir: Path) -> None:
        self.client = client
        self.log_dir = log_dir

    def prepare(self, cases: Iterable[Case], now_ms: int) -> None:
        """Write what the cases begin with; a segment of its own for each batch."""
        cases = list(cases)
        self._create(cases)
        for case in cases:
            for index, age_ms in enumerate(case.ages_ms):
                size = case.size_of(index)
                self.produce(case.name, -1 if age_ms is None else now_ms - age_ms, size)
            if case.delete_to is not None:
                self._delete_records(case.name, case.delete_to)
        self.configure({case.name: case.configs for case in cases if case.configs})

    def _create(self, cases: Iterable[Case]) -> None:
        request = messages.CreateTopicsRequest
        topics = [
            request.CreatableTopic(
                name=case.name,
                num_partitions=1,
                replication_factor=1,
                configs=[
                    request.CreatableTopicConfig(name=key, value=str(value))
                    for key, value in {
                        "internal.segment.bytes": case.segment_bytes,
                        **TOPIC_CONFIGS,
                    }.items()
                ],
            )
            for case in cases
        ]
        for answer in self.client.request(request(topics=topics, timeout_ms=30_000)).topics:
            check(answer.name, answer.error_code, answer.error_message)

    def produce(self, name: str, timestamp_ms: int, size: int) -> None:
        self.client.retry(lambda: self._produce(name, timestamp_ms, size))

    def _produce(self, name: str, timestamp_ms: int, size: int) -> None:
        topic = find_topics(self.client, [name])[name]
        batch = make_batch(*[(b"v" * size, b"k")] * 2, timestamp_ms=timestamp_ms)
        request = messages.ProduceRequest
        data = request.PartitionProduceData(index=0, records=memoryview(batch))
        written = request.TopicProduceData(
            name=name, topic_id=topic.topic_id, partition_data=[data]
        )
        answer = self.client.request(request(acks=-1, timeout_ms=30_000, topic_data=[written]))
        (result,) = answer.responses[0].partition_responses
        check(name, result.error_code, result.error_message)

    def _delete_records(self, name: str, offset: int) -> None:
        request = messages.DeleteRecordsRequest
        wanted = request.DeleteRecordsPartition(partition_index=0, offset=offset)
        topic = request.DeleteRecordsTopic(name=name, partitions=[wanted])
        answer = self.client.request(request(topics=[topic], timeout_ms=30_000))
        check(name, answer.topics[0].partitions[0].error_code)

    def configure(self, configs: dict[str, Any]) -> None:
        request = messages.IncrementalAlterConfigsRequest
        resources = [
            request.AlterConfigsResource(
                resource_type=2,
                resource_name=name,
                configs=[
                    request.AlterableConfig(name=key, config_operation=0, value=str(value))
                    for key, value in changes.items()
                ],
            )
            for name, changes in configs.items()
        ]
        for answer in self.client.request(request(resources=resources)).responses:
            check(answer.resource_name, answer.error_code, answer.error_message)

    def bases(self, name: str) -> list[int]:
        """Base offsets of the segments on disk."""
        files = (self.log_dir / f"{name}-0").glob("*.log")
        return sorted(int(path.stem) for path in files if re.fullmatch(r"\d{20}", path.stem))

    def state(self, cases: Iterable[Case]) -> State:
        """Segments on disk, log start offset and log end offset of each case's log."""
        keys = [(case.name, 0) for case in cases]
        topics = find_topics(self.client, [name for name, _ in keys])
        starts, ends = (
            list_offsets(self.client, dict.fromkeys(keys, each), topics)
            for each in (EARLIEST, LATEST)
        )
        return {key[0]: (self.bases(key[0]), starts[key], ends[key]) for key in keys}


def wait_for_passes(side: Side) -> None:
    """Wait until Kafka has looked at all logs, from the first to the last, since now.

    A pass sees each log once: what is old goes, comes again, and goes in another pass.
    """
    for name in MARKERS:
        for number in range(1, PASSES + 2):
            side.produce(name, 0, 10)
            wait_until(lambda name=name, number=number: side.bases(name) == [2 * number])


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[State, State]]:
    require("java", "mvn")
    now_ms = time.time_ns() // 1_000_000
    folder = tmp_path_factory.mktemp("retention")
    with (
        ReferenceKafka(folder, settings=KAFKA) as kafka,
        Client(kafka.bootstrap, wait_s=TIMEOUT_S) as client,
    ):
        side = Side(client, kafka.log_dir)
        side.prepare(CASES, now_ms)
        limits = {"retention.ms": HOUR_MS}
        side.prepare(
            [
                Case(name, (), {"cleanup.policy": policy, **limits})
                for name, policy in MARKERS.items()
            ],
            now_ms,
        )
        wait_for_passes(side)
        theirs = side.state(CASES)
    with Broker() as broker, Client(broker.bootstrap) as client:
        side = Side(client, broker.data_dir)
        side.prepare(CASES, now_ms)
        broker.advance()
        yield theirs, side.state(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_s50_the_same_segments_go(states: tuple[State, State], case: Case) -> None:
    theirs, ours = states
    assert ours[case.name] == theirs[case.name]

"""A real Kafka that is given logs, and cleans them when it is told to."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_lite.log.files.checkpoints import parse_offsets
from broker_lite.record.batch import TRANSACTIONAL_FLAG
from broker_lite.wire import messages
from tests.differential.compaction_logs import Marker, Plan, Step
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka

DEDUPE_BYTES = 1_100_000
LOAD_FACTOR = 0.9
SETTINGS = {
    "transaction.partition.verification.enable": "false",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.dedupe.buffer.size": str(DEDUPE_BYTES),
    "log.cleaner.io.buffer.size": "2000000",
}
TOPIC_RESOURCE = 2
SET = 0
WAIT_S = 60
ATTRIBUTES = 22


class CleaningKafka:
    """Sends the steps of many logs, and lets the logs be cleaned."""

    def __init__(self, kafka: ReferenceKafka) -> None:
        self._kafka = kafka
        self._client = RawClient("127.0.0.1", kafka.port, timeout_s=30)

    def close(self) -> None:
        self._client.close()

    def directory(self, topic: str) -> Path:
        return self._kafka.log_dir / f"{topic}-0"

    def checkpoint(self) -> dict[tuple[str, int], int]:
        path = self._kafka.log_dir / "cleaner-offset-checkpoint"
        return parse_offsets(path.read_text()) if path.exists() else {}

    def create(self, plans: Iterable[Plan]) -> None:
        kind = messages.CreateTopicsRequest
        topics = [
            kind.CreatableTopic(
                name=plan.topic,
                num_partitions=1,
                replication_factor=1,
                configs=[
                    kind.CreatableTopicConfig(name=name, value=value)
                    for name, value in plan.configs.items()
                ],
            )
            for plan in plans
        ]
        answer = self._client.call("CreateTopics", 5, topics=topics, timeout_ms=30_000)
        refused = [(row.name, row.error_message) for row in answer.topics if row.error_code]
        assert not refused, refused

    def send(self, steps: Mapping[str, Sequence[Step]]) -> None:
        """Send the steps of all topics, those of the same number at once."""
        for number in range(max(map(len, steps.values()), default=0)):
            now = {topic: each[number] for topic, each in steps.items() if number < len(each)}
            batches = {t: step for t, step in now.items() if isinstance(step, bytes)}
            # Kafka takes transactional batches of one producer in a request
            alone = {t for t, batch in batches.items() if batch[ATTRIBUTES] & TRANSACTIONAL_FLAG}
            for topic in alone:
                self._produce({topic: batches.pop(topic)})
            self._produce(batches)
            self._end({t: step for t, step in now.items() if isinstance(step, Marker)})

    def _produce(self, batches: Mapping[str, bytes]) -> None:
        if not batches:
            return
        kind = messages.ProduceRequest
        data = [
            kind.TopicProduceData(
                name=topic,
                partition_data=[kind.PartitionProduceData(index=0, records=memoryview(batch))],
            )
            for topic, batch in batches.items()
        ]
        while data:
            answer = self._client.call(
                "Produce", 11, transactional_id="any", acks=-1, timeout_ms=30_000, topic_data=data
            )
            codes = {row.name: row.partition_responses[0].error_code for row in answer.responses}
            # 3 and 6: the topic is new, and its leader is not known yet
            assert set(codes.values()) <= {0, 3, 6}, codes
            data = [one for one in data if codes[one.name]]

    def _end(self, markers: Mapping[str, Marker]) -> None:
        if not markers:
            return
        kind = messages.WriteTxnMarkersRequest
        answer = self._client.call(
            "WriteTxnMarkers",
            1,
            markers=[
                kind.WritableTxnMarker(
                    producer_id=marker.producer_id,
                    producer_epoch=3,
                    transaction_result=marker.is_commit,
                    topics=[kind.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
                    coordinator_epoch=0,
                )
                for topic, marker in markers.items()
            ],
        )
        codes = [
            part.error_code
            for row in answer.markers
            for topic in row.topics
            for part in topic.partitions
        ]
        assert set(codes) == {0}, codes

    def configure(self, topics: Iterable[str], **configs: str) -> None:
        """Change settings of topics; their names have _ for ."""
        kind = messages.IncrementalAlterConfigsRequest
        resources: list[Any] = [
            kind.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE,
                resource_name=topic,
                configs=[
                    kind.AlterableConfig(
                        name=name.replace("_", "."), config_operation=SET, value=value
                    )
                    for name, value in configs.items()
                ],
            )
            for topic in topics
        ]
        answer = self._client.call("IncrementalAlterConfigs", 1, resources=resources)
        assert {row.error_code for row in answer.responses} <= {0}, answer

    def wait_until_cleaned(self, expected: Mapping[str, int]) -> dict[str, int]:
        """Wait until the checkpoint names these offsets; give what it names of the others."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            found = self.checkpoint()
            others = {
                topic: found.get((topic, 0), -1)
                for topic, offset in expected.items()
                if found.get((topic, 0)) != offset
            }
            if not others:
                return {}
            time.sleep(0.05)
        return others

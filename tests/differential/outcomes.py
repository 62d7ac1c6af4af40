"""What a broker did with a case, in a form that two brokers can be compared by."""

import hashlib
import re
from typing import Any, NamedTuple

from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.framing import walk
from broker_lite.wire import messages
from tests.differential.case import PARTITION_COUNTS, Case
from tests.support.raw_client import Closed, RawClient

PRODUCE, FETCH, API_VERSIONS = 0, 1, 18
FETCH_VERSION, METADATA_VERSION = 11, 12
TOPIC_IDS_FROM = 13
ANSWER_TIMEOUT_S = 30.0
DECOMPRESSED_BYTES_MAX = 1 << 26
_TIMES = re.compile(r"\d{13,}")


class PartitionOutcome(NamedTuple):
    """One partition's answer; `log_append_time` says only which kind of time it is."""

    error_code: int
    base_offset: int
    log_append_time: int | str
    log_start_offset: int
    record_errors: tuple[tuple[int, str | None], ...]
    error_message: str | None


Outcome = str | dict[tuple[str, int], PartitionOutcome]
"""`closed`, `silent`, or the answer of each partition."""


class StoredBatch(NamedTuple):
    """One batch of the log: its header but for the CRC, and its records uncompressed."""

    header: tuple[int, ...]
    records: bytes
    payload: bytes


class Broker:
    """One of the two brokers under comparison."""

    def __init__(self, name: str, host: str, port: int, *, timeout_s: float) -> None:
        self.name = name
        self._address = (host, port)
        self._timeout_s = timeout_s
        self._clients: dict[str, RawClient] = {}
        self._topic_ids: dict[str, bytes] = {}

    def close(self) -> None:
        """Close its connections."""
        for client in self._clients.values():
            client.close()

    def create_topics(self, topics: dict[str, dict[str, str]]) -> None:
        """Create topics and wait until they can be produced to."""
        kind = messages.CreateTopicsRequest
        asked = [
            kind.CreatableTopic(
                name=name,
                num_partitions=PARTITION_COUNTS.get(name, 1),
                replication_factor=1,
                configs=[kind.CreatableTopicConfig(name=k, value=v) for k, v in config.items()],
            )
            for name, config in topics.items()
        ]
        client = self._client("raw-client")
        answer = client.request(kind, kind(topics=asked, timeout_ms=30_000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        for name in topics:
            for index in range(PARTITION_COUNTS.get(name, 1)):
                while self._fetch(client, name, index, 0).error_code != 0:
                    pass
        self._topic_ids = _topic_ids(client, list(topics))

    def produce(self, case: Case) -> Outcome:
        """Send a case and return what came of it."""
        client = self._client(case.client_id)
        # Kafka does not answer null records (V-02), but takes its time when memory runs out (V-45)
        is_null = any(records is None for _, _, records in case.partitions)
        client.socket.settimeout(self._timeout_s if is_null else ANSWER_TIMEOUT_S)
        flexible = case.version >= 9
        body = _produce_body(case, self._topic_ids)
        try:
            if case.acks == 0:
                client.send(PRODUCE, case.version, body, flexible=flexible)
                client.exchange(API_VERSIONS, 0, b"")
                return "no answer, still open"
            answer = client.exchange(PRODUCE, case.version, body)
        except Closed:
            self._forget(case.client_id)
            return "closed"
        except TimeoutError:
            self._forget(case.client_id)
            return "silent"
        names = {_id_of(self._topic_ids, name): name for name, _, _ in case.partitions}
        by_id = case.version >= TOPIC_IDS_FROM
        return {
            (names[topic.topic_id] if by_id else topic.name, partition.index): _partition_outcome(
                partition
            )
            for topic in answer.responses
            for partition in topic.partition_responses
        }

    def stored(self, topic: str, index: int) -> list[StoredBatch]:
        """Every batch of a partition, as it is on disk."""
        offset = 0
        client = self._client("raw-client")
        found: list[StoredBatch] = []
        while True:
            answer = self._fetch(client, topic, index, offset)
            assert answer.error_code == 0, answer
            data = memoryview(bytes(answer.records or b""))
            batches = [RecordBatch(data, entry.position, entry.size_bytes) for entry in walk(data)]
            if not batches:
                return found
            found += [_stored(batch) for batch in batches]
            offset = batches[-1].next_offset

    def _client(self, client_id: str) -> RawClient:
        if client_id not in self._clients:
            self._clients[client_id] = RawClient(
                *self._address, client_id=client_id, timeout_s=self._timeout_s
            )
        return self._clients[client_id]

    def _forget(self, client_id: str) -> None:
        self._clients.pop(client_id).close()

    def _fetch(self, client: RawClient, topic: str, index: int, offset: int) -> Any:
        kind = messages.FetchRequest
        partition = kind.FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=8_000_000
        )
        value = kind(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=8_000_000,
            topics=[kind.FetchTopic(topic=topic, partitions=[partition])],
        )
        answer = client.request(kind, value, FETCH_VERSION)
        return answer.responses[0].partitions[0]


def _topic_ids(client: RawClient, names: list[str]) -> dict[str, bytes]:
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=name) for name in names]
    value = kind(topics=topics, allow_auto_topic_creation=False)
    answer = client.request(kind, value, METADATA_VERSION)
    return {topic.name: topic.topic_id for topic in answer.topics}


def _id_of(ids: dict[str, bytes], name: str) -> bytes:
    """The id of a topic; one that nobody has for an unknown name, the zero id for none."""
    if not name:
        return bytes(16)
    return ids.get(name) or hashlib.sha256(name.encode()).digest()[:16]


def _produce_body(case: Case, topic_ids: dict[str, bytes]) -> bytes:
    kind = messages.ProduceRequest
    topics: list[Any] = []
    last = None
    for name, index, records in case.partitions:
        if name != last:
            key: dict[str, Any] = {"name": name}
            if case.version >= TOPIC_IDS_FROM:
                key = {"topic_id": _id_of(topic_ids, name)}
            topics.append(kind.TopicProduceData(**key, partition_data=[]))
            last = name
        partition = kind.PartitionProduceData(index=index, records=records)
        topics[-1].partition_data.append(partition)
    value = kind(
        transactional_id=case.transactional_id,
        acks=case.acks,
        timeout_ms=5000,
        topic_data=topics,
    )
    return kind.encode(value, case.version)


def _partition_outcome(partition: Any) -> PartitionOutcome:
    errors = tuple(
        (error.batch_index, _without_times(error.batch_index_error_message))
        for error in partition.record_errors
    )
    return PartitionOutcome(
        partition.error_code,
        partition.base_offset,
        partition.log_append_time_ms if partition.log_append_time_ms < 0 else "time",
        partition.log_start_offset,
        errors,
        _without_times(partition.error_message),
    )


def _without_times(text: str | None) -> str | None:
    return None if text is None else _TIMES.sub("<time>", text)


def _stored(batch: RecordBatch) -> StoredBatch:
    payload = bytes(batch.records_data)
    records = payload
    if batch.codec:
        records = bytes(
            decompress(batch.codec, payload, output_bytes_max=DECOMPRESSED_BYTES_MAX).data
        )
    append_time = bool(batch.attributes & 8)
    header = (
        batch.base_offset,
        batch.leader_epoch,
        batch.magic,
        batch.attributes,
        batch.last_offset_delta,
        batch.base_timestamp,
        0 if append_time else batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
        int(batch.crc_is_valid()),
    )
    return StoredBatch(header, records, payload)

"""What a broker did with a case, in a form that two brokers can be compared by."""

import re
from typing import Any, NamedTuple

from broker_lite.record.batch import RecordBatch
from broker_lite.record.compression import decompress
from broker_lite.record.framing import walk
from broker_lite.wire import messages
from tests.differential.produce_cases import Case
from tests.support.raw_client import Closed, RawClient

PRODUCE, FETCH, API_VERSIONS = 0, 1, 18
FETCH_VERSION = 11
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

    def close(self) -> None:
        """Close its connections."""
        for client in self._clients.values():
            client.close()

    def create_topics(self, topics: dict[str, dict[str, str]]) -> None:
        """Create topics with one partition each and wait until they can be produced to."""
        kind = messages.CreateTopicsRequest
        asked = [
            kind.CreatableTopic(
                name=name,
                num_partitions=1,
                replication_factor=1,
                configs=[kind.CreatableTopicConfig(name=k, value=v) for k, v in config.items()],
            )
            for name, config in topics.items()
        ]
        client = self._client("raw-client")
        answer = client.request(kind, kind(topics=asked, timeout_ms=30_000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        for name in topics:
            while self._fetch(client, name, 0).error_code != 0:
                pass

    def produce(self, case: Case) -> Outcome:
        """Send a case and return what came of it."""
        client = self._client(case.client_id)
        flexible = case.version >= 9
        body = _produce_body(case)
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
        return {
            (topic.name, partition.index): _partition_outcome(partition)
            for topic in answer.responses
            for partition in topic.partition_responses
        }

    def stored(self, topic: str, offset: int = 0) -> list[StoredBatch]:
        """Every batch of partition 0 of a topic from `offset` on, as it is on disk."""
        client = self._client("raw-client")
        found: list[StoredBatch] = []
        while True:
            answer = self._fetch(client, topic, offset)
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

    def _fetch(self, client: RawClient, topic: str, offset: int) -> Any:
        kind = messages.FetchRequest
        partition = kind.FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=8_000_000
        )
        value = kind(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=8_000_000,
            topics=[kind.FetchTopic(topic=topic, partitions=[partition])],
        )
        answer = client.request(kind, value, FETCH_VERSION)
        return answer.responses[0].partitions[0]


def _produce_body(case: Case) -> bytes:
    kind = messages.ProduceRequest
    topics: list[Any] = []
    for name, index, records in case.partitions:
        partition = kind.PartitionProduceData(index=index, records=records)
        if topics and topics[-1].name == name:
            topics[-1].partition_data.append(partition)
        else:
            topics.append(kind.TopicProduceData(name=name, partition_data=[partition]))
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

"""Calls for tests that create a topic, write records or read them."""

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client import Client, check
from broker_lite.client.consuming.fetcher import Fetcher
from broker_lite.client.partition_offsets import EARLIEST, LATEST, list_offsets
from broker_lite.client.topic_partitions import Topic, find_topics
from broker_lite.errors import ClientError
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.record.records import iterate_records
from broker_lite.testing.batches import Headers, NewRecord, as_bytes, make_batch
from broker_lite.wire import messages

_WAIT_S: Final = 1.0
_TIMEOUT_MS: Final = 30_000
_ALL_REPLICAS: Final = -1


class Record(NamedTuple):
    """A record that was read from a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def create_topic(
    bootstrap: str,
    name: str,
    *,
    partitions: int,
    configs: Mapping[str, str],
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create a topic.

    Raises:
        ClientError: the broker says no.
    """
    request = messages.CreateTopicsRequest
    topic = request.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=-1,
        configs=[request.CreatableTopicConfig(name=key, value=configs[key]) for key in configs],
    )
    with Client(bootstrap, properties=properties) as client:
        (answer,) = client.request(request(topics=[topic], timeout_ms=_TIMEOUT_MS)).topics
        check(f"topic {name}", answer.error_code, answer.error_message)


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes | str | None],
    *,
    key: bytes | str | None,
    headers: Headers,
    partition: int | None,
    timestamp_ms: int | None,
    properties: Mapping[str, str] | None = None,
) -> None:
    """Write records as one batch; a missing topic is created.

    Raises:
        ClientError: the broker says no.
    """
    now_ms = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
    key, headers = as_bytes(key), tuple(headers)
    records = [NewRecord(as_bytes(value), key, headers) for value in values]
    request = messages.ProduceRequest
    with Client(bootstrap, properties=properties) as client:
        leaders = client.leaders(topic, create=True)
        if partition is None:
            partition = 0 if key is None else partition_of_key(key, len(leaders))
        data = request.PartitionProduceData(
            index=partition, records=memoryview(make_batch(*records, timestamp_ms=now_ms))
        )
        topic_id = find_topics(client, [topic])[topic].topic_id
        written = request.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
        answer = client.request(
            request(acks=_ALL_REPLICAS, timeout_ms=_TIMEOUT_MS, topic_data=[written]),
            node_id=leaders.get(partition),
        )
    (result,) = answer.responses[0].partition_responses
    check(f"partition {topic}-{partition}", result.error_code, result.error_message)


def read_all(
    bootstrap: str,
    topic: str,
    *,
    read_committed: bool,
    properties: Mapping[str, str] | None = None,
) -> list[Record]:
    """Read all present records of a topic, partition by partition.

    Raises:
        ClientError: the topic does not exist or was deleted, or the broker refused.
    """
    with Client(bootstrap, properties=properties) as client:
        partitions = [(topic, partition) for partition in client.leaders(topic)]
        topics = find_topics(client, [topic])
        ends = list_offsets(
            client, dict.fromkeys(partitions, LATEST), topics, read_committed=read_committed
        )
        positions = list_offsets(client, dict.fromkeys(partitions, EARLIEST), topics)
        fetcher = Fetcher(client, reset=EARLIEST, read_committed=read_committed)
        # a broker that leads only what is read already would let the others wait
        fetcher.assign({key: start for key, start in positions.items() if start < ends[key]})
        found: list[Record] = []
        while fetcher.positions:
            batches = fetcher.poll(_WAIT_S)
            if not batches:
                _check_still_there(client, topics[topic])
            for fetched in batches:
                end = ends[topic, fetched.partition]
                found += [
                    Record(
                        fetched.partition,
                        record.offset,
                        record.timestamp,
                        record.key,
                        record.value,
                        tuple((name.decode(errors="replace"), v) for name, v in record.headers),
                    )
                    for record in iterate_records(fetched.batch)
                    if fetched.position <= record.offset < end
                ]
            fetcher.positions = {
                key: position
                for key, position in fetcher.positions.items()
                if position is None or position < ends[key]
            }
    return sorted(found, key=lambda record: (record.partition, record.offset))


def _check_still_there(client: Client, topic: Topic) -> None:
    now = find_topics(client, [topic.name]).get(topic.name)
    if now is None or now.topic_id != topic.topic_id:
        raise ClientError(f"topic {topic.name} was deleted while it was read")

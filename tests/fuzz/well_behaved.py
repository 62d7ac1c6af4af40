"""A client that does what clients do, beside others that do not, and knows every answer it gets."""

import select
import socket
import time
from collections.abc import Sequence
from typing import Protocol

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

CALM_TOPIC = "calm"


class WellBehaved:
    """Produces and fetches the same bytes again and again, to a topic that nobody else names."""

    def __init__(self, port: int, other_topics: Sequence[str] = ()) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=20)
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, b"well", b"behaved")
        self._batch = bytes(builder.build())
        kind = messages.CreateTopicsRequest
        topics = [
            kind.CreatableTopic(name=name, num_partitions=2, replication_factor=1)
            for name in (CALM_TOPIC, *other_topics)
        ]
        self._client.request(kind, kind(topics=topics, timeout_ms=10_000), 5)
        self.next_offset = 0

    def versions(self) -> dict[int, tuple[int, int]]:
        """The versions of every API that is offered."""
        kind = messages.ApiVersionsRequest
        offered = self._client.request(kind, kind(), 0).api_keys
        return {api.api_key: (api.min_version, api.max_version) for api in offered}

    def topic_id(self, name: str) -> bytes:
        """The id of a topic."""
        kind = messages.MetadataRequest
        wanted = kind(topics=[kind.MetadataRequestTopic(name=name)])
        topic_id: bytes = self._client.request(kind, wanted, 12).topics[0].topic_id
        return topic_id

    def check(self) -> str | None:
        """Produce one batch and fetch it; return what was wrong."""
        code, offset = self.produce()
        if (code, offset) != (0, self.next_offset):
            return f"produce answered {code} {offset}, expected offset {self.next_offset}"
        records = self.fetch(self.next_offset)
        if records[16:] != self._batch[16:]:
            return f"fetch of offset {self.next_offset} answered {records.hex()}"
        self.next_offset += 1
        return None

    def check_all(self) -> str | None:
        """Fetch everything from the start; return what was wrong."""
        offset = 0
        while offset < self.next_offset:
            records = self.fetch(offset, 1_000_000)
            for position in range(0, len(records), len(self._batch)):
                batch = records[position : position + len(self._batch)]
                if batch[16:] != self._batch[16:] or batch[:8] != offset.to_bytes(8, "big"):
                    return f"offset {offset} is now {batch.hex()}"
                offset += 1
            if not records:
                return f"nothing at offset {offset} of {self.next_offset}"
        return None

    def produce(self) -> tuple[int, int]:
        """Produce the batch; give error code and base offset."""
        produce = messages.ProduceRequest
        data = produce.PartitionProduceData(index=1, records=self._batch)
        topic = produce.TopicProduceData(name=CALM_TOPIC, partition_data=[data])
        value = produce(acks=-1, timeout_ms=1000, topic_data=[topic])
        answer = self._client.request(produce, value, 9).responses[0].partition_responses[0]
        return answer.error_code, answer.base_offset

    def fetch(self, offset: int, max_bytes: int = 1000) -> bytes:
        """Fetch whole batches from an offset on."""
        fetch = messages.FetchRequest
        asked = fetch.FetchPartition(
            partition=1, fetch_offset=offset, partition_max_bytes=max_bytes
        )
        wanted = [fetch.FetchTopic(topic=CALM_TOPIC, partitions=[asked])]
        value = fetch(max_wait_ms=0, max_bytes=max_bytes, topics=wanted)
        read = self._client.request(fetch, value, 12)
        records = bytes(read.responses[0].partitions[0].records)
        return records[: len(records) - len(records) % len(self._batch)]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class Checked(Protocol):
    """Who can say what is wrong."""

    def check(self) -> str | None:
        """Do what clients do; return what was wrong."""


def longest_wait_s(calm: Checked, client: socket.socket) -> float:
    """Work on until another client has its answer or its end; give the longest of the checks."""
    waited_s = 0.0
    while True:
        began = time.monotonic()
        assert calm.check() is None
        waited_s = max(waited_s, time.monotonic() - began)
        if select.select([client], [], [], 0)[0]:
            return waited_s

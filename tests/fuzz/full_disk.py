"""What tests of a full disk need: a client that knows its records, and a look at the files."""

from pathlib import Path
from typing import Any

from broker_lite.record.batch import LOG_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

TOPIC = "full"
VALUE_BYTES = 9000
STORAGE_ERROR = 56


def value_of(number: int) -> bytes:
    """The value of a record, which tells its number."""
    return b"%08d" % number + bytes([number % 251]) * (VALUE_BYTES - 8)


class DiskClient:
    """Produces numbered records to one partition, one batch each, and reads them back."""

    def __init__(self, port: int) -> None:
        self.raw = RawClient("127.0.0.1", port, timeout_s=20)

    def call(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request by the name of its API and return the decoded response."""
        return self.raw.call(name, version, **fields)

    def create_topic(self, name: str, partitions: int = 1) -> int:
        """Create a topic; give the error code."""
        topic = messages.CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1
        )
        answer = self.call("CreateTopics", 5, topics=[topic], timeout_ms=1000)
        return int(answer.topics[0].error_code)

    def produce(self, number: int, codec: int = 0) -> tuple[int, int]:
        """Produce one record; give error code and base offset."""
        builder = BatchBuilder(codec=codec)
        builder.append(1_700_000_000_000 + number, None, value_of(number))
        kind = messages.ProduceRequest
        data = kind.PartitionProduceData(index=0, records=bytes(builder.build()))
        topic = kind.TopicProduceData(name=TOPIC, partition_data=[data])
        answer = self.call("Produce", 9, acks=-1, timeout_ms=1000, topic_data=[topic])
        answer = answer.responses[0].partition_responses[0]
        return int(answer.error_code), int(answer.base_offset)

    def end_offset(self) -> int:
        """The log end offset."""
        kind = messages.ListOffsetsRequest
        partition = kind.ListOffsetsPartition(partition_index=0, timestamp=-1)
        topic = kind.ListOffsetsTopic(name=TOPIC, partitions=[partition])
        answer = self.call("ListOffsets", 5, replica_id=-1, topics=[topic])
        return int(answer.topics[0].partitions[0].offset)

    def read_all(self) -> list[bytes]:
        """The values of all records, in order, each at the offset that is its index."""
        values: list[bytes] = []
        end_offset = self.end_offset()
        while len(values) < end_offset:
            for record in self._fetch(len(values)):
                assert record.offset == len(values)
                values.append(bytes(record.value or b""))
        return values

    def _fetch(self, offset: int) -> list[Any]:
        kind = messages.FetchRequest
        asked = kind.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
        topics = [kind.FetchTopic(topic=TOPIC, partitions=[asked])]
        answer = self.call("Fetch", 11, max_wait_ms=0, max_bytes=1_000_000, topics=topics)
        partition = answer.responses[0].partitions[0]
        assert partition.error_code == 0
        found = batches(bytes(partition.records))
        assert found, f"nothing at offset {offset}"
        return [record for batch in found for record in iterate_records(batch)]

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()


def batches(data: bytes, *, whole: bool = False) -> list[RecordBatch]:
    """The batches in bytes; with `whole` nothing may be left over."""
    view, position, found = memoryview(data), 0, []
    while len(view) - position >= LOG_OVERHEAD:
        size_bytes = int.from_bytes(view[position + 8 : position + 12], "big") + LOG_OVERHEAD
        if position + size_bytes > len(view):
            break
        batch = RecordBatch(view, position, size_bytes)
        assert batch.crc_is_valid()
        found.append(batch)
        position += size_bytes
    assert not whole or position == len(view), f"{len(view) - position} bytes are half a batch"
    return found


def offsets_on_disk(directory: Path) -> list[int]:
    """Walk all segments of a partition, as the dump tool does; give the offsets of all records."""
    offsets: list[int] = []
    for path in sorted(directory.glob("*.log")):
        found = batches(path.read_bytes(), whole=True)
        assert not found or found[0].base_offset >= int(path.stem)
        offsets += [
            offset for batch in found for offset in range(batch.base_offset, batch.next_offset)
        ]
    return offsets

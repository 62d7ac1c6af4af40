"""Give broker-lite and Kafka the same segment of an old Kafka, and compare what they serve of it.

    python -m tests.differential.compare_old_segments --seed 1 --sets 60

The segment holds messages of magic 0 and 1, plain and in wrappers, then v2 batches. Both brokers
find it without indexes after a crash. Compared are Fetch of versions 4 and 12 from every offset,
ListOffsets for every timestamp and for the special ones, and where a new record goes. What differs
is printed, and makes the exit code 1.

Rule: F-10, F-72, R-04, R-60 to R-67, S-20, S-23, S-24, S-43 (Apache Kafka 4.3.1).
"""

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from broker_lite.wire import messages
from tests.differential.outcomes import Broker
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka

TOPIC: Final = "old"
T0: Final = 1_700_000_000_000
TIMEOUT_S: Final = 10.0
LATEST: Final = -1
SPECIAL_TIMESTAMPS: Final = (LATEST, -2, -3, -4)
CONFIGS: Final = {TOPIC: {"retention.ms": "-1"}}


@dataclass(slots=True)
class Comparison:
    """What a run found."""

    segment_bytes: int = 0
    offsets: int = 0
    answers: int = 0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"a segment of {self.segment_bytes} bytes with {self.offsets} offsets, "
            f"{self.answers} answers compared, differences: {len(self.faults)}"
        )


def make_segment(seed: int, sets: int) -> tuple[bytes, int]:
    """Random message sets with gaps between their offsets, and batches of today behind them."""
    source = random.Random(seed)
    parts: list[bytes] = []
    offset = 0
    for number in range(sets):
        append_time = source.choice((None, None, T0 + number * 10 + 9))
        codec = source.choice((0, 0, 1, 2, 3))
        builder: LegacySetBuilder | BatchBuilder
        if number < sets * 3 // 4:
            builder = LegacySetBuilder(
                source.randrange(2), codec=codec, log_append_time_ms=append_time
            )
        else:
            builder = BatchBuilder(
                base_offset=offset, codec=codec, log_append_time_ms=append_time, leader_epoch=0
            )
        for _ in range(source.choice((1, 2, 5, 30))):
            timestamp = T0 + number * 10 + source.randrange(-15, 15)
            value = source.randbytes(source.choice((0, 5, 200)))
            if isinstance(builder, BatchBuilder):
                builder.append(timestamp, b"k", value, offset=offset)
            else:
                builder.append(offset, timestamp, b"k", value)
            offset += 1 if source.random() < 0.9 else source.randrange(2, 6)
        parts.append(builder.build())
    return b"".join(parts), offset


def put_segment(log_dir: Path, data: bytes) -> None:
    """Make a partition's directory one that a crash of an old Kafka left."""
    partition = log_dir / f"{TOPIC}-0"
    for path in partition.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    (partition / ("0" * 20 + ".log")).write_bytes(data)
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (log_dir / name).unlink(missing_ok=True)


class _Reader:
    """Asks one broker."""

    def __init__(self, port: int) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=TIMEOUT_S)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def fetch(self, version: int, offset: int) -> Any:
        """Give code, offsets and bytes; topics go by their names."""
        kind = messages.FetchRequest
        partition = kind.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=3000)
        answer = self._client.call(
            "Fetch",
            version,
            max_bytes=3000,
            topics=[kind.FetchTopic(topic=TOPIC, partitions=[partition])],
        )
        found = answer.responses[0].partitions[0]
        return found.error_code, found.high_watermark, bytes(found.records or b"")

    def offset(self, timestamp: int) -> Any:
        """Give code, timestamp, offset and leader epoch.

        Kafka begins a new epoch with each start, so that of the end is its own.
        """
        kind = messages.ListOffsetsRequest
        partition = kind.ListOffsetsPartition(
            partition_index=0, timestamp=timestamp, current_leader_epoch=-1
        )
        topic = kind.ListOffsetsTopic(name=TOPIC, partitions=[partition])
        answer = self._client.call("ListOffsets", 9, replica_id=-1, topics=[topic])
        found = answer.topics[0].partitions[0]
        epoch = None if timestamp == LATEST else found.leader_epoch
        return found.error_code, found.timestamp, found.offset, epoch

    def append(self) -> Any:
        """Write a record; give code and offset."""
        builder = BatchBuilder()
        builder.append(T0, b"k", b"new")
        kind = messages.ProduceRequest
        partition = kind.PartitionProduceData(index=0, records=builder.build())
        topic = kind.TopicProduceData(name=TOPIC, partition_data=[partition])
        answer = self._client.call("Produce", 9, acks=-1, timeout_ms=5000, topic_data=[topic])
        found = answer.responses[0].partition_responses[0]
        return found.error_code, found.base_offset


def compare(found: Comparison, kafka: _Reader, ours: _Reader, sets: int) -> None:
    """Ask both for everything."""

    def ask(what: str, theirs: Any, mine: Any) -> None:
        found.answers += 1
        if theirs != mine:
            found.faults.append(f"{what}\n  kafka {str(theirs)[:300]}\n  ours  {str(mine)[:300]}")

    for timestamp in (*SPECIAL_TIMESTAMPS, *range(T0 - 20, T0 + sets * 10 + 30)):
        ask(f"offset of {timestamp}", kafka.offset(timestamp), ours.offset(timestamp))
    for offset in range(found.offsets + 2):
        for version in (4, 12):
            ask(
                f"fetch v{version} from {offset}",
                kafka.fetch(version, offset),
                ours.fetch(version, offset),
            )
    ask("append", kafka.append(), ours.append())


def run(seed: int, sets: int, folder: Path) -> Comparison:
    """Start both brokers with an empty topic, and again with the segment in it."""
    found = Comparison()
    data, found.offsets = make_segment(seed, sets)
    found.segment_bytes = len(data)
    kafka_dir, our_dir = folder / "kafka", folder / "ours"
    with ReferenceKafka(kafka_dir) as real, BrokerProcess(our_dir) as lite:
        for name, port in (("kafka", real.port), ("ours", lite.port)):
            broker = Broker(name, "127.0.0.1", port, timeout_s=TIMEOUT_S)
            broker.create_topics(CONFIGS)
            broker.close()
    put_segment(real.log_dir, data)
    put_segment(our_dir, data)
    with ReferenceKafka(kafka_dir) as real, BrokerProcess(our_dir) as lite:
        readers = [_Reader(port) for port in (real.port, lite.port)]
        try:
            compare(found, *readers, sets)
        finally:
            for reader in readers:
                reader.close()
    return found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="sets", default=60)


if __name__ == "__main__":
    sys.exit(main())

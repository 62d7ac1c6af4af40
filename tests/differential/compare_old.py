"""Send what old clients send to broker-lite and to Kafka 3.9, the last to serve them, and compare.

    python -m tests.differential.compare_old --seed 1 --requests 5000

Produce of versions 0 to 2 with message sets of magic 0 and 1: the answers, and every batch that was
stored. Then Fetch of versions 0 to 3 from all over the logs, with batches of newer producers and
with transactions among them: the answers, byte by byte where no compressor of ours wrote them, else
record by record. What differs is printed, and makes the exit code 1.

Rule: V-92, R-92, F-60 to F-62 (Apache Kafka 3.9).
"""

import itertools
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from broker_lite.record.batch import walk
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.messages import (
    LOG_APPEND_TIME,
    LegacyMessage,
    LegacyRecord,
    iterate_legacy,
)
from broker_lite.wire import messages
from tests.differential.case import TOPICS
from tests.differential.old_cases import OldCases
from tests.differential.outcomes import Broker, StoredBatch
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import KAFKA_OF_OLD_CLIENTS, ReferenceKafka

TIMEOUT_S: Final = 2.0
FETCHES_PER_REQUEST: Final = 0.4
TRANSACTIONS: Final = 4
CONTROL: Final = 32
SAME_COMPRESSOR: Final = frozenset((0, 1))
NOTE_LETTERS_MAX: Final = 200
NAMES: Final = tuple(name for name in TOPICS if not name.startswith("__"))
NO_CLEANING: Final = ("log.cleaner.min.compaction.lag.ms", "9223372036854775807")
SETTINGS: Final = (
    "emulate=3.9",
    "log.message.timestamp.after.max.ms=9223372036854775807",
    "=".join(NO_CLEANING),
)

Answer: TypeAlias = tuple[int, int, bytes | None]


@dataclass(slots=True)
class Comparison:
    """What a run found."""

    requests: int = 0
    fetches: int = 0
    fetched_bytes: int = 0
    equal_bytes: int = 0
    repeated: int = 0
    batches: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> str:
        """The figures of the run, a line each."""
        answers = ", ".join(f"{code}: {count}" for code, count in sorted(self.codes.items()))
        return "\n".join(
            (
                f"{self.requests} produce requests, {self.batches} stored batches",
                f"{self.fetches} fetches of {self.fetched_bytes} bytes, {self.equal_bytes} of them "
                "compared byte by byte",
                f"listed: {self.repeated} x Kafka sends the first batch twice",
                f"answers of Kafka: {answers}",
                f"differences: {len(self.faults)}, {self.seconds:.1f} s",
            )
        )


class _Client:
    """Fetches as an old consumer does, and writes in transactions, which such clients cannot."""

    def __init__(self, port: int) -> None:
        self._client = RawClient("127.0.0.1", port, client_id="old")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def fetch(self, topic: str, version: int, offset: int, sizes: tuple[int, int]) -> Answer:
        """Give code, high watermark and records of an answer."""
        kind = messages.FetchRequest
        partition = kind.FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=sizes[0]
        )
        topics = [kind.FetchTopic(topic=topic, partitions=[partition])]
        limit = {"max_bytes": sizes[1]} if version >= 3 else {}
        answer = self._client.call("Fetch", version, topics=topics, **limit)
        found = answer.responses[0].partitions[0]
        records = None if found.records is None else bytes(found.records)
        return found.error_code, found.high_watermark, records

    def producer(self, transactional_id: str) -> dict[str, int]:
        """Take over a transactional id; its last transaction has ended then, marker and all."""
        while True:
            made = self._client.call(
                "InitProducerId",
                4,
                transactional_id=transactional_id,
                transaction_timeout_ms=60_000,
            )
            if made.error_code == 0:
                return {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch}
            assert made.error_code in {14, 15, 16, 51}, made  # not yet

    def transaction(self, topic: str, number: int, now_ms: int) -> None:
        """Write two records in a transaction; some are aborted."""
        producer = self.producer(topic)
        kind = messages.AddPartitionsToTxnRequest
        added = self._client.call(
            "AddPartitionsToTxn",
            3,
            v3_and_below_transactional_id=topic,
            v3_and_below_producer_id=producer["producer_id"],
            v3_and_below_producer_epoch=producer["producer_epoch"],
            v3_and_below_topics=[kind.AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )
        (result,) = added.results_by_topic_v3_and_below[0].results_by_partition
        assert result.partition_error_code == 0, result
        builder = BatchBuilder(
            codec=number % 2,
            is_transactional=True,
            base_sequence=0,
            producer_id=producer["producer_id"],
            producer_epoch=producer["producer_epoch"],
        )
        builder.append(now_ms, b"k", b"first", [(b"h", b"lost")])
        builder.append(now_ms + 1, b"k", None)
        produce = messages.ProduceRequest
        partition = produce.PartitionProduceData(index=0, records=builder.build())
        answer = self._client.call(
            "Produce",
            7,
            acks=-1,
            timeout_ms=5000,
            transactional_id=topic,
            topic_data=[produce.TopicProduceData(name=topic, partition_data=[partition])],
        )
        assert answer.responses[0].partition_responses[0].error_code == 0, answer
        ended = self._client.call(
            "EndTxn",
            3,
            transactional_id=topic,
            committed=bool(number % 4 < 2),
            **producer,
        )
        assert ended.error_code == 0, ended


class _Run:
    """One comparison of two brokers that have the topics of TOPICS, new and empty."""

    def __init__(self, ports: tuple[int, int], seed: int) -> None:
        self.found = Comparison()
        self._now_ms = int(time.time() * 1000)
        self._source = random.Random(seed)
        self._cases = iter(OldCases(seed, self._now_ms))
        names = ("kafka", "ours")
        self._brokers = [
            Broker(name, "127.0.0.1", port, timeout_s=TIMEOUT_S)
            for name, port in zip(names, ports, strict=True)
        ]
        self._clients = [_Client(port) for port in ports]
        self._are_bytes_equal: dict[str, bool] = {}
        self._ends: dict[str, int] = {}

    def close(self) -> None:
        """Close all connections."""
        for each in (*self._brokers, *self._clients):
            each.close()

    def make_topics(self) -> None:
        """Create them, with transactions at their beginning."""
        for broker in self._brokers:
            broker.create_topics(TOPICS)
        for topic in ("plain", "append-time", "gzip"):
            for number in range(TRANSACTIONS):
                for client in self._clients:
                    client.transaction(topic, number, self._now_ms)
            for client in self._clients:
                client.producer(topic)

    def produce(self, requests: int) -> None:
        """Compare answers."""
        for case in itertools.islice(self._cases, requests):
            theirs, mine = (broker.produce(case) for broker in self._brokers)
            self.found.requests += 1
            codes = theirs if isinstance(theirs, str) else next(iter(theirs.values())).error_code
            self.found.codes[str(codes)] += 1
            if theirs != mine:
                note = case.note[:NOTE_LETTERS_MAX]
                topic = case.partitions[0][0]
                self.found.faults.append(
                    f"{case.kind} v{case.version} {topic} ({note})\n"
                    f"  kafka {theirs}\n  ours  {mine}"
                )

    def compare_stored(self) -> None:
        """Compare what the logs hold."""
        for topic in NAMES:
            theirs, mine = (broker.stored(topic, 0) for broker in self._brokers)
            if len(theirs) != len(mine):
                self.found.faults.append(f"{topic}: {len(theirs)} and {len(mine)} batches")
            codecs = {batch.header[3] & 7 for batch in theirs}
            self._are_bytes_equal[topic] = (
                codecs <= SAME_COMPRESSOR and "LogAppendTime" not in TOPICS[topic].values()
            )
            last = theirs[-1].header if theirs else (0, 0, 0, 0, -1)
            self._ends[topic] = last[0] + last[4] + 1
            for index, (one, other) in enumerate(zip(theirs, mine, strict=False)):
                self.found.batches += 1
                if _stored(one) != _stored(other):
                    self.found.faults.append(f"{topic} batch {index}\n  {one}\n  {other}")

    def fetch(self, fetches: int) -> None:
        """Compare answers to old consumers, from anywhere in the logs."""
        source = self._source
        sizes = (0, 1, 40, 100, 150, 200, 500, 3000, 200_000, 1_000_000)
        for _ in range(fetches):
            topic, version = source.choice(NAMES), source.randrange(4)
            offset = source.randrange(-1, self._ends[topic] + 2)
            exact = self._are_bytes_equal[topic]
            limits = (source.choice(sizes), source.choice(sizes)) if exact else (1 << 20, 1 << 20)
            theirs, mine = (
                client.fetch(topic, version, offset, limits) for client in self._clients
            )
            self.found.fetches += 1
            self.found.codes[f"fetch {theirs[0]}"] += 1
            size_bytes = len(theirs[2] or b"")
            self.found.fetched_bytes += size_bytes
            if exact:
                self.found.equal_bytes += size_bytes
            if theirs == mine or (not exact and _have_same_records(theirs, mine)):
                continue
            if _repeats_its_begin(theirs) and _have_same_records(theirs, mine):
                self.found.repeated += 1
            else:
                self.found.faults.append(
                    f"fetch v{version} {topic} from {offset} limits {limits}\n"
                    f"  kafka {_short(theirs)}\n  ours  {_short(mine)}"
                )


def _stored(batch: StoredBatch) -> tuple[tuple[int, ...], bytes]:
    """What both brokers must have stored: producer ids and times of markers are their own."""
    header = batch.header[:7] + batch.header[8:]
    if header[3] & CONTROL:
        header = header[:3] + header[4:5] + header[7:]
    return header, batch.records


def _have_same_records(one: Answer, other: Answer) -> bool:
    """Whether two answers have the same records, as far as the shorter one goes.

    An answer is as long as what is stored, which is of another compressor, and is cut there.
    """
    if one[:2] != other[:2] or one[2] is None or other[2] is None:
        return False
    records = [_without_repeats(_records(data)) for data in (one[2], other[2])]
    shorter, longer = sorted(records, key=len)
    return longer[: len(shorter)] == shorter and bool(shorter) == bool(longer)


def _repeats_its_begin(answer: Answer) -> bool:
    """Whether the first batch comes twice, as Kafka sends it when it left out others before it."""
    records = _records(answer[2] or b"")
    return len(_without_repeats(records)) < len(records)


def _without_repeats(records: list[LegacyRecord]) -> list[LegacyRecord]:
    return list({record.offset: record for record in records}.values())


def _records(data: bytes) -> list[LegacyRecord]:
    view = memoryview(data)
    return [
        # the time of an append is each broker's own
        record._replace(timestamp=0) if record.timestamp_type == LOG_APPEND_TIME else record
        for entry in walk(view)
        for record in iterate_legacy(LegacyMessage(view, entry.position, entry.size_bytes))
    ]


def _short(answer: Answer) -> str:
    code, high_watermark, data = answer
    text = None if data is None else f"{len(data)} bytes {data[:120].hex()}"
    return f"{code} {high_watermark} {text}"


def run(seed: int, requests: int, folder: Path) -> Comparison:
    """Start both brokers in a folder and compare them on the requests of a seed."""
    started = time.monotonic()
    with (
        ReferenceKafka(
            folder / "kafka", settings=dict([NO_CLEANING]), version=KAFKA_OF_OLD_CLIENTS
        ) as real,
        BrokerProcess(folder / "ours", settings=SETTINGS) as lite,
    ):
        comparison = _Run((real.port, lite.port), seed)
        try:
            comparison.make_topics()
            comparison.produce(requests)
            comparison.compare_stored()
            comparison.fetch(int(requests * FETCHES_PER_REQUEST))
        finally:
            comparison.close()
    comparison.found.seconds = time.monotonic() - started
    return comparison.found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="requests", default=5000)


if __name__ == "__main__":
    sys.exit(main())

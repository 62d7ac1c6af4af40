"""A broker that is killed again and again under load loses nothing that it acknowledged.

    python -m tests.fuzz.kill --seed 1 --kills 20

Plain and idempotent producers, each with a partition of its own and several requests in flight,
write numbered records until SIGKILL ends the broker. After each restart every acknowledged record
is at its offset. An idempotent producer sends again what was not acknowledged, as clients do: its
partition holds each of its records once, in order.
"""

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.fuzz.full_disk import batches
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import Closed, RawClient

PARTITIONS: Final = 4
IDEMPOTENT: Final = (2, 3)
IN_FLIGHT: Final = 5
TOPIC: Final = "killed"
LOAD_S: Final = (0.05, 0.5)
SETTINGS: Final = (
    KEEP,
    "log.segment.bytes=1048576",
    "log.index.interval.bytes=100",
    "log.flush.offset.checkpoint.interval.ms=20",
)
_DUPLICATE: Final = 46
LOST: Final = (Closed, ConnectionError, TimeoutError)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    kills: int = 0
    acknowledged: int = 0
    retried: int = 0
    ready_ms_max: int = 0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.kills} kills, {self.acknowledged} acknowledged records, {self.retried} sent "
            f"again by idempotent producers, slowest restart {self.ready_ms_max} ms, "
            f"{len(self.faults)} faults"
        )


class Producer:
    """Writes numbered records to one partition; knows which were acknowledged, and at what offset.

    Attributes:
        acknowledged: offset by number.
        unknown: numbers that were sent and never answered, in order.
    """

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.is_idempotent = partition in IDEMPOTENT
        self.acknowledged: dict[int, int] = {}
        self.unknown: deque[int] = deque()
        self.retried = 0
        self.fault: str | None = None
        self._producer_id = -1
        self._next_number = 0

    def load(self, port: int) -> None:
        """Send until the broker is gone."""
        try:
            with RawClient("127.0.0.1", port) as client:
                if self.is_idempotent and self._producer_id < 0:
                    kind = messages.InitProducerIdRequest
                    asked = kind(transactional_id=None, transaction_timeout_ms=1)
                    self._producer_id = client.request(kind, asked, 3).producer_id
                self._send_all(client)
        except LOST:
            return

    def _send_all(self, client: RawClient) -> None:
        again = deque(self.unknown if self.is_idempotent else ())
        self.retried += len(again)
        in_flight: deque[int] = deque()
        if not self.is_idempotent:
            self.unknown.clear()
        while self.fault is None:
            while len(in_flight) < IN_FLIGHT:
                number = again.popleft() if again else self._next()
                in_flight.append(number)
                body = messages.ProduceRequest.encode(self._request(number), 9)
                client.send(0, 9, body, flexible=True)
            self._take_answer(client, in_flight)

    def _next(self) -> int:
        number = self._next_number
        self._next_number += 1
        self.unknown.append(number)
        return number

    def _take_answer(self, client: RawClient, in_flight: deque[int]) -> None:
        _, answer = client.receive(flexible=True)
        value, _ = messages.ProduceResponse.decode(answer, 9)
        partition = value.responses[0].partition_responses[0]
        number = in_flight.popleft()
        if partition.error_code not in {0, _DUPLICATE}:
            self.fault = f"partition {self.partition}: {number} was answered {partition}"
            return
        self.unknown.remove(number)
        # a duplicate whose batch is not remembered any more has no offset
        self.acknowledged[number] = partition.base_offset

    def _request(self, number: int) -> Any:
        producer: dict[str, Any] = {}
        if self.is_idempotent:
            producer = {
                "producer_id": self._producer_id,
                "producer_epoch": 0,
                "base_sequence": number,
            }
        builder = BatchBuilder(**producer)
        builder.append(1_700_000_000_000 + number, b"%d" % self.partition, b"%d" % number * 40)
        kind = messages.ProduceRequest
        data = kind.PartitionProduceData(index=self.partition, records=bytes(builder.build()))
        topic = kind.TopicProduceData(name=TOPIC, partition_data=[data])
        return kind(acks=-1, timeout_ms=1000, topic_data=[topic])

    def check(self, stored: list[bytes]) -> str | None:
        """Compare with what a partition holds; return what is wrong."""
        for number, offset in self.acknowledged.items():
            if offset >= 0 and (offset >= len(stored) or stored[offset] != b"%d" % number * 40):
                return f"partition {self.partition}: record {number} is not at offset {offset}"
        if self.is_idempotent:
            wanted = [b"%d" % number * 40 for number in range(len(stored))]
            if stored != wanted or len(stored) < len(self.acknowledged):
                return f"partition {self.partition}: not each record once and in order"
        return None


def create(client: RawClient, name: str, partitions: int) -> int:
    """Create a topic; give the error code."""
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = client.request(kind, kind(topics=[topic], timeout_ms=1000), 5)
    return int(answer.topics[0].error_code)


def stored_values(client: RawClient, partition: int) -> list[bytes]:
    """All records of a partition."""
    kind = messages.FetchRequest
    values: list[bytes] = []
    while True:
        asked = kind.FetchPartition(
            partition=partition, fetch_offset=len(values), partition_max_bytes=4_000_000
        )
        topics = [kind.FetchTopic(topic=TOPIC, partitions=[asked])]
        answer = client.request(kind, kind(max_wait_ms=0, max_bytes=4_000_000, topics=topics), 12)
        read = answer.responses[0].partitions[0]
        assert read.error_code == 0, read
        found = batches(bytes(read.records))
        for batch in found:
            values += [bytes(record.value or b"") for record in iterate_records(batch)]
        if not found:
            assert len(values) == read.high_watermark
            return values


class Loader(Protocol):
    """Somebody who works with a broker until it is gone."""

    def load(self, port: int) -> None:
        """Work; return when the broker has gone."""


def load_and_kill(broker: BrokerProcess, loaders: Sequence[Loader], seconds: float) -> None:
    """Let everybody work, each in a thread, and kill the broker meanwhile."""
    threads = [threading.Thread(target=each.load, args=(broker.port,)) for each in loaders]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    broker.kill()
    for thread in threads:
        thread.join()


def _check(found: Findings, port: int, producers: list[Producer], topics: set[str]) -> None:
    with RawClient("127.0.0.1", port) as client:
        kind = messages.MetadataRequest
        known = {each.name for each in client.request(kind, kind(topics=None), 9).topics}
        if missing := topics - known:
            found.faults.append(f"topics are gone: {missing}")
        for producer in producers:
            fault = producer.fault or producer.check(stored_values(client, producer.partition))
            if fault is not None:
                found.faults.append(f"after {found.kills} kills: {fault}")


def run(seed: int, kills: int, folder: Path) -> Findings:
    """Kill a broker this often, at random moments."""
    source, found = random.Random(seed), Findings()
    producers = [Producer(partition) for partition in range(PARTITIONS)]
    topics: set[str] = set()
    while found.kills < kills and not found.faults:
        broker = BrokerProcess(folder / "data", settings=SETTINGS).start()
        found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
        _check(found, broker.port, producers, topics) if topics else None
        with RawClient("127.0.0.1", broker.port) as client:
            for name in (TOPIC, f"new-{found.kills}"):
                if name not in topics and create(client, name, PARTITIONS) == 0:
                    topics.add(name)
        load_and_kill(broker, producers, source.uniform(*LOAD_S))
        found.kills += 1
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
        _check(found, broker.port, producers, topics)
        if "Traceback" in broker.log:
            found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    found.acknowledged = sum(len(producer.acknowledged) for producer in producers)
    found.retried = sum(producer.retried for producer in producers)
    return found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="kills", default=20)


if __name__ == "__main__":
    sys.exit(main())

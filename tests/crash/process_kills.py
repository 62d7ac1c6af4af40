"""Processes of a broker that are killed under load lose nothing that was acknowledged.

    python -m tests.crash.process_kills --seed 1 --kills 100

An idempotent producer and a transactional one write to partitions of four processes all the while.
At random moments one of the further processes is ended by SIGKILL, or two of them. After each kill
every partition has to be written to again; how long that takes is measured. In the end each
acknowledged record is where its acknowledgement said, and once; aborted records are invisible, and
committed transactions are whole.
"""

import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from broker_lite.testing import Broker
from tests.support.command import seeded_main

PROCESSES: Final = 4
PARTITIONS: Final = 8
TIMEOUT_S: Final = 60.0
LOAD_S: Final = (0.1, 2.0)
PAUSE_S: Final = 0.005
TWO: Final = 0.2
PLAIN: Final = "plain"
TRANSACTIONS: Final = "transactions"


@dataclass
class Findings:
    """What a run saw; without faults it has passed."""

    kills: int = 0
    records: int = 0
    transactions: int = 0
    gaps_s: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        gaps = sorted(self.gaps_s) or [0.0]
        median, worst = gaps[len(gaps) // 2], gaps[-1]
        within = sum(gap <= 2 for gap in gaps) / len(gaps)
        return (
            f"{self.kills} kills, {self.records} records, {self.transactions} transactions, "
            f"{len(self.faults)} faults; until all partitions were written to again: "
            f"median {median:.2f} s, {within:.0%} within 2 s, longest {worst:.2f} s"
        )


class Writer(threading.Thread):
    """An idempotent producer that writes 0, 1, 2, ... to each partition.

    Attributes:
        acked: offset by partition and value.
        lost: what was given up.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="writer")
        self.acked: dict[tuple[int, int], int] = {}
        self.last_s = [0.0] * PARTITIONS
        self.lost: list[str] = []
        self.stopped = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "delivery.timeout.ms": int(TIMEOUT_S * 1000),
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        number = 0
        while not self.stopped.is_set():
            for partition in range(PARTITIONS):
                self._producer.produce(
                    PLAIN, str(number).encode(), partition=partition, on_delivery=self._delivered
                )
            number += 1
            self._producer.poll(PAUSE_S)
        self._producer.flush(TIMEOUT_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, value = message.partition(), int(message.value() or b"-1")
        assert partition is not None
        if error is not None:
            self.lost.append(f"{PLAIN}-{partition}: {value}: {error}")
            return
        offset = message.offset()
        assert offset is not None
        self.acked[partition, value] = offset
        self.last_s[partition] = time.monotonic()


class Transactor(threading.Thread):
    """A producer that writes the same value to all partitions in a transaction; a third is aborted.

    Attributes:
        committed: the values of transactions whose commit was acknowledged.
        unknown: those of transactions of which nobody knows.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="transactor")
        self.committed: list[int] = []
        self.unknown: set[int] = set()
        self.stopped = threading.Event()
        self._settings = {
            "bootstrap.servers": bootstrap,
            "transactional.id": TRANSACTIONS,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }

    def run(self) -> None:
        producer, number = self._begin(), 0
        while not self.stopped.is_set():
            number += 1
            try:
                producer.begin_transaction()
                for partition in range(PARTITIONS):
                    producer.produce(TRANSACTIONS, str(number).encode(), partition=partition)
                if number % 3:
                    producer.commit_transaction(TIMEOUT_S)
                    self.committed.append(number)
                else:
                    producer.abort_transaction(TIMEOUT_S)
            except KafkaException:  # as fenced, or aborted by the broker
                self.unknown.add(number)
                producer = self._begin()

    def _begin(self) -> Producer:
        producer = Producer(self._settings)
        producer.init_transactions(TIMEOUT_S)
        return producer


def further_processes(broker: Broker) -> list[psutil.Process]:
    """The processes of all brokers but the first one."""
    return [
        process
        for process in psutil.Process(broker.pid).children()
        if process.name().startswith("broker-lite ")
    ]


def run(seed: int, kills: int, folder: Path) -> Findings:
    """Kill processes so often; show how far it is."""
    found, chance = Findings(), random.Random(seed)
    settings = {
        "broker.lite.processes": str(PROCESSES),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
    }
    topics = [f"{PLAIN}:{PARTITIONS}", f"{TRANSACTIONS}:{PARTITIONS}"]
    with Broker(settings, topics=topics, data_dir=folder / "data") as broker:
        writer, transactor = Writer(broker.bootstrap), Transactor(broker.bootstrap)
        writer.start()
        transactor.start()
        try:
            while found.kills < kills:
                _kill_some(broker, writer, chance, found)
                print(f"\r{found.kills}/{kills} kills", end="", file=sys.stderr, flush=True)
        finally:
            print(file=sys.stderr)
            writer.stopped.set()
            transactor.stopped.set()
            writer.join()
            transactor.join()
        _check(broker, writer, transactor, found)
    return found


def _kill_some(broker: Broker, writer: Writer, chance: random.Random, found: Findings) -> None:
    time.sleep(chance.uniform(*LOAD_S))
    running = further_processes(broker)
    killed = chance.sample(running, 2 if chance.random() < TWO else 1) if running else []
    began_s = time.monotonic()
    for process in killed:
        process.kill()
    found.kills += len(killed)
    while min(writer.last_s) <= began_s:
        if time.monotonic() > began_s + TIMEOUT_S:
            found.faults.append(f"a partition is not written to {TIMEOUT_S} s after a kill")
            return
        time.sleep(PAUSE_S)
    found.gaps_s.append(time.monotonic() - began_s)


def _check(broker: Broker, writer: Writer, transactor: Transactor, found: Findings) -> None:
    found.faults += writer.lost
    found.records, found.transactions = len(writer.acked), len(transactor.committed)
    stored = {(one.partition, one.offset): int(one.value or b"-1") for one in broker.records(PLAIN)}
    for (partition, value), offset in writer.acked.items():
        if stored.get((partition, offset), value if offset < 0 else None) != value:
            found.faults.append(f"{PLAIN}-{partition}: {value} is not at {offset}")
    counts = Counter((partition, value) for (partition, _), value in stored.items())
    found.faults += [f"{PLAIN}-{one}: is there {n} times" for one, n in counts.items() if n > 1]
    read = Counter(
        int(one.value or b"-1") for one in broker.records(TRANSACTIONS, read_committed=True)
    )
    for value in transactor.committed:
        if read[value] != PARTITIONS:
            found.faults.append(f"transaction {value}: {read[value]} of its records are there")
    for value in read.keys() - transactor.unknown - set(transactor.committed):
        found.faults.append(f"transaction {value}: was aborted, and is there")


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="kills", default=50))

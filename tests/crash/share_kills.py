"""A broker that is killed again and again under share consumers keeps what it has promised.

    python -m tests.crash.share_kills --seed 1 --kills 200

A producer writes all the while. Members of a share group read, accept, release, reject, and let
locks end: three that send their requests themselves, and a share consumer of librdkafka. The broker
is ended by SIGKILL at random moments. No record is told as delivered more often than its limit;
what was accepted or rejected, and answered without an error, is never delivered again. In the end
every acknowledged record was delivered, and the group has nothing left to read.
"""

import random
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from broker_lite.wire import messages
from tests.crash.share_users import (
    DELIVERIES_MAX,
    GROUP,
    LOCK_MS,
    PARTITIONS,
    TOPIC,
    Ledger,
    LibrdkafkaMember,
    RawMember,
    User,
)
from tests.fuzz.kill import create
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

RAW_MEMBERS: Final = 3
LOAD_S: Final = (0.05, 1.5)
DRAIN_S: Final = 90.0
STOP_S_MAX: Final = 60.0
RECORDS_A_SECOND: Final = 200
SETTINGS: Final = (
    "group.share.min.record.lock.duration.ms=1000",
    "share.coordinator.state.topic.num.partitions=2",
    "share.coordinator.snapshot.update.records.per.snapshot=20",
)
_PAUSE_S: Final = 0.05


@dataclass
class Findings:
    """What a run saw; without faults it has passed."""

    kills: int = 0
    records: int = 0
    deliveries: int = 0
    done: int = 0
    highest_count: int = 0
    ready_ms_max: int = 0  # 0: whoever was killed is started again by another
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        restart = f"slowest restart {self.ready_ms_max} ms, " if self.ready_ms_max else ""
        return (
            f"{self.kills} kills, {self.records} records, {self.deliveries} deliveries, "
            f"{self.done} records acknowledged for good, highest delivery count "
            f"{self.highest_count} of {DELIVERIES_MAX}, {restart}{len(self.faults)} faults"
        )


class Writer(threading.Thread):
    """An idempotent producer.

    Attributes:
        acknowledged: the records that it was told the places of.
        lost: what was given up.
    """

    def __init__(self, port: int, records_a_second: int = RECORDS_A_SECOND) -> None:
        super().__init__(name="writer", daemon=True)
        self._records_a_second = records_a_second
        self.acknowledged: set[tuple[int, int]] = set()
        self.lost: list[str] = []
        self.stopped = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "enable.idempotence": True,
                "linger.ms": 20,
                "metadata.recovery.strategy": "none",  # else it begins anew at each kill
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "topic.metadata.refresh.fast.interval.ms": 20,
                "retry.backoff.ms": 10,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        """Write until told to stop."""
        number = 0
        while not self.stopped.is_set():
            self._producer.produce(
                TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(1 / self._records_a_second)
        self._producer.flush(DRAIN_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is not None or partition is None or offset is None:
            self.lost.append(f"partition {partition}: not written: {error}")
        elif offset >= 0:  # librdkafka does not know the offset of a duplicate
            self.acknowledged.add((partition, offset))


def run(seed: int, kills: int, folder: Path) -> Findings:
    """Kill the broker so often; show how far it is."""
    found, chance = Findings(), random.Random(seed)
    port = free_port()
    broker = BrokerProcess(folder / "data", settings=SETTINGS, port=port).start()
    try:
        with RawClient("127.0.0.1", port) as client:
            assert create(client, TOPIC, PARTITIONS) == 0
            configure(client)
        ledger, writer = Ledger(), Writer(port)
        users: list[User] = [
            RawMember(f"raw{number}", port, ledger, random.Random(chance.random()))
            for number in range(RAW_MEMBERS)
        ]
        users.append(LibrdkafkaMember("librdkafka", port, ledger, random.Random(chance.random())))
        for thread in (writer, *users):
            thread.start()
        while found.kills < kills and not ledger.faults:
            time.sleep(chance.uniform(*LOAD_S))
            broker.kill()
            found.kills += 1
            broker.start()
            found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
            print(f"\r{found.kills}/{kills} kills", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        writer.stopped.set()
        writer.join()
        drain(port, users, found)
        check(ledger, writer, users, found)
        code = broker.stop(STOP_S_MAX)
        if code != 0:
            found.faults.append(f"the broker ends with {code}: {broker.log[-2000:]}")
        if "Traceback" in broker.log:
            found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    finally:
        if broker.running():
            broker.kill()
    return found


def configure(client: RawClient) -> None:
    """Let the group read from the beginning, with few deliveries and short locks."""
    message = messages.IncrementalAlterConfigsRequest
    configs = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": str(DELIVERIES_MAX),
        "share.record.lock.duration.ms": str(LOCK_MS),
    }
    altered = [
        message.AlterableConfig(name=name, config_operation=0, value=value)
        for name, value in configs.items()
    ]
    resource = message.AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=altered)
    answer = client.call("IncrementalAlterConfigs", 1, resources=[resource])
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


def drain(port: int, users: list[User], found: Findings) -> None:
    """Let the members read until nothing is left, and end them."""
    deadline_s = time.monotonic() + DRAIN_S
    with RawClient("127.0.0.1", port) as client:
        while (lag := _lag(client)) != 0:
            if time.monotonic() > deadline_s:
                found.faults.append(f"{lag} records are left after {DRAIN_S} s")
                break
            time.sleep(_PAUSE_S)
    for user in users:
        user.stopped.set()
    for user in users:
        user.join(DRAIN_S)


def _lag(client: RawClient) -> int:
    """Return how many records the group has to read yet."""
    message = messages.DescribeShareGroupOffsetsRequest
    group = message.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
    answer = client.call("DescribeShareGroupOffsets", 1, groups=[group])
    lags = [each.lag for topic in answer.groups[0].topics for each in topic.partitions]
    return sum(lags) if len(lags) == PARTITIONS and min(lags) >= 0 else -1


def check(ledger: Ledger, writer: Writer, users: list[User], found: Findings) -> None:
    """Compare what the members were told with what was written."""
    found.records, found.deliveries = len(writer.acknowledged), ledger.deliveries
    found.done = len(ledger.done)
    found.highest_count = max(ledger.delivered.values(), default=0)
    found.faults += [*ledger.faults, *writer.lost]
    found.faults += [f"{user.name} failed: {user.fault!r}" for user in users if user.fault]
    missed = writer.acknowledged - ledger.delivered.keys()
    found.faults += [f"{place} was never delivered" for place in sorted(missed)]


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="kills", default=50))

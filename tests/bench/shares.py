"""What share consumers cost: broker-lite and Apache Kafka side by side.

    python -m tests.bench.shares [--scale 1.0] [--rounds 3] [--alone]

A thousand share consumers, each with a connection and a share session of its own, read one topic. A
request acquires a record batch of 16 KB, and accepts the one before. CPU is the broker process's
user and system time of one such request, the best round; the brokers take turns. A ratio is
broker-lite's figure over Kafka's, and `bound` is what it must not pass.
"""

import base64
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from broker_lite.wire import messages
from tests.bench.load_client import LoadClient, Round, batch_of, produce_frame, user_and_system_s
from tests.bench.options import begin
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka

CONSUMERS: Final = 1000
PARTITIONS: Final = 20  # each has room for the records of all its consumers
BATCH: Final = (150, 99)  # 16 KB
REQUESTS: Final = 5000
IN_FLIGHT: Final = 50
BOUND: Final = 0.60
GROUP: Final = "g"
TOPIC: Final = "t"
SETTINGS: Final = {
    "group.share.max.size": str(CONSUMERS),
    "group.share.max.partition.max.record.locks": "10000",
    "group.share.partition.max.record.locks": "10000",
    "group.share.record.lock.duration.ms": "60000",
    "group.share.session.timeout.ms": "60000",
}
_TIMEOUT_S: Final = 60.0
_ACCEPT: Final = 1


class Consumer:
    """A member with a share session, which reads from one partition."""

    def __init__(self, port: int, number: int, topic_id: bytes) -> None:
        self.member_id = base64.urlsafe_b64encode(b"%016d" % number).rstrip(b"=").decode()
        self.client = RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S)
        self._topic_id = topic_id
        self._partition = number % PARTITIONS
        self._epoch = 0
        self._held: tuple[int, int] | None = None

    def send(self) -> None:
        """Ask for a record batch, and accept the one before."""
        message = messages.ShareFetchRequest
        accepted = []
        if self._held is not None:
            first, last = self._held
            accepted = [
                message.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=[_ACCEPT]
                )
            ]
        partition = message.FetchPartition(
            partition_index=self._partition, acknowledgement_batches=accepted
        )
        request = message(
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=1000,
            min_bytes=1,
            max_bytes=17_000,
            max_records=BATCH[0],
            batch_size=BATCH[0],
            topics=[message.FetchTopic(topic_id=self._topic_id, partitions=[partition])],
        )
        self.client.send(78, 2, message.encode(request, 2), flexible=True)

    def receive(self) -> int:
        """Receive the record batch; return its size, 0 if there was none in time."""
        _, answer = self.client.receive(flexible=True)
        value, _ = messages.ShareFetchResponse.decode(answer, 2)
        assert value.error_code == 0, value.error_code
        if not value.responses:
            self._epoch += 1
            return 0
        told = value.responses[0].partitions[0]
        assert told.error_code == 0 == told.acknowledge_error_code, told
        self._epoch += 1
        self._held = None
        for acquired in told.acquired_records:
            self._held = acquired.first_offset, acquired.last_offset
        return len(told.records or b"")


class Target:
    """A running broker, its topic, and the consumers.

    Attributes:
        name: for the table.
        empty: how many requests of a round got no records, at most.
    """

    def __init__(self, name: str, port: int, pid: int, batches: int) -> None:
        """Make the topic, and let all consumers join.

        Args:
            name: for the table.
            port: of the broker.
            pid: of its process.
            batches: how many record batches each partition gets.
        """
        self.name = name
        self.empty = 0
        self._pid = pid
        self._admin = RawClient("127.0.0.1", port, timeout_s=_TIMEOUT_S)
        topic_id = self._create_topic()
        self._fill(port, batches)
        self._begin_early()
        self._consumers = [Consumer(port, number, topic_id) for number in range(CONSUMERS)]
        for consumer in self._consumers:
            self._beat(consumer)

    def _create_topic(self) -> bytes:
        topic = messages.CreateTopicsRequest.CreatableTopic(
            name=TOPIC, num_partitions=PARTITIONS, replication_factor=1
        )
        answer = self._admin.call("CreateTopics", 7, topics=[topic], timeout_ms=10_000)
        assert answer.topics[0].error_code == 0
        topic_id: bytes = answer.topics[0].topic_id
        return topic_id

    def _fill(self, port: int, batches: int) -> None:
        client = LoadClient("127.0.0.1", port)
        data = batch_of(*BATCH)
        for partition in range(PARTITIONS):
            frame = produce_frame(TOPIC, data, partition=partition)
            client.run(lambda _, frame=frame: frame, batches, 5)
        client.close()

    def _begin_early(self) -> None:
        message = messages.IncrementalAlterConfigsRequest
        config = message.AlterableConfig(
            name="share.auto.offset.reset", config_operation=0, value="earliest"
        )
        resource = message.AlterConfigsResource(
            resource_type=32, resource_name=GROUP, configs=[config]
        )
        answer = self._admin.call("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer.responses[0].error_code == 0

    def _beat(self, consumer: Consumer) -> None:
        while True:
            answer = self._admin.call(
                "ShareGroupHeartbeat",
                1,
                group_id=GROUP,
                member_id=consumer.member_id,
                member_epoch=0,
                subscribed_topic_names=[TOPIC],
            )
            if answer.error_code == 0:
                return
            self._admin.call("FindCoordinator", 4, key_type=0, coordinator_keys=[GROUP])

    def round(self, requests: int) -> Round:
        """Let the consumers read in turn; return what that cost."""
        for consumer in self._consumers:
            self._beat(consumer)
        began_s, sizes = time.perf_counter(), []
        before_user_s, before_system_s = user_and_system_s(self._pid)
        for begin_at in range(0, requests, IN_FLIGHT):
            some = [
                self._consumers[number % CONSUMERS]
                for number in range(begin_at, min(begin_at + IN_FLIGHT, requests))
            ]
            for consumer in some:
                consumer.send()
            sizes += [consumer.receive() for consumer in some]
        self.empty = max(self.empty, sizes.count(0))
        user_s, system_s = user_and_system_s(self._pid)
        return Round(
            requests=requests,
            payload_bytes=sum(sizes),
            seconds=time.perf_counter() - began_s,
            user_s=user_s - before_user_s,
            system_s=system_s - before_system_s,
        )


@contextmanager
def targets(batches: int, *, alone: bool) -> Iterator[list[Target]]:
    """Start the brokers, and let the consumers of each join."""
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    with tempfile.TemporaryDirectory(prefix="shares-") as name:
        folder = Path(name)
        with BrokerProcess(folder / "ours", settings=settings) as ours:
            found = [Target("broker-lite", ours.port, ours.pid, batches)]
            if alone:
                yield found
                return
            with ReferenceKafka(folder / "kafka", settings=SETTINGS, heap="1000m") as kafka:
                yield [*found, Target("kafka", kafka.port, kafka.pid, batches)]


def main() -> int:
    """Run from the command line."""
    options = begin(__doc__)
    requests = max(int(REQUESTS * options.scale), CONSUMERS)
    batches = (options.rounds + 1) * requests // PARTITIONS + IN_FLIGHT
    with targets(batches, alone=options.alone) as brokers:
        for target in brokers:
            target.round(requests)  # a warm-up
        rounds = [[target.round(requests) for target in brokers] for _ in range(options.rounds)]
    best = [min(each.cpu_us_per_request for each in column) for column in zip(*rounds, strict=True)]
    for target, cpu_us in zip(brokers, best, strict=True):
        print(f"{target.name:12} {cpu_us:7.0f} us of CPU a request, {target.empty} without records")
    if len(best) > 1:
        ratio = best[0] / best[1]
        mark = "ok" if ratio <= BOUND else "MISSED"
        print(f"cpu x {ratio:.2f} (bound {BOUND:.2f} {mark})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

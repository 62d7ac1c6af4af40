"""Members of a share group that go on through the kills of a broker, and what they were told.

Each works in a thread of its own. A raw one sees offsets and delivery counts as the broker tells
them; the other one is librdkafka's share consumer.
"""

import base64
import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import (
    AcknowledgeType,
    IllegalStateException,
    KafkaException,
    Message,
    ShareConsumer,
    TopicPartition,
)

from broker_lite.wire import messages
from tests.support.raw_client import Closed, RawClient

TOPIC: Final = "t"
GROUP: Final = "g"
PARTITIONS: Final = 2
DELIVERIES_MAX: Final = 4
LOCK_MS: Final = 1500
_WAIT_MS: Final = 100
_PAUSE_S: Final = 0.02
_ACCEPT: Final = 1
_RELEASE: Final = 2
_REJECT: Final = 3

Place = tuple[int, int]
"""A record: partition and offset."""


class Ledger:
    """What all members were told.

    Attributes:
        delivered: the highest delivery count by record.
        done: the records whose end was acknowledged, and answered without an error.
        deliveries: how many there were.
        last_s: when records were delivered last, by partition.
        faults: what the broker may not do.
    """

    def __init__(self) -> None:
        self.delivered: dict[Place, int] = {}
        self.done: set[Place] = set()
        self.deliveries = 0
        self.last_s = [0.0] * PARTITIONS
        self.faults: list[str] = []
        self._lock = threading.Lock()

    def deliver(self, member: str, partition: int, first: int, last: int, count: int) -> None:
        """Note records that a member got."""
        with self._lock:
            self.last_s[partition] = time.monotonic()
            for offset in range(first, last + 1):
                place = partition, offset
                self.deliveries += 1
                self.delivered[place] = max(self.delivered.get(place, 0), count)
                if count > DELIVERIES_MAX:
                    self.faults.append(f"{member}: {place} is delivered, and told as {count}")
                if place in self.done:
                    self.faults.append(f"{member}: {place} is delivered, and was acknowledged")

    def finish(self, places: Iterable[Place]) -> None:
        """Note records that were accepted or rejected, and answered without an error."""
        with self._lock:
            self.done.update(places)


class User(threading.Thread):
    """A member at work until told to stop."""

    def __init__(self, name: str, port: int, ledger: Ledger, chance: random.Random) -> None:
        super().__init__(name=name, daemon=True)
        self.port, self.ledger, self.chance = port, ledger, chance
        self.stopped = threading.Event()
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Work, and remember what ended it."""
        try:
            self.work()
        except BaseException as error:
            self.fault = error
            raise

    def work(self) -> None:
        """Read and acknowledge records."""
        raise NotImplementedError


class RawMember(User):
    """Sends the requests itself: it releases and rejects, and lets locks end, too.

    Attributes:
        partitions: those that it reads from; one broker leads them.
        coordinator_port: of the group's coordinator.
    """

    _client: RawClient
    _topic_id: bytes
    _epoch: int

    def __init__(
        self,
        name: str,
        port: int,
        ledger: Ledger,
        chance: random.Random,
        *,
        partitions: Sequence[int] = range(PARTITIONS),
        coordinator_port: int | None = None,
    ) -> None:
        super().__init__(name, port, ledger, chance)
        self.partitions = partitions
        self.coordinator_port = port if coordinator_port is None else coordinator_port

    def work(self) -> None:
        """Connect again and again; what was held is lost with a connection."""
        member_id = self.name.encode().ljust(16, b"-")
        self._member_id = base64.urlsafe_b64encode(member_id).rstrip(b"=").decode()
        while not self.stopped.is_set():
            try:
                with RawClient("127.0.0.1", self.port) as self._client:
                    self._read()
            except (Closed, ConnectionError):
                time.sleep(_PAUSE_S)

    def _read(self) -> None:
        if not self._joined():
            return
        self._epoch = 0
        while not self.stopped.is_set():
            held = self._fetch()
            if held is None:
                return
            if self.chance.random() < 0.1:
                time.sleep(self.chance.uniform(0, 1.2 * LOCK_MS / 1000))
            for partition, first, last in held:
                if self.chance.random() < 0.9 and not self._acknowledge(partition, first, last):
                    return

    def _joined(self) -> bool:
        with RawClient("127.0.0.1", self.coordinator_port) as coordinator:
            return self._joins(coordinator)

    def _joins(self, coordinator: RawClient) -> bool:
        while not self.stopped.is_set():
            answer = coordinator.call(
                "ShareGroupHeartbeat",
                1,
                group_id=GROUP,
                member_id=self._member_id,
                member_epoch=0,
                subscribed_topic_names=[TOPIC],
            )
            assigned = answer.assignment
            if answer.error_code == 0 and assigned and assigned.topic_partitions:
                self._topic_id = assigned.topic_partitions[0].topic_id
                return True
            time.sleep(_PAUSE_S)
        return False

    def _fetch(self) -> list[tuple[int, int, int]] | None:
        """Acquire records; return them, or None if the session is gone."""
        message = messages.ShareFetchRequest
        topics = []
        if self._epoch == 0:
            partitions = [
                message.FetchPartition(partition_index=index) for index in self.partitions
            ]
            topics = [message.FetchTopic(topic_id=self._topic_id, partitions=partitions)]
        answer = self._client.call(
            "ShareFetch",
            2,
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=self.chance.choice([1, 10, 100]),
            batch_size=self.chance.choice([1, 20]),
            share_acquire_mode=self.chance.randrange(2),
            topics=topics,
        )
        if answer.error_code:
            return None
        self._epoch += 1
        held = []
        for topic in answer.responses:
            for partition in topic.partitions:
                index = partition.partition_index
                for each in partition.acquired_records:
                    first, last = each.first_offset, each.last_offset
                    self.ledger.deliver(self.name, index, first, last, each.delivery_count)
                    held.append((index, first, last))
        return held

    def _acknowledge(self, index: int, first: int, last: int) -> bool:
        """Say something of each record; return False if the session is gone."""
        message = messages.ShareAcknowledgeRequest
        kinds = [
            self.chance.choices([_ACCEPT, _RELEASE, _REJECT], [80, 18, 2])[0]
            for _ in range(first, last + 1)
        ]
        if self.chance.random() < 0.5:
            kinds = kinds[:1]
        batch = message.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=kinds
        )
        partition = message.AcknowledgePartition(
            partition_index=index, acknowledgement_batches=[batch]
        )
        answer = self._client.call(
            "ShareAcknowledge",
            2,
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            topics=[message.AcknowledgeTopic(topic_id=self._topic_id, partitions=[partition])],
        )
        if answer.error_code:
            return False
        self._epoch += 1
        told = answer.responses[0].partitions[0]
        if told.error_code == 0:
            kinds = kinds * (last - first + 1) if len(kinds) == 1 else kinds
            self.ledger.finish(
                (index, offset)
                for offset, kind in zip(range(first, last + 1), kinds, strict=True)
                if kind != _RELEASE
            )
        return True


class LibrdkafkaMember(User):
    """A share consumer that acknowledges each record, and hears what became of it."""

    def work(self) -> None:
        """Read until told to stop; librdkafka connects again by itself."""
        consumer = ShareConsumer(
            {
                "bootstrap.servers": f"127.0.0.1:{self.port}",
                "group.id": GROUP,
                "share.acknowledgement.mode": "explicit",
                "metadata.recovery.strategy": "none",  # else it begins anew at each kill
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "log_level": 0,
            }
        )
        kinds: dict[Place, int] = {}

        def told(offsets: Mapping[TopicPartition, set[int]], error: Any) -> None:
            if error is None:
                places = [(each.partition, one) for each, some in offsets.items() for one in some]
                self.ledger.finish(each for each in places if kinds.get(each) == _ACCEPT)

        consumer.set_acknowledgement_commit_callback(told)
        consumer.subscribe([TOPIC])
        while not self.stopped.is_set():
            try:
                for one in consumer.poll(_WAIT_MS / 1000):
                    self._take(consumer, one, kinds)
                consumer.commit_sync(5)
            except KafkaException:  # while the broker is away
                time.sleep(_PAUSE_S)
        consumer.close()

    def _take(self, consumer: ShareConsumer, one: Message, kinds: dict[Place, int]) -> None:
        partition, offset, count = one.partition(), one.offset(), one.delivery_count()
        if one.error() or partition is None or offset is None:
            return
        self.ledger.deliver(self.name, partition, offset, offset, int(count or 0))
        accepts = self.chance.random() < 0.8
        kinds[partition, offset] = _ACCEPT if accepts else _RELEASE
        kind = AcknowledgeType.ACCEPT if accepts else AcknowledgeType.RELEASE
        try:
            consumer.acknowledge(one, kind)
        except IllegalStateException:  # the connection is gone, and the record with it
            del kinds[partition, offset]

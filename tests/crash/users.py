"""Real clients that go on through all crashes of a broker, and know what they were promised.

Each runs in a thread of its own with a librdkafka of its own, which connects again by itself. What
they were told stands in their attributes; promises.py compares it with what the broker has.
"""

import random
import threading
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.fuzz.kill import create
from tests.support.raw_client import Closed, RawClient

PLAIN: Final = "plain"
TRANSACTIONS: Final = "transactions"
KEYED: Final = "keyed"
KEYED_TRANSACTIONS: Final = "keyed-transactions"
GROUP: Final = "readers"
PARTITIONS: Final = 2
VALUE_BYTES: Final = 3000
KEYS: Final = 16
_QUICK: Final = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 10,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "socket.timeout.ms": 10_000,
    "log_level": 0,
}
_POLL_S: Final = 0.02
# A broker that does not flush takes more than the checks between two crashes can read again.
_PAUSE_S: Final = 0.03
_OUTSTANDING_MAX: Final = 40
_ATTEMPT_S: Final = 2.0
_END_S: Final = 60.0
_NO_OFFSET: Final = -1001
_TOPICS_MAX: Final = 5


def value_of(number: int) -> bytes:
    """The value of a record, which tells its number."""
    return b"%08d" % number + bytes([number % 251]) * (VALUE_BYTES - 8)


def number_of(value: bytes) -> int:
    """The number that a value tells; -1 of another value."""
    number = int(value[:8]) if value[:8].isdigit() else -1
    return number if value == value_of(number) else -1


def key_of(number: int) -> bytes:
    """The key of a record in a compacted topic: one of a few."""
    return b"%d" % (number % KEYS)


class User:
    """Somebody at work until told to stop.

    Attributes:
        fault: what went wrong in a way that no crash of a broker excuses.
    """

    def __init__(self, bootstrap: str) -> None:
        self.fault: str | None = None
        self._bootstrap = bootstrap
        self._stop = threading.Event()
        # Where the run itself fails, nobody waits for it.
        self._thread = threading.Thread(target=self._main, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Have it finish."""
        self._stop.set()

    def join(self) -> None:
        """Wait until it has finished what was under way."""
        self._thread.join(_END_S * 2)
        if self._thread.is_alive():
            self.fault = self.fault or f"{type(self).__name__} does not come to its end"

    def _main(self) -> None:
        try:
            self.work()
        except Exception as error:  # whatever it is, it is a fault
            self.fault = f"{type(self).__name__}: {error!r}"

    def work(self) -> None:
        """Work until stopped."""
        raise NotImplementedError


class IdempotentProducer(User):
    """Writes numbers, in order, to a partition of its own.

    Attributes:
        topic: where to.
        acknowledged: offset by number.
        sent: how many numbers there are.
    """

    topic = PLAIN

    def __init__(self, bootstrap: str, partition: int) -> None:
        super().__init__(bootstrap)
        self.partition = partition
        self.acknowledged: dict[int, int] = {}
        self.sent = 0

    def work(self) -> None:
        """Send until stopped, then wait for all answers."""
        config = {"bootstrap.servers": self._bootstrap, "enable.idempotence": True, "linger.ms": 2}
        producer = Producer({**_QUICK, **config, "message.timeout.ms": 120_000})
        while not self._stop.is_set() and self.fault is None:
            while self.sent - len(self.acknowledged) < _OUTSTANDING_MAX:
                producer.produce(
                    *(self.topic, self.value(self.sent), self.key(self.sent)),
                    partition=self.partition,
                    on_delivery=self._delivered(self.sent),
                )
                self.sent += 1
            producer.poll(_POLL_S)
            self._stop.wait(_PAUSE_S)
        if producer.flush(_END_S):
            self.fault = self.fault or f"partition {self.partition}: not all were answered"

    def key(self, number: int) -> bytes | None:
        """The key of a number."""
        return None

    def value(self, number: int) -> bytes | None:
        """The value of a number."""
        return value_of(number)

    def _delivered(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def told(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.fault = f"partition {self.partition}, number {number}: {error}"
            else:
                self.acknowledged[number] = message.offset()

        return told


class TransactionalProducer(User):
    """Writes numbers to its partition of two topics, a few in each transaction; some it aborts.

    The numbers in the second topic have keys, for it is compacted.

    Attributes:
        committed: the numbers of each transaction of which it was told that it is committed.
        aborted: the numbers of those that it has aborted, or was told to.
        unknown: the numbers of those of which it was told neither.
    """

    def __init__(self, bootstrap: str, partition: int, source: random.Random) -> None:
        super().__init__(bootstrap)
        self.partition = partition
        self.committed: list[list[int]] = []
        self.aborted: list[list[int]] = []
        self.unknown: list[list[int]] = []
        self._source = source
        self._next = 0

    def work(self) -> None:
        """Make transactions until stopped."""
        while not self._stop.is_set():
            producer = Producer(
                {
                    **_QUICK,
                    "bootstrap.servers": self._bootstrap,
                    "transactional.id": f"writer-{self.partition}",
                    "linger.ms": 2,
                }
            )
            self._retried(producer.init_transactions)
            while not self._stop.is_set() and self._one(producer):
                self._stop.wait(_PAUSE_S)

    def _one(self, producer: Producer) -> bool:
        """Make one transaction; tell whether the producer can go on."""
        numbers = list(range(self._next, self._next + self._source.randint(1, 8)))
        self._next = numbers[-1] + 1
        try:
            producer.begin_transaction()
            for number in numbers:
                value = value_of(number)
                producer.produce(TRANSACTIONS, value, partition=self.partition)
                producer.produce(
                    KEYED_TRANSACTIONS, value, key_of(number), partition=self.partition
                )
                producer.poll(0)
            if self._source.random() < 0.3:
                self._retried(producer.abort_transaction)
                self.aborted.append(numbers)
                return True
            self._retried(producer.commit_transaction)
        except KafkaException as error:
            return self._given_up(producer, numbers, error.args[0])
        self.committed.append(numbers)
        return True

    def _given_up(self, producer: Producer, numbers: list[int], error: KafkaError) -> bool:
        if error.fatal() or not error.txn_requires_abort():
            self.unknown.append(numbers)
            return False
        self.aborted.append(numbers)
        try:
            self._retried(producer.abort_transaction)
        except KafkaException:
            return False  # the next producer's beginning aborts it
        return True

    def _retried(self, call: Callable[[float], Any]) -> None:
        """Call until it works or never can, also when told to stop: the end is to be known."""
        while True:
            try:
                call(_ATTEMPT_S)
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
            else:
                return


class TopicMaker(User):
    """Makes topics and deletes them again.

    Attributes:
        there: the topics of which it was told that they are made.
        gone: those of which it was told that they are deleted.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{host}:{port}")
        self.there: set[str] = set()
        self.gone: set[str] = set()
        self._address = host, port

    def work(self) -> None:
        """Make and delete topics until stopped."""
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                with RawClient(*self._address) as client:
                    self._one(client, f"topic-{number}")
            except (Closed, OSError):
                self._stop.wait(_POLL_S)

    def _one(self, client: RawClient, name: str) -> None:
        if create(client, name, PARTITIONS) == 0:
            self.there.add(name)
        if len(self.there) > _TOPICS_MAX:
            old = min(self.there)
            self.there.remove(old)  # until there is an answer nothing is known of it
            answer = client.call("DeleteTopics", 5, topic_names=[old], timeout_ms=1000)
            assert [each.error_code for each in answer.responses] == [0], answer
            self.gone.add(old)
        self._stop.wait(_POLL_S)


class GroupReader(User):
    """A member of a group that reads all numbers and commits its positions.

    Attributes:
        committed: the highest position by partition of which it was told that it is committed.
        seen: how many records it was given.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.committed: dict[int, int] = {}
        self.seen = 0
        self._positions: dict[int, int] = {}

    def work(self) -> None:
        """Read until stopped."""
        config = {"bootstrap.servers": self._bootstrap, "group.id": GROUP}
        consumer = Consumer(
            {
                **_QUICK,
                **config,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 200,
            }
        )
        consumer.subscribe([PLAIN], on_assign=self._assigned, on_revoke=self._assigned)
        try:
            while not self._stop.is_set() and self.fault is None:
                messages = consumer.consume(50, _POLL_S)
                good = [message for message in messages if message.error() is None]
                for message in good:
                    self._take(message)
                if good:
                    self._commit(consumer)
        finally:
            consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._positions.clear()

    def _take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        expected = self._positions.get(partition, offset)
        if offset != expected or number_of(message.value()) != offset:
            self.fault = f"a reader got offset {offset} of {partition} instead of {expected}"
        self._positions[partition] = offset + 1
        self.seen += 1

    def _commit(self, consumer: Consumer) -> None:
        positions = [
            TopicPartition(PLAIN, partition, offset)
            for partition, offset in self._positions.items()
        ]
        try:
            told = consumer.commit(offsets=positions, asynchronous=False)
        except KafkaException:
            return  # it was not told: neither was anything promised
        for each in told or ():
            if each.error is None and each.offset != _NO_OFFSET:
                known = self.committed.get(each.partition, 0)
                self.committed[each.partition] = max(known, each.offset)

"""Real clients that go on through all crashes of a broker, and know what they were promised.

Each runs in a thread of its own with a librdkafka of its own, which connects again by itself. What
they were told stands in their attributes; promises.py compares it with what the broker has.
"""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.fuzz.kill import create
from tests.support.raw_client import Closed, RawClient
from tests.tidy.project_files import ROOT

PLAIN: Final = "plain"
TRANSACTIONS: Final = "transactions"
KEYED: Final = "keyed"
KEYED_TRANSACTIONS: Final = "keyed-transactions"
GROUP: Final = "readers"
PARTITIONS: Final = 2
VALUE_BYTES: Final = 3000
KEYS: Final = 16
QUICK: Final = {
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
        producer = Producer({**QUICK, **config, "message.timeout.ms": 120_000})
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

    The numbers in the second topic have keys, for it is compacted. The producer is in a process of
    its own, see tests.crash.transactor.

    Attributes:
        program: what is run.
        committed: the numbers of each transaction of which it was told that it is committed.
        aborted: the numbers of those that it has aborted, or was told to.
        unknown: the numbers of those of which it was told neither.
        hung: how often librdkafka did not come back from the beginning of a transaction.
    """

    program: Sequence[str] = (sys.executable, "-m", "tests.crash.transactor")

    def __init__(self, bootstrap: str, partition: int, source: random.Random) -> None:
        super().__init__(bootstrap)
        self.partition = partition
        self.committed: list[list[int]] = []
        self.aborted: list[list[int]] = []
        self.unknown: list[list[int]] = []
        self.hung = 0
        self._source = source
        self._next = 0
        self._process: subprocess.Popen[str] | None = None

    def stop(self) -> None:
        """Have it finish."""
        super().stop()
        if self._process is not None:
            _close_input(self._process)

    def work(self) -> None:
        """Have a process make transactions until stopped; after one that hangs another goes on."""
        while not self._stop.is_set() and self.fault is None:
            words = self._bootstrap, self.partition, self._source.random(), self._next
            command = [*self.program, *map(str, words)]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
            ) as process:
                self._process = process
                if self._stop.is_set():
                    _close_input(process)
                last = self._follow(process)
            if last == ["begin"] and process.returncode == -signal.SIGALRM:
                self.hung += 1
            elif process.returncode:
                self.fault = f"writer-{self.partition} ended by {process.returncode} after {last}"

    def _follow(self, process: subprocess.Popen[str]) -> list[str]:
        """Note what the process tells until it ends; return the last it told."""
        assert process.stdout is not None
        words: list[str] = []
        open_one: list[int] = []
        ends = {"committed": self.committed, "aborted": self.aborted, "unknown": self.unknown}
        for line in process.stdout:
            words = line.split()
            match words:
                case ["write", first, end]:
                    self._next = int(end)
                    open_one = list(range(int(first), self._next))
                case ["committed" | "aborted" | "unknown" as how] if open_one:
                    ends[how].append(open_one)
                    open_one = []
        if open_one:
            self.unknown.append(open_one)
        return words


def _close_input(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


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
                **QUICK,
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

"""Makes transactions through all crashes of a broker: the process of a TransactionalProducer.

    python -m tests.crash.transactor HOST:PORT PARTITION SEED FIRST

It tells on standard output, a line each: `begin` before it begins one, `write FIRST END` before it
writes the numbers of this range, then `committed`, `aborted` or `unknown`. It ends once its
standard input is closed.

It is a process of its own because librdkafka may never come back from begin_transaction
(confluentinc/librdkafka#4420), where confluent-kafka holds the interpreter's lock, so that no other
thread goes on. It happened right after a commit whose attempt timed out just as the broker was
back. An alarm ends the process then.
"""

import random
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from tests.crash.users import KEYED_TRANSACTIONS, QUICK, TRANSACTIONS, key_of, value_of

BEGIN_S_MAX: Final = 20
END_S_MAX: Final = 120
_ATTEMPT_S: Final = 10.0
_PAUSE_S: Final = 0.03
_ABORTED: Final = 0.3
_NUMBERS_MAX: Final = 8


class Transactor:
    """Writes numbers to its partition of two topics, a few in each transaction; some it aborts."""

    def __init__(self, bootstrap: str, partition: int, source: random.Random, first: int) -> None:
        self._bootstrap = bootstrap
        self._partition = partition
        self._source = source
        self._next = first

    def work(self) -> None:
        """Make transactions until nobody listens."""
        while not _is_over(0):
            producer = Producer(
                {
                    **QUICK,
                    "bootstrap.servers": self._bootstrap,
                    "transactional.id": f"writer-{self._partition}",
                    "linger.ms": 2,
                }
            )
            _retried(producer.init_transactions)
            while not _is_over(_PAUSE_S) and self._one(producer):
                pass

    def _one(self, producer: Producer) -> bool:
        """Make one transaction; tell whether the producer can go on."""
        numbers = range(self._next, self._next + self._source.randint(1, _NUMBERS_MAX))
        try:
            _tell("begin")
            signal.alarm(BEGIN_S_MAX)
            producer.begin_transaction()
            signal.alarm(END_S_MAX)
            _tell("write", numbers.start, numbers.stop)
            self._next = numbers.stop
            for number in numbers:
                value = value_of(number)
                producer.produce(TRANSACTIONS, value, partition=self._partition)
                producer.produce(
                    KEYED_TRANSACTIONS, value, key_of(number), partition=self._partition
                )
                producer.poll(0)
            if self._source.random() < _ABORTED:
                _retried(producer.abort_transaction)
                _tell("aborted")
                return True
            _retried(producer.commit_transaction)
        except KafkaException as error:
            return _given_up(producer, error.args[0])
        _tell("committed")
        return True


def _given_up(producer: Producer, error: KafkaError) -> bool:
    if error.fatal() or not error.txn_requires_abort():
        _tell("unknown")
        return False
    _tell("aborted")
    try:
        _retried(producer.abort_transaction)
    except KafkaException:
        return False  # the next producer's beginning aborts it
    return True


def _retried(call: Callable[[float], Any]) -> None:
    """Call until it works or never can, also when told to stop: the end is to be known."""
    while True:
        try:
            call(_ATTEMPT_S)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def _tell(*words: object) -> None:
    print(*words, flush=True)


def _is_over(seconds: float) -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(readable)


def main() -> None:
    """Run from the command line."""
    bootstrap, partition, seed, first = sys.argv[1:]
    signal.alarm(END_S_MAX)
    Transactor(bootstrap, int(partition), random.Random(seed), int(first)).work()


if __name__ == "__main__":
    main()

"""Clients of confluent-kafka at secured listeners; tests.conformance.python.cases says what."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.python.cases import PAUSE_S, TIMEOUT_S, Case, attempt, cases, told

_WRONG_CERTIFICATE = "certificate verify failed"


def _settings(case: Case) -> dict[str, Any]:
    given: dict[str, Any] = {
        "bootstrap.servers": case.bootstrap,
        "security.protocol": case.protocol,
        "log_level": 0,
        "ssl.ca.location": case.ca,
    }
    if case.certificate:
        given["ssl.certificate.location"] = given["ssl.key.location"] = case.certificate
    if case.mechanism:
        given["sasl.mechanism"] = case.mechanism
    if case.token:
        given["oauth_cb"] = lambda _: (case.token, time.time() + 600)
    elif case.mechanism:
        given |= {"sasl.username": case.user, "sasl.password": case.password}
    return {name: value for name, value in given.items() if value != ""}


def _send(producer: Producer, topic: str, value: str) -> None:
    failed: list[KafkaError] = []
    producer.produce(
        topic, value, on_delivery=lambda error, _: failed.append(error) if error else None
    )
    if producer.flush(TIMEOUT_S) or failed:
        raise KafkaException(*failed)


def _read(consumer: Consumer, *values: str) -> None:
    found: list[bytes | None] = []
    while len(found) < len(values):
        record = consumer.poll(TIMEOUT_S)
        assert record is not None, f"only {found}"
        if record.error() is None:
            found.append(record.value())
        elif record.error().code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise KafkaException(record.error())
    assert found == [value.encode() for value in values], found


class _Client:
    """A producer, a member of a group and a transactional producer."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topic = case.topic
        settings = _settings(case)
        self._producer = Producer({**settings, "linger.ms": 0})
        self._transactional = Producer({**settings, "transactional.id": case.topic})
        self._consumer = Consumer(
            {**settings, "group.id": case.topic, "auto.offset.reset": "earliest"}
        )

    def work(self) -> None:
        """Do each step, up to the first that fails."""
        steps: tuple[tuple[str, Callable[[], object]], ...] = (
            ("produce", self._produce),
            ("group", self._join),
            ("transaction", self._commit),
            ("renewal", self._go_on),
        )
        all(attempt(self._case, name, step) for name, step in steps)
        self._consumer.close()

    def _produce(self) -> None:
        _send(self._producer, self._topic, "one")

    def _join(self) -> None:
        self._consumer.subscribe([self._topic])
        _read(self._consumer, "one")
        self._consumer.commit(asynchronous=False)

    def _commit(self) -> None:
        self._transactional.init_transactions(TIMEOUT_S)
        self._transactional.begin_transaction()
        self._transactional.produce(self._topic, "two")
        self._transactional.send_offsets_to_transaction(
            self._consumer.position(self._consumer.assignment()),
            self._consumer.consumer_group_metadata(),
            TIMEOUT_S,
        )
        self._transactional.commit_transaction(TIMEOUT_S)
        _read(self._consumer, "two")

    def _go_on(self) -> None:
        end = time.monotonic() + self._case.renewal_s
        while time.monotonic() < end:
            _send(self._producer, self._topic, "more")
            _read(self._consumer, "more")
            time.sleep(PAUSE_S)


def _be_refused(case: Case) -> None:
    errors: list[KafkaError] = []
    producer = Producer({**_settings(case), "error_cb": errors.append})
    end = time.monotonic() + TIMEOUT_S
    while not errors and time.monotonic() < end:
        producer.poll(0.1)
    told(case, "error", word=_name(errors[0]) if errors else "none")


def _name(error: KafkaError) -> str:
    """Librdkafka calls the error of a wrong certificate now _SSL, now _TRANSPORT."""
    return "wrong-certificate" if _WRONG_CERTIFICATE in error.str() else error.name()


class _Denied:
    """A client whose user lacks a right."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topic = case.topic
        self._settings = _settings(case)

    def work(self) -> None:
        """Do the action of the case."""
        actions: dict[str, Callable[[], None]] = {
            "produce": self._send,
            "idempotent": self._send_idempotently,
            "read": self._read,
            "join": self._read,
            "transact": self._transact,
            "offsets": self._send_offsets,
            "describe": self._describe,
            "create": self._create,
        }
        try:
            actions[self._case.action]()
        except KafkaException as error:
            told(self._case, "error", word=error.args[0].name())
        else:
            told(self._case, "error")

    def _send(self) -> None:
        patience = {"linger.ms": 0, "message.timeout.ms": TIMEOUT_S * 500}
        _send(Producer({**self._settings, **patience}), self._topic, "one")

    def _send_idempotently(self) -> None:
        producer = Producer({**self._settings, "enable.idempotence": True})
        producer.produce(self._topic, "one")  # with a callback, the fatal error is a SystemError
        producer.flush(TIMEOUT_S)

    def _consumer(self) -> Consumer:
        return Consumer(
            {**self._settings, "group.id": self._topic, "auto.offset.reset": "earliest"}
        )

    def _read(self) -> None:
        consumer = self._consumer()
        consumer.subscribe([self._topic])
        try:
            _read(consumer, "one")
        finally:
            consumer.close()

    def _begin(self) -> Producer:
        producer = Producer({**self._settings, "transactional.id": self._topic})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        return producer

    def _transact(self) -> None:
        producer = self._begin()
        producer.produce(self._topic, "one")
        producer.commit_transaction(TIMEOUT_S)

    def _send_offsets(self) -> None:
        group = self._consumer().consumer_group_metadata()
        positions = [TopicPartition(self._topic, 0, 0)]
        self._begin().send_offsets_to_transaction(positions, group, TIMEOUT_S)

    def _describe(self) -> None:
        admin = AdminClient(self._settings)
        admin.describe_topics(TopicCollection([self._topic]))[self._topic].result(TIMEOUT_S)

    def _create(self) -> None:
        admin = AdminClient(self._settings)
        admin.create_topics([NewTopic(self._topic, 1, 1)])[self._topic].result(TIMEOUT_S)


def _execute(case: Case) -> None:
    if case.kind == "fails":
        _be_refused(case)
    elif case.kind == "denied":
        _Denied(case).work()
    else:
        _Client(case).work()


if __name__ == "__main__":
    given = cases()
    with ThreadPoolExecutor(len(given)) as pool:
        list(pool.map(_execute, given))

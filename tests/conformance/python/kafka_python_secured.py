"""Clients of kafka-python at secured listeners; tests.conformance.python.cases says what."""

import logging
import ssl
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import for_code
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.structs import OffsetAndMetadata

from tests.conformance.python.cases import (
    PAUSE_S,
    TIMEOUT_S,
    Case,
    Logged,
    attempt,
    cases,
    told,
)

_PATIENCE_MS = 6_000


class _Token(AbstractTokenProvider):
    """Gives the token of a case."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def token(self) -> str:
        """Return it."""
        return self._text


def _settings(case: Case) -> dict[str, Any]:
    given: dict[str, Any] = {
        "bootstrap_servers": case.bootstrap,
        "security_protocol": case.protocol,
    }
    if case.ca:
        given["ssl_cafile"] = case.ca
    if case.certificate:
        given["ssl_certfile"] = given["ssl_keyfile"] = case.certificate
    if case.mechanism:
        given["sasl_mechanism"] = case.mechanism
    if case.token:
        given["sasl_oauth_token_provider"] = _Token(case.token)
    elif case.mechanism:
        given |= {"sasl_plain_username": case.user, "sasl_plain_password": case.password}
    return given


def _read(consumer: KafkaConsumer, value: bytes) -> None:
    found = next(consumer).value
    assert found == value, found


class _Client:
    """A producer, a member of a group and a transactional producer."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topic = case.topic
        self._settings = _settings(case)
        self._producer = KafkaProducer(**self._settings)
        self._consumer = KafkaConsumer(
            self._topic,
            group_id=self._topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            consumer_timeout_ms=TIMEOUT_S * 1000,
            **self._settings,
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
        self._producer.close()
        self._consumer.close()

    def _produce(self) -> None:
        self._producer.send(self._topic, b"one").get(TIMEOUT_S)

    def _join(self) -> None:
        _read(self._consumer, b"one")
        self._consumer.commit()

    def _commit(self) -> None:
        producer = KafkaProducer(transactional_id=self._topic, **self._settings)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(self._topic, b"two")
        producer.send_offsets_to_transaction(
            {TopicPartition(self._topic, 0): OffsetAndMetadata(1, "", -1)}, self._topic
        )
        producer.commit_transaction()
        producer.close()
        _read(self._consumer, b"two")

    def _go_on(self) -> None:
        end = time.monotonic() + self._case.renewal_s
        while time.monotonic() < end:
            self._producer.send(self._topic, b"more").get(TIMEOUT_S)
            _read(self._consumer, b"more")
            time.sleep(PAUSE_S)


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
            "idempotent": partial(self._send, enable_idempotence=True),
            "read": self._read,
            "join": self._read,
            "transact": self._transact,
            "offsets": self._send_offsets,
            "describe": self._describe,
            "create": self._create,
        }
        attempt(self._case, "error", actions[self._case.action])

    def _send(self, **settings: Any) -> None:
        with closing(KafkaProducer(**self._settings, **settings)) as producer:
            producer.send(self._topic, b"one").get(TIMEOUT_S)

    def _read(self) -> None:
        settings = {**self._settings, "consumer_timeout_ms": _PATIENCE_MS}
        with closing(KafkaConsumer(self._topic, group_id=self._topic, **settings)) as consumer:
            next(consumer)

    def _transact(self) -> None:
        with closing(KafkaProducer(transactional_id=self._topic, **self._settings)) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(self._topic, b"one").get(TIMEOUT_S)
            producer.commit_transaction()

    def _send_offsets(self) -> None:
        with closing(KafkaProducer(transactional_id=self._topic, **self._settings)) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            offsets = {TopicPartition(self._topic, 0): OffsetAndMetadata(0, "", -1)}
            producer.send_offsets_to_transaction(offsets, self._topic)

    def _describe(self) -> None:
        with closing(KafkaAdminClient(**self._settings)) as admin:
            (described,) = admin.describe_topics([self._topic])
        if described["error_code"]:
            raise for_code(described["error_code"])

    def _create(self) -> None:
        with closing(KafkaAdminClient(**self._settings)) as admin:
            admin.create_topics({self._topic: {}})


def _be_refused(case: Case, pool: Executor, logged: Logged) -> Callable[[], None]:
    """Begin; return what tells how it ended.

    A client tries again up to its timeout, and says that time is out. The reason is in its log,
    without the client's name: so each begins when the one before has failed, and tries once. If it
    reads the broker's last answer and the close at a time, it knows of the close only.
    """
    once = {"reconnect_backoff_ms": 60_000, "reconnect_backoff_max_ms": 60_000}
    future = pool.submit(
        KafkaProducer, bootstrap_timeout_ms=_PATIENCE_MS, **once, **_settings(case)
    )
    error = logged.errors.get(timeout=_PATIENCE_MS / 1000)
    is_of_ca = isinstance(error.__context__, ssl.SSLCertVerificationError)
    reason = type(error.__context__).__name__ if is_of_ca else "refused"

    def tell() -> None:
        told(case, "error", word=f"{type(future.exception()).__name__}:{reason}")

    return tell


def main() -> None:
    """Execute all cases at a time."""
    given = cases()
    logged = Logged("Bootstrap connection to")
    logger = logging.getLogger("kafka.net.manager")
    logging.getLogger("kafka").propagate = False
    logger.addHandler(logged)
    with ThreadPoolExecutor(len(given)) as pool:
        working = [pool.submit(_Client(case).work) for case in given if case.kind == "works"]
        ends = [_be_refused(case, pool, logged) for case in given if case.kind == "fails"]
        working += [pool.submit(_Denied(case).work) for case in given if case.kind == "denied"]
        for future in working:
            future.result()
        for tell in ends:
            tell()


if __name__ == "__main__":
    main()

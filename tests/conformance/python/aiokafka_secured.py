"""Clients of aiokafka at secured listeners; tests.conformance.python.cases says what."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, for_code

from tests.conformance.python.cases import (
    PAUSE_S,
    TIMEOUT_S,
    Case,
    Logged,
    attempt_async,
    cases,
    told,
)

logger = logging.getLogger("aiokafka")


class _Token(AbstractTokenProvider):
    """Gives the token of a case."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self) -> str:
        """Return it."""
        return self._text


def _settings(case: Case) -> dict[str, Any]:
    given: dict[str, Any] = {
        "bootstrap_servers": case.bootstrap,
        "security_protocol": case.protocol,
        "request_timeout_ms": 10_000,
    }
    if case.ca:
        given["ssl_context"] = ssl.create_default_context(cafile=case.ca)
        if case.certificate:
            given["ssl_context"].load_cert_chain(case.certificate)
    if case.mechanism:
        given["sasl_mechanism"] = case.mechanism
    if case.token:
        given["sasl_oauth_token_provider"] = _Token(case.token)
    elif case.mechanism:
        given |= {"sasl_plain_username": case.user, "sasl_plain_password": case.password}
    return given


async def _read(consumer: AIOKafkaConsumer, value: bytes) -> None:
    record = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
    assert record.value == value, record


class _Client:
    """A producer, a member of a group and a transactional producer."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topic = case.topic
        settings = _settings(case)
        self._producer = AIOKafkaProducer(**settings)
        self._transactional = AIOKafkaProducer(transactional_id=case.topic, **settings)
        self._consumer = AIOKafkaConsumer(
            self._topic,
            group_id=self._topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **settings,
        )

    async def work(self) -> None:
        """Do each step, up to the first that fails."""
        steps = (
            ("produce", self._produce),
            ("group", self._join),
            ("transaction", self._commit),
            ("renewal", self._go_on),
        )
        for name, step in steps:
            if name == "transaction" and self._case.kind == "lasts":
                continue
            if not await attempt_async(self._case, name, step):
                break
        for each in (self._producer, self._transactional, self._consumer):
            await each.stop()

    async def _produce(self) -> None:
        await self._producer.start()
        await self._producer.send_and_wait(self._topic, b"one")

    async def _join(self) -> None:
        await self._consumer.start()
        await _read(self._consumer, b"one")
        await self._consumer.commit()

    async def _commit(self) -> None:
        await self._transactional.start()
        async with self._transactional.transaction():
            await self._transactional.send_and_wait(self._topic, b"two")
            await self._transactional.send_offsets_to_transaction(
                {TopicPartition(self._topic, 0): 1}, self._topic
            )
        await _read(self._consumer, b"two")

    async def _go_on(self) -> None:
        end = time.monotonic() + self._case.renewal_s
        while time.monotonic() < end:
            await self._producer.send_and_wait(self._topic, b"more")
            await _read(self._consumer, b"more")
            await asyncio.sleep(PAUSE_S)


class _Denied:
    """A client whose user lacks a right."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._topic = case.topic
        self._settings = _settings(case)

    async def work(self) -> None:
        """Do the action of the case."""
        actions: dict[str, Callable[[], Awaitable[None]]] = {
            "produce": self._send,
            "idempotent": partial(self._send, enable_idempotence=True),
            "read": self._read,
            "join": self._read,
            "transact": self._transact,
            "offsets": self._send_offsets,
            "describe": self._describe,
            "create": self._create,
        }
        action = actions[self._case.action]
        await attempt_async(self._case, "error", lambda: asyncio.wait_for(action(), TIMEOUT_S))

    async def _send(self, **settings: Any) -> None:
        async with _started(AIOKafkaProducer(**self._settings, **settings)) as producer:
            await producer.send_and_wait(self._topic, b"one")

    async def _read(self) -> None:
        reader = AIOKafkaConsumer(self._topic, group_id=self._topic, **self._settings)
        async with _started(reader) as consumer:
            await consumer.getone()

    def _transactional(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(transactional_id=self._topic, **self._settings)

    async def _transact(self) -> None:
        async with _started(self._transactional()) as producer, producer.transaction():
            await producer.send_and_wait(self._topic, b"one")

    async def _send_offsets(self) -> None:
        async with _started(self._transactional()) as producer, producer.transaction():
            offsets = {TopicPartition(self._topic, 0): 0}
            await producer.send_offsets_to_transaction(offsets, self._topic)

    async def _describe(self) -> None:
        async with self._admin() as admin:
            (described,) = await admin.describe_topics([self._topic])
        _raise(described["error_code"])

    async def _create(self) -> None:
        async with self._admin() as admin:
            answer = await admin.create_topics([NewTopic(self._topic, 1, 1)])
        ((_, code, *_),) = answer.topic_errors
        _raise(code)

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._settings)
        await admin.start()
        yield admin
        await admin.close()


@asynccontextmanager
async def _started(client: Any) -> AsyncIterator[Any]:
    try:
        await client.start()
        yield client
    finally:
        await client.stop()


def _raise(code: int) -> None:
    if code:
        raise for_code(code)


async def _execute(case: Case) -> None:
    if case.kind == "denied":
        await _Denied(case).work()
        return
    if case.kind != "fails":
        await _Client(case).work()
        return
    logged = Logged("Unable connect to")
    logger.addHandler(logged)
    producer = AIOKafkaProducer(**_settings(case))
    try:
        await producer.start()
    except KafkaError as error:
        cause = "" if logged.errors.empty() else f":{type(logged.errors.get()).__name__}"
        told(case, "error", word=f"{type(error).__name__}{cause}")
    else:
        told(case, "error")
    finally:
        await producer.stop()
        logger.removeHandler(logged)


async def main() -> None:
    """Execute all cases at a time, those that fail one by one."""
    logger.propagate = False
    given = cases()
    await asyncio.gather(*(_execute(case) for case in given if case.kind != "fails"))
    for case in given:
        if case.kind == "fails":
            await _execute(case)


if __name__ == "__main__":
    asyncio.run(main())

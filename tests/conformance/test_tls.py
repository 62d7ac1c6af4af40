"""Python's clients at a TLS listener: mutual TLS, records there and back, a CA that is not ours."""

import asyncio
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from kafka import KafkaConsumer

from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Certificates, write_certificates

pytestmark = pytest.mark.client
VALUES = [os.urandom(300_000) for _ in range(8)]
TIMEOUT_S = 30


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return write_certificates(tmp_path)


@pytest.fixture
def broker(tmp_path: Path, files: Certificates) -> Iterator[str]:
    settings = [
        "listeners=SSL://127.0.0.1:0",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={files.server}",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={files.ca}",
        "ssl.client.auth=required",
    ]
    with BrokerProcess(tmp_path / "data", settings=settings) as process:
        yield process.bootstrap


def _librdkafka(bootstrap: str, files: Certificates) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "ssl",
        "ssl.ca.location": str(files.ca),
        "ssl.certificate.location": str(files.client),
        "ssl.key.location": str(files.client),
    }


def _produce(bootstrap: str, files: Certificates) -> None:
    producer = Producer(_librdkafka(bootstrap, files))
    for value in VALUES:
        producer.produce("secret", value)
    assert producer.flush(TIMEOUT_S) == 0


def test_confluent_kafka(broker: str, files: Certificates) -> None:
    _produce(broker, files)
    settings = _librdkafka(broker, files)
    consumer = Consumer({**settings, "group.id": "one", "auto.offset.reset": "earliest"})
    consumer.subscribe(["secret"])
    found = [consumer.consume(1, TIMEOUT_S)[0].value() for _ in VALUES]
    consumer.close()
    assert found == VALUES


def test_aiokafka(broker: str, files: Certificates) -> None:
    async def consume() -> list[bytes | None]:
        context = ssl.create_default_context(cafile=files.ca)
        context.load_cert_chain(files.client)
        consumer = AIOKafkaConsumer(
            "secret",
            bootstrap_servers=broker,
            security_protocol="SSL",
            ssl_context=context,
            auto_offset_reset="earliest",
        )
        async with consumer:
            return [(await consumer.getone()).value for _ in VALUES]

    _produce(broker, files)
    assert asyncio.run(asyncio.wait_for(consume(), TIMEOUT_S)) == VALUES


def test_kafka_python(broker: str, files: Certificates) -> None:
    _produce(broker, files)
    consumer = KafkaConsumer(
        "secret",
        bootstrap_servers=broker,
        security_protocol="SSL",
        ssl_cafile=str(files.ca),
        ssl_certfile=str(files.client),
        ssl_keyfile=str(files.client),
        auto_offset_reset="earliest",
        consumer_timeout_ms=TIMEOUT_S * 1000,
    )
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    assert found == VALUES


def test_another_ca_is_an_ssl_error(broker: str, files: Certificates) -> None:
    trustme.CA().cert_pem.write_to_path(str(files.ca))
    errors: list[KafkaError] = []
    settings = _librdkafka(broker, files)
    producer = Producer({**settings, "error_cb": errors.append})
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=2)
    producer.poll(1)
    assert KafkaError._SSL in {error.code() for error in errors}

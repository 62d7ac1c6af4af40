"""A Kafka goes on with the data of a broker secured by one word: its files, users and records."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from broker_lite.settings.sources.java_properties import parse_properties
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.client]
TIMEOUT_S = 60
MECHANISM = "SCRAM-SHA-512"
PREFIX = "listener.name.sasl_ssl"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def test_users_and_certificates_go_on_in_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    log_dir = tmp_path / "kafka" / "log"
    security = ("--security", "sasl_ssl", "--control", "", "--user", "bob:bobs own")
    with BrokerProcess(log_dir, arguments=security, log_path=tmp_path / "ours") as ours:
        client = {
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": MECHANISM,
            "sasl.username": "bob",
            "sasl.password": "bobs own",
            "ssl.ca.location": str(log_dir / "broker-lite-ca.pem"),
        }
        producer = Producer({**client, "bootstrap.servers": ours.bootstrap})
        producer.produce("t", b"before")
        assert producer.flush(TIMEOUT_S) == 0
    address = f"127.0.0.1:{free_port()}"
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        more_listeners=f",SASL_SSL://{address}",
        settings={
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_SSL:SASL_SSL",
            f"{PREFIX}.sasl.enabled.mechanisms": MECHANISM,
            f"{PREFIX}.{MECHANISM.lower()}.sasl.jaas.config": SCRAM,
            f"{PREFIX}.ssl.keystore.type": "PEM",
            f"{PREFIX}.ssl.keystore.location": str(log_dir / "broker-lite-server.pem"),
        },
        is_short_lived=True,
    )
    assert parse_properties((log_dir / "meta.properties").read_text())["node.id"] == "1"
    with kafka:
        consumer = Consumer(
            {
                **client,
                "bootstrap.servers": address,
                "group.id": "g",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["t"])
        (found,) = consumer.consume(1, TIMEOUT_S)
        assert found.value() == b"before"
        consumer.close()
    assert (log_dir / "broker-lite-security.json").stat().st_mode & 0o777 == 0o600

"""What a client of a broker under test is told.

Also tests: broker_lite.testing.client_configs, broker_lite.testing.processes.plan.
"""

import base64
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.testing.client_configs import unsecured_token

USERS = {"bob": "bobs-own"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(security="sasl_plaintext", users=USERS) as started:
        yield started


@pytest.fixture(scope="module")
def mutual() -> Iterator[Broker]:
    with Broker(security="mtls") as started:
        yield started


def test_a_plain_broker_is_an_address() -> None:
    with Broker() as broker:
        assert broker.client_config("confluent") == {"bootstrap.servers": broker.bootstrap}
        assert broker.client_config("librdkafka") == broker.client_config("java")
        assert broker.client_config("aiokafka") == {"bootstrap_servers": broker.bootstrap}
        assert broker.client_config("kafka-python") == broker.client_config("aiokafka")
        assert broker.client_config("kafkajs") == {"brokers": [broker.bootstrap]}


def test_users_and_mechanisms(broker: Broker) -> None:
    config = broker.client_config("confluent", user="bob", mechanism="PLAIN")
    assert config["sasl.username"] == "bob"
    assert config["sasl.password"] == "bobs-own"
    assert config["sasl.mechanism"] == "PLAIN"
    python = broker.client_config("aiokafka")
    assert python["sasl_plain_username"] == "user"
    assert python["sasl_mechanism"] == "SCRAM-SHA-512"


def test_a_broker_of_somebody_else(broker: Broker) -> None:
    (line,) = (each for each in broker.log.splitlines() if "control API at" in each)
    other = Broker.connect(line.rpartition(" ")[2], bootstrap=f"localhost:{broker.port}")
    config = other.client_config("confluent")
    assert config["bootstrap.servers"] == f"localhost:{broker.port}"
    assert config["sasl.password"] == "user-secret"
    with pytest.raises(BrokerFailed, match="the password of bob is not known here"):
        other.client_config("confluent", user="bob")
    given = other.client_config("confluent", user="bob", password="bobs-own")
    assert given["sasl.password"] == "bobs-own"


def test_wrong_arguments(broker: Broker) -> None:
    with pytest.raises(ValueError, match="no client is called 'sarama', only confluent"):
        broker.client_config("sarama")  # type: ignore[call-overload]
    with pytest.raises(BrokerFailed, match="no user 'eve', only admin, user, bob"):
        broker.client_config("java", user="eve")
    with pytest.raises(BrokerFailed, match="no mechanism GSSAPI"):
        broker.client_config("java", mechanism="GSSAPI")


def test_certificates(mutual: Broker) -> None:
    config = mutual.client_config("confluent")
    assert "PRIVATE KEY" in config["ssl.key.pem"]
    context = mutual.client_config("kafka-python")["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.check_hostname


def test_topics_and_records_go_by_the_plaintext_listener(broker: Broker) -> None:
    broker.create_topic("t")
    broker.produce("t", "a")
    assert [each.value for each in broker.records("t")] == [b"a"]
    broker.restart()
    assert [each.value for each in broker.records("t")] == [b"a"]


def test_without_a_plaintext_listener_they_do_not() -> None:
    with (
        Broker(security="sasl_plaintext", security_only=True) as broker,
        pytest.raises(BrokerFailed, match="leave out security_only"),
    ):
        broker.create_topic("t")


def test_a_token_that_nobody_has_signed() -> None:
    header, body, signature = unsecured_token("bob", 1_700_000_000.5).split(".")
    assert signature == ""
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(body + "==")) == {
        "sub": "bob",
        "iat": 1_700_000_000,
        "exp": 1_700_003_600,
    }


def test_a_word_that_is_none() -> None:
    with pytest.raises(BrokerFailed, match="sasl_ssl"):
        Broker(security="tls").start()


def test_the_fixtures_take_it(broker_factory: Any) -> None:
    secured = broker_factory(security="ssl", san=["my-name"])
    assert "my-name" in (secured.data_dir / "broker-lite-security.json").read_text()

"""Real clients with the settings that a broker secured by one word gives them."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from kafka import KafkaConsumer, KafkaProducer

from broker_lite.security.one_word.client_settings import properties_text
from broker_lite.testing import Broker
from tests.conformance.clients import Builds
from tests.support.reference_kafka import java_command, run_tool
from tests.support.toolchain import require

pytestmark = pytest.mark.client
WORDS = ("ssl", "mtls", "sasl_plaintext", "sasl_ssl")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USERS = {"bob": 'bob\'s "own" \\ secret'}
TIMEOUT_S = 30
TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module", params=WORDS)
def secured(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(security=request.param, users=USERS, topics=["t"]) as broker:
        yield broker


def _mechanisms(broker: Broker) -> tuple[str, ...]:
    word = broker.settings["broker.lite.security"]
    return MECHANISMS if word.startswith("sasl") else MECHANISMS[:1]


def _last(broker: Broker) -> bytes | None:
    return broker.records("t")[-1].value


@pytest.mark.parametrize("user", ["admin", "user", "bob"])
def test_confluent_kafka(secured: Broker, user: str) -> None:
    for mechanism in _mechanisms(secured):
        config = secured.client_config("confluent", user=user, mechanism=mechanism)
        value = f"{user} {mechanism}".encode()
        producer = Producer({**config})
        producer.produce("t", value)
        assert producer.flush(TIMEOUT_S) == 0
        assert _last(secured) == value
    consumer = Consumer({**config, "group.id": user, "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    assert consumer.consume(1, TIMEOUT_S)[0].error() is None
    consumer.close()


@pytest.mark.parametrize("user", ["user", "bob"])
def test_aiokafka(secured: Broker, user: str) -> None:
    async def send(config: Any, value: bytes) -> bytes | None:
        async with AIOKafkaProducer(**config) as producer:
            await producer.send_and_wait("t", value)
        async with AIOKafkaConsumer("t", auto_offset_reset="earliest", **config) as consumer:
            first: bytes | None = (await consumer.getone()).value
            return first

    for mechanism in _mechanisms(secured):
        config = secured.client_config("aiokafka", user=user, mechanism=mechanism)
        value = f"aiokafka {user} {mechanism}".encode()
        first = asyncio.run(asyncio.wait_for(send(config, value), TIMEOUT_S))
        assert first == secured.records("t")[0].value
        assert _last(secured) == value


@pytest.mark.parametrize("user", ["user", "bob"])
def test_kafka_python(secured: Broker, user: str) -> None:
    for mechanism in _mechanisms(secured):
        config: Any = secured.client_config("kafka-python", user=user, mechanism=mechanism)
        value = f"kafka-python {user} {mechanism}".encode()
        producer = KafkaProducer(**config)
        producer.send("t", value).get(TIMEOUT_S)
        producer.close()
        assert _last(secured) == value
    consumer = KafkaConsumer("t", auto_offset_reset="earliest", **config)
    assert next(consumer).value == secured.records("t")[0].value
    consumer.close()


def test_kafkajs(secured: Broker, builds: Builds) -> None:
    require("node", "npm")
    program = builds.node() / "one_word.js"
    for mechanism in [each for each in _mechanisms(secured) if each != "OAUTHBEARER"]:
        config = json.dumps(secured.client_config("kafkajs", user="bob", mechanism=mechanism))
        value = f"kafkajs {mechanism}"
        command = ["node", str(program), config, "t", value]
        first = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=2 * TIMEOUT_S
        ).stdout
        assert first.strip().encode() == secured.records("t")[0].value
        assert _last(secured) == value.encode()


def test_no_secret_is_described(secured: Broker) -> None:
    admin = AdminClient({**secured.client_config("confluent")})
    asked = ConfigResource(ConfigResource.Type.BROKER, secured.settings.get("node.id", "1"))
    (answer,) = admin.describe_configs([asked]).values()
    told = {name: entry.value for name, entry in answer.result(TIMEOUT_S).items()}
    assert told["broker.lite.security"] == secured.settings["broker.lite.security"]
    assert told["broker.lite.security.users"] is None
    for secret in ("admin-secret", "user-secret", USERS["bob"], "PRIVATE KEY"):
        assert not any(secret in (value or "") for value in told.values())


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_tools_of_kafka_with_the_properties_that_are_served(
    secured: Broker, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    for mechanism in _mechanisms(secured):
        path = f"/v1/security/client.properties?mechanism={mechanism}"
        file.write_text(str(secured.control("GET", path)))
        at = ("--bootstrap-server", secured.bootstrap, "--command-config", str(file))
        producer = java_command(f"{TOOLS}.ConsoleProducer", (*at, "--topic", "t"))
        value = f"java {mechanism}"
        subprocess.run(producer, input=value, text=True, check=True, timeout=2 * TIMEOUT_S)
        assert _last(secured) == value.encode()


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_tools_of_kafka_with_the_stores_that_are_served(tmp_path: Path) -> None:
    with Broker(security="mtls", topics=["t"]) as broker:
        for name in ("truststore.p12", "client.p12"):
            data = broker.control("GET", f"/v1/security/{name}")
            assert isinstance(data, bytes)
            (tmp_path / name).write_bytes(data)
        file = tmp_path / "client.properties"
        file.write_text(
            "security.protocol=SSL\n"
            f"ssl.truststore.location={tmp_path}/truststore.p12\n"
            "ssl.truststore.password=changeit\n"
            "ssl.truststore.type=PKCS12\n"
            f"ssl.keystore.location={tmp_path}/client.p12\n"
            "ssl.keystore.password=changeit\n"
            "ssl.keystore.type=PKCS12\n"
        )
        at = ("--bootstrap-server", broker.bootstrap, "--command-config", str(file))
        assert run_tool(f"{TOOLS}.TopicCommand", *at, "--list").split() == ["t"]


@pytest.mark.parametrize("word", ["sasl_plaintext", "sasl_ssl"])
def test_a_wrong_password_is_told(word: str) -> None:
    with Broker(security=word) as broker:
        errors: list[KafkaError] = []
        config = broker.client_config("confluent", password="wrong")
        producer = Producer({**config, "error_cb": errors.append})
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=3)
        producer.poll(1)
    assert KafkaError._AUTHENTICATION in {error.code() for error in errors}


def test_another_ca_is_refused(tmp_path: Path) -> None:
    with Broker(security="ssl") as one, Broker(security="ssl", data_dir=tmp_path) as other:
        config = one.client_config("confluent")
        config["ssl.ca.pem"] = other.client_config("confluent")["ssl.ca.pem"]
        errors: list[KafkaError] = []
        producer = Producer({**config, "error_cb": errors.append})
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=3)
        producer.poll(1)
    # its code is _SSL or _TRANSPORT, whichever thread of librdkafka tells it first
    assert any("certificate verify failed" in error.str() for error in errors), errors


@pytest.mark.parametrize("word", ["mtls", "sasl_plaintext", "sasl_ssl"])
def test_a_restart_keeps_certificates_users_and_tokens(word: str, tmp_path: Path) -> None:
    with Broker(security=word, users=USERS, data_dir=tmp_path / "data") as broker:
        config = broker.client_config("confluent", user="bob")
        keys = broker.control("GET", "/oauth/jwks")
        broker.restart()
        assert broker.client_config("confluent", user="bob") == config
        assert broker.control("GET", "/oauth/jwks") == keys
        producer = Producer({**config})
        producer.produce("t", b"still")
        assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.parametrize("word", WORDS)
def test_a_reset_keeps_them_too(word: str) -> None:
    with Broker(security=word, users=USERS) as broker:
        config = broker.client_config("confluent", user="bob")
        broker.reset()
        producer = Producer({**config})
        producer.produce("t", b"still")
        assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.parametrize("word", ["mtls", "sasl_plaintext"])
def test_admin_is_the_super_user(word: str) -> None:
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with Broker({"authorizer.class.name": authorizer}, security=word) as broker:
        for user, is_allowed in (("admin", True), ("user", False)):
            admin = AdminClient({**broker.client_config("confluent", user=user)})
            (made,) = admin.create_topics([NewTopic(f"of-{user}", 1)]).values()
            error = made.exception(TIMEOUT_S)
            assert (error is None) is is_allowed


def test_several_brokers() -> None:
    with Broker(security="sasl_ssl", brokers=3) as broker:
        config = broker.client_config("confluent")
        assert config["bootstrap.servers"] == broker.bootstrap
        found = AdminClient({**config}).list_topics(timeout=TIMEOUT_S).brokers.values()
        assert sorted(one.port for one in found) == sorted(
            int(each.rpartition(":")[2]) for each in broker.addresses
        )


@pytest.fixture(scope="module")
def issuer() -> Iterator[tuple[Broker, str]]:
    """A broker, and where it issues tokens."""
    with Broker(security="sasl_ssl", users=USERS, topics=["t"]) as broker:
        (line,) = (each for each in broker.log.splitlines() if "control API at" in each)
        yield broker, f"{line.rpartition(' ')[2].replace('127.0.0.1', 'localhost')}/oauth/token"


@pytest.mark.parametrize(("user", "secret"), [("user", "user-secret"), *USERS.items()])
def test_librdkafka_gets_its_tokens_from_the_issuer(
    issuer: tuple[Broker, str], user: str, secret: str
) -> None:
    broker, url = issuer
    config = broker.client_config("confluent", mechanism="OAUTHBEARER")
    for name in ("enable.sasl.oauthbearer.unsecure.jwt", "sasl.oauthbearer.config"):
        del config[name]
    oidc = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": user,
        "sasl.oauthbearer.client.secret": secret,
        "sasl.oauthbearer.token.endpoint.url": url,
    }
    producer = Producer({**config, **oidc})
    producer.produce("t", user.encode())
    assert producer.flush(TIMEOUT_S) == 0
    assert _last(broker) == user.encode()


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_java_gets_its_tokens_from_the_issuer(issuer: tuple[Broker, str], tmp_path: Path) -> None:
    broker, url = issuer
    config = broker.client_config("java", mechanism="OAUTHBEARER")
    package = "org.apache.kafka.common.security.oauthbearer"
    config |= {
        "sasl.jaas.config": f"{package}.OAuthBearerLoginModule required "
        'clientId="user" clientSecret="user-secret";',
        "sasl.login.callback.handler.class": f"{package}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": url,
    }
    file = tmp_path / "client.properties"
    file.write_text(properties_text(config))
    at = ("--bootstrap-server", broker.bootstrap, "--command-config", str(file), "--topic", "t")
    command = java_command(f"{TOOLS}.ConsoleProducer", at)
    command.insert(1, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}")
    subprocess.run(command, input="java oidc", text=True, check=True, timeout=2 * TIMEOUT_S)
    assert _last(broker) == b"java oidc"

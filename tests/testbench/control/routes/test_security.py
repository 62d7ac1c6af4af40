import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from broker_lite.settings.sources.java_properties import parse_properties
from broker_lite.testbench.http.client import ControlClient
from broker_lite.testing import Broker, BrokerFailed

SECRET = "bobs-own-secret"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(
        {"broker.lite.control": "127.0.0.1:0"}, security="sasl_plaintext", users={"bob": SECRET}
    ) as started:
        yield started


@pytest.fixture(scope="module")
def mutual() -> Iterator[Broker]:
    with Broker(security="mtls", users={"bob": SECRET}) as started:
        yield started


def get(broker: Broker, name: str) -> Any:
    return broker.control("GET", f"/v1/security{name}")


def test_the_view(broker: Broker) -> None:
    told = get(broker, "")
    assert told.pop("plaintext") != broker.bootstrap
    assert told == {
        "security": "sasl_plaintext",
        "protocol": "SASL_PLAINTEXT",
        "bootstrap": broker.bootstrap,
        "mechanisms": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"],
        "users": [
            {"name": "admin", "password": "admin-secret", "is_super": True},
            {"name": "user", "password": "user-secret", "is_super": False},
            {"name": "bob", "password": None, "is_super": False},
        ],
    }


def test_properties_of_java(broker: Broker) -> None:
    texts = parse_properties(get(broker, "/client.properties?user=admin&mechanism=PLAIN"))
    assert 'username="admin" password="admin-secret"' in texts.pop("sasl.jaas.config")
    assert texts == {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
    }


def test_settings_of_librdkafka(broker: Broker) -> None:
    assert get(broker, "/librdkafka.json") == {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "user",
        "sasl.password": "user-secret",
    }


def test_the_password_of_a_given_user_is_not_told(broker: Broker) -> None:
    texts = [get(broker, f"/{name}?user=bob") for name in ("client.properties", "librdkafka.json")]
    assert "PASSWORD" in texts[0]
    assert texts[1]["sasl.password"] == "PASSWORD"
    assert SECRET not in json.dumps([texts, get(broker, "")])
    assert SECRET not in broker.log
    settings = broker.control("GET", "/v1")
    assert SECRET not in json.dumps(settings)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/client.properties?user=eve", "no user 'eve', only admin, user, bob"),
        ("/client.properties?mechanism=GSSAPI", "mechanism"),
        ("/client.properties?who=user", "who"),
        ("/client.pem?user=eve", "no user 'eve'"),
    ],
)
def test_wrong_questions(broker: Broker, name: str, reason: str) -> None:
    with pytest.raises(BrokerFailed, match=reason):
        get(broker, name)


def test_certificates(mutual: Broker) -> None:
    ca = get(mutual, "/ca.pem")
    assert ssl.create_default_context(cadata=ca).get_ca_certs()
    trust = pkcs12.load_pkcs12(get(mutual, "/truststore.p12"), b"changeit")
    assert len(trust.additional_certs) == 1
    for name in ("user", "bob"):
        assert "PRIVATE KEY" in get(mutual, f"/client.pem?user={name}")
        store = pkcs12.load_pkcs12(get(mutual, f"/client.p12?user={name}"), b"changeit")
        assert store.cert is not None
        assert store.cert.certificate.subject.rfc4514_string() == f"CN={name}"


def test_settings_have_the_certificates(mutual: Broker) -> None:
    texts = get(mutual, "/librdkafka.json?user=bob")
    assert texts["ssl.ca.pem"] == get(mutual, "/ca.pem")
    pem = get(mutual, "/client.pem?user=bob")
    assert texts["ssl.key.pem"] + texts["ssl.certificate.pem"] == pem
    assert "sasl.mechanism" not in texts


def test_a_broker_without_security_tells_its_address(broker_factory: Any) -> None:
    plain = broker_factory()
    assert get(plain, "")["security"] == ""
    assert get(plain, "/librdkafka.json") == {"bootstrap.servers": plain.bootstrap}
    assert get(plain, "/client.properties") == f"bootstrap.servers={plain.bootstrap}\n"
    for name in ("ca.pem", "truststore.p12", "client.pem", "client.p12"):
        with pytest.raises(BrokerFailed, match="start it with --security"):
            get(plain, f"/{name}")


def test_the_address_is_the_one_that_the_caller_dialled(broker_factory: Any) -> None:
    started = broker_factory(listeners="PLAINTEXT://0.0.0.0:0", broker_lite_control="127.0.0.1:0")
    (line,) = (each for each in started.log.splitlines() if "control API at" in each)
    port = line.rpartition(":")[2]
    client = ControlClient(f"http://localhost:{port}")
    answer = client.request("GET", "/v1/security/librdkafka.json")
    assert answer.body == {"bootstrap.servers": f"localhost:{started.port}"}

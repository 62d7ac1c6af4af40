from pathlib import Path

import pytest

from broker_lite.commands.shared.secured_lines import health_addresses, secured_lines
from broker_lite.settings import Settings, load_settings
from broker_lite.settings.sources.one_word import secured

FOLDER = Path("/data")


def settings_of(word: str, **texts: str) -> Settings:
    named = {name.replace("_", "."): text for name, text in texts.items()}
    return secured(load_settings(None, {}, {"broker.lite.security": word, **named}), FOLDER)


def test_what_is_printed() -> None:
    settings = settings_of(
        "sasl_plaintext",
        broker_lite_security_users="bob:hidden",
        broker_lite_control="0.0.0.0:9099",
        listeners="PLAINTEXT://:9092",
    )
    assert list(secured_lines(settings, "[::]:9092", FOLDER)) == [
        "security: clients speak SASL_PLAINTEXT to localhost:9092",
        "security: PLAINTEXT for health checks on 127.0.0.1:19092 (--security-only: not)",
        "users: admin/admin-secret (super user), user/user-secret, bob",
        "files for clients: http://localhost:9099/v1/security/... with client.properties, "
        "librdkafka.json, ca.pem, truststore.p12, client.pem, client.p12",
        "tokens: http://localhost:9099/oauth/token",
        "",
        "bootstrap.servers=localhost:9092",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=SCRAM-SHA-512",
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="user" password="user-secret";',
    ]


@pytest.mark.parametrize("word", ["ssl", "mtls"])
def test_tls_without_a_control_api(word: str) -> None:
    settings = settings_of(word, broker_lite_security_only="true")
    lines = list(secured_lines(settings, "127.0.0.1:9092", FOLDER))
    assert lines[0] == "security: clients speak SSL to 127.0.0.1:9092"
    assert lines[1].startswith("users: ")
    texts = dict(line.split("=", 1) for line in lines[3:])
    assert texts.get("ssl.keystore.location") == (
        "/data/broker-lite-client.pem" if word == "mtls" else None
    )
    assert texts["ssl.truststore.location"] == "/data/broker-lite-ca.pem"


def test_a_fault_of_the_certificate() -> None:
    settings = settings_of("ssl", broker_lite_security_fault="expired")
    lines = list(secured_lines(settings, "127.0.0.1:9092", FOLDER))
    assert lines[2] == (
        "security: clients have to refuse the certificate: expired (--security-fault)"
    )


def test_a_free_port_for_health_checks() -> None:
    settings = settings_of("ssl", listeners="PLAINTEXT://127.0.0.1:0")
    lines = list(secured_lines(settings, "127.0.0.1:40000", FOLDER))
    assert "on a free port of 127.0.0.1" in lines[1]


@pytest.mark.parametrize(
    ("word", "is_only", "port", "told"),
    [
        ("ssl", False, 9092, "127.0.0.1:19092,127.0.0.1:19093"),
        ("ssl", True, 9092, "tls:h:1,tls:h:2"),
        ("ssl", False, 0, "tls:h:1,tls:h:2"),
        ("sasl_plaintext", True, 9092, "h:1,h:2"),
    ],
)
def test_where_a_health_check_asks(word: str, is_only: bool, port: int, told: str) -> None:
    settings = settings_of(
        word,
        broker_lite_security_only=str(is_only).lower(),
        broker_lite_brokers="2",
        listeners=f"PLAINTEXT://:{port}",
    )
    assert health_addresses(settings, "h:1,h:2") == told


def test_a_broker_without_security_is_asked_where_it_is() -> None:
    assert health_addresses(load_settings(None, {}), "h:1") == "h:1"

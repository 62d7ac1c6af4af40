"""Compose files of secured brokers, as people have them: they start unchanged, and clients work."""

from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from tests.compose.composed import Composed
from tests.compose.secrets_folder import make_secrets

_HERE: Final = Path(__file__).parent
_CLIENT_S: Final = 30
_TLS: Final = {"ssl.ca.location": "{ca}"}
_CERTIFICATE: Final = {
    "ssl.certificate.location": "{client}",
    "ssl.key.location": "{client}",
}
_PLAIN: Final = {
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "alice-secret",
}
_OAUTH: Final = {
    "sasl.mechanism": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": True,
    "sasl.oauthbearer.config": "principal=alice",
}
CLIENTS: Final[list[tuple[str, str, dict[str, Any]]]] = [
    (
        "apache-scram",
        "CLIENT",
        {"security.protocol": "SASL_SSL", **_TLS, **_PLAIN, "sasl.mechanism": "SCRAM-SHA-512"},
    ),
    ("apache-mtls", "SSL", {"security.protocol": "SSL", **_TLS, **_CERTIFICATE}),
    (
        "confluent-plain-over-tls",
        "SASL_SSL",
        {"security.protocol": "SASL_SSL", "ssl.ca.location": "{old_ca}", **_PLAIN},
    ),
    ("apache-acls", "SASL_PLAINTEXT", {"security.protocol": "SASL_PLAINTEXT", **_PLAIN}),
    ("apache-oauthbearer", "OAUTH", {"security.protocol": "SASL_PLAINTEXT", **_OAUTH}),
    ("confluent-listeners", "PLAINTEXT", {}),
    ("confluent-listeners", "TLS", {"security.protocol": "SSL", **_TLS}),
    ("confluent-listeners", "LOGIN", {"security.protocol": "SASL_PLAINTEXT", **_PLAIN}),
    ("confluent-listeners", "LOGIN_TLS", {"security.protocol": "SASL_SSL", **_TLS, **_PLAIN}),
]


def _filled(config: dict[str, Any], places: dict[str, str]) -> dict[str, Any]:
    return {
        name: text.format(**places) if isinstance(text, str) else text
        for name, text in config.items()
    }


def _exchange(config: dict[str, Any]) -> None:
    """Send a record, and read it in a group."""
    producer = Producer(config)
    producer.produce("orders", value="one")
    assert producer.flush(_CLIENT_S) == 0
    consumer = Consumer({**config, "group.id": "readers", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        record = consumer.poll(_CLIENT_S)
        assert record is not None
        assert record.error() is None
        assert record.value() == b"one"
    finally:
        consumer.close()


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CLIENTS}))
def test_a_compose_file_starts_unchanged(name: str, tmp_path: Path) -> None:
    files = make_secrets(tmp_path / "secrets")
    places = {
        "ca": str(files.ca),
        "client": str(files.client),
        "old_ca": str(tmp_path / "secrets" / "old.ca.pem"),
    }
    composed = Composed(_HERE / f"{name}.yaml", tmp_path / "secrets")
    with composed.running():
        for listener, config in [(one[1], one[2]) for one in CLIENTS if one[0] == name]:
            address = {"bootstrap.servers": f"localhost:{composed.ports[listener]}"}
            _exchange({**address, **_filled(config, places)})
    assert all("has no effect" in line for line in composed.warnings), composed.warnings


def test_every_file_has_a_client() -> None:
    assert {file.stem for file in _HERE.glob("*.yaml")} == {name for name, _, _ in CLIENTS}


def test_a_client_without_a_certificate_is_refused(tmp_path: Path) -> None:
    files = make_secrets(tmp_path / "secrets")
    composed = Composed(_HERE / "apache-mtls.yaml", tmp_path / "secrets")
    with composed.running():
        producer = Producer(
            {
                "bootstrap.servers": f"localhost:{composed.ports['SSL']}",
                "security.protocol": "SSL",
                "ssl.ca.location": str(files.ca),
            }
        )
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=3)


def test_a_client_without_a_right_is_refused(tmp_path: Path) -> None:
    make_secrets(tmp_path / "secrets")
    composed = Composed(_HERE / "apache-acls.yaml", tmp_path / "secrets")
    with composed.running():
        address = {"bootstrap.servers": f"localhost:{composed.ports['SASL_PLAINTEXT']}"}
        user = {"sasl.username": "bob", "sasl.password": "bob-secret"}
        producer = Producer({**address, "security.protocol": "SASL_PLAINTEXT", **_PLAIN, **user})
        errors: list[object] = []
        producer.produce("orders", value="one", on_delivery=lambda error, _: errors.append(error))
        producer.flush(_CLIENT_S)
    (error,) = errors
    assert isinstance(error, KafkaError)
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(
        {"advertised.listeners": "PLAINTEXT://kafka.example.org:29092"},
        brokers=2,
        security="sasl_plaintext",
        san=["x"],
    ) as started:
        yield started


def view(broker: Broker) -> dict[str, object]:
    found = broker.control("GET", "/v1/security")
    assert isinstance(found, dict)
    return found


def test_advertised_addresses_are_told(secured: Broker) -> None:
    assert view(secured)["bootstrap"] == "kafka.example.org:29092,kafka.example.org:29093"
    plain = str(view(secured)["plaintext"]).split(",")
    assert [each.partition(":")[0] for each in plain] == ["127.0.0.1"] * 2


def test_a_broker_at_every_address_is_told_as_this_machine() -> None:
    with Broker({"listeners": "PLAINTEXT://0.0.0.0:0"}) as broker:
        assert view(broker)["bootstrap"] == f"127.0.0.1:{broker.port}"


def test_security_by_other_settings_is_not_known_here() -> None:
    name = "listener.name.sasl_plaintext"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required user_a='b';"
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        f"{name}.sasl.enabled.mechanisms": "PLAIN",
        f"{name}.plain.sasl.jaas.config": module,
    }
    with Broker(settings) as broker, pytest.raises(BrokerFailed, match="settings of its own"):
        view(broker)

"""Topics and records of brokers whose listeners are all secured."""

from collections.abc import Iterator

import pytest

from broker_lite.client import LoginRefused
from broker_lite.testing import Broker
from tests.support.reference_kafka import free_port
from tests.support.secured_broker import SecuredBroker, sasl, secured_broker


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running


def test_a_broker_with_one_secured_listener() -> None:
    user = 'user_alice="alice-secret"'
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    settings = {
        "listeners": f"SASL://127.0.0.1:{free_port()}",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f"{module} {user};",
    }
    with Broker(settings, client_properties=sasl("PLAIN")) as broker:
        broker.create_topic("t", 2)
        broker.produce("t", "x", partition=1)
        assert [record.partition for record in broker.records("t")] == [1]
        broker.client_properties = sasl("PLAIN", "wrong")
        with pytest.raises(LoginRefused, match="Invalid username or password"):
            broker.records("t")


def test_a_broker_at_a_url(secured: SecuredBroker) -> None:
    with Broker.connect(
        secured.control,
        bootstrap=secured.addresses["BOTH"],
        client_properties=secured.sasl_ssl("SCRAM-SHA-256"),
    ) as broker:
        broker.produce("u", "x")
        assert len(broker.records("u")) == 1

"""Delegation tokens with a real Kafka and with broker-lite: the same answers."""

from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_sasl import PROTOCOLS
from tests.differential.token_scenario import TOKEN_SETTINGS, Scenario
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require

SETTINGS = {"listener.security.protocol.map": PROTOCOLS, **TOKEN_SETTINGS}


@pytest.mark.kafka
@pytest.mark.slow
def test_x70_to_x75_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    port, sasl = free_port(), free_port()
    listeners = f"PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl}"
    with Broker({"listeners": listeners, **SETTINGS}, port=port):
        ours = list(Scenario(port, sasl).run())
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        settings=SETTINGS,
        more_listeners=f",SASL://127.0.0.1:{sasl}",
        is_short_lived=True,
    )
    with kafka:
        theirs = list(Scenario(kafka.port, sasl).run())
    assert ours == theirs
    assert len(ours) > 120

"""Key stores that change while a broker runs, with a real Kafka and with broker-lite."""

from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_stores import Stores, outcome, steps
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require


@pytest.mark.kafka
@pytest.mark.slow
def test_x66_x67_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    theirs, ours = Stores(tmp_path / "theirs"), Stores(tmp_path / "ours")
    one, two = free_port(), free_port()
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        settings=theirs.settings(),
        more_listeners=f",ONE://127.0.0.1:{one},TWO://127.0.0.1:{two}",
        is_short_lived=True,
    )
    plain, our_one, our_two = free_port(), free_port(), free_port()
    settings = {
        **ours.settings(),
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},ONE://127.0.0.1:{our_one},"
        f"TWO://127.0.0.1:{our_two}",
    }
    with kafka:
        told = [outcome(step, theirs, kafka.port, one) for step in steps(theirs.folder)]
    with Broker(settings):
        found = [outcome(step, ours, plain, our_one) for step in steps(ours.folder)]
    assert found == told

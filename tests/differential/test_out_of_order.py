"""X-08: requests that come where a client has to send a token, with Kafka and with broker-lite."""

from collections.abc import Iterator

import pytest

from broker_lite.handler.offered import offered
from broker_lite.testing import Broker
from tests.differential.compare_sasl import PROTOCOLS, SASL_SETTINGS, Step, ports_and_settings
from tests.differential.out_of_order import HELLO, LOGIN, differences, requests
from tests.support.reference_kafka import (
    KAFKA_VERSION,
    ReferenceKafka,
    free_port,
)
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]
SEEDS = (1, 2, 3)
AT_ONCE = {"connection.failed.authentication.delay.ms": "0"}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int, int]]:
    """The release, and the SASL ports of Kafka and of broker-lite."""
    require("java", "mvn")
    release = KAFKA_VERSION.rpartition(".")[0]
    theirs = free_port()
    kafka = ReferenceKafka(
        tmp_path_factory.mktemp("kafka"),
        settings={**SASL_SETTINGS, **AT_ONCE, "listener.security.protocol.map": PROTOCOLS},
        more_listeners=f",SASL://127.0.0.1:{theirs}",
        is_short_lived=True,
    )
    plain, ours, settings = ports_and_settings()
    with kafka, Broker({**settings, **AT_ONCE, "emulate": release}, port=plain):
        yield release, theirs, ours


@pytest.mark.parametrize(
    ("before", "seeds"),
    [((HELLO,), SEEDS), ((*LOGIN, HELLO), ()), ((("handshake", 0, "PLAIN"),), ())],
    ids=["first", "again", "raw"],
)
def test_x08_answers_equal_those_of_kafka(
    brokers: tuple[str, int, int], before: tuple[Step, ...], seeds: tuple[int, ...]
) -> None:
    release, theirs, ours = brokers
    told = list(differences(theirs, ours, requests(offered(release), seeds), before))
    assert len(told) > 150 * (1 + len(seeds))
    assert [text for _, text in told if text] == []
